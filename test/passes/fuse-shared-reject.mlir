// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// A cast that is a result, too, is there to be read: nobody casts again.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK: mlopt.decisions = [{{.*}}ops = "cast -> rows", reason = "", {{.*}}ops = "cast -> columns", reason = "only 1 task would be left, 16 are wanted"
// CHECK-LABEL: @a_result
// CHECK-COUNT-1: arith.extf
// CHECK-NOT: arith.extf
func.func @a_result(%x: tensor<512x768xf16>) -> (tensor<512xf32>, tensor<768xf32>, tensor<512x768xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x768xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x768xf16>) outs(%0 : tensor<512x768xf32>) attrs = {mlopt.op = "cast"} {
  ^bb0(%a: f16, %o: f32):
    %y = arith.extf %a : f16 to f32
    linalg.yield %y : f32
  } -> tensor<512x768xf32>
  %1 = tensor.empty() : tensor<512xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<512x768xf32>) outs(%2 : tensor<512xf32>) attrs = {mlopt.op = "rows"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<512xf32>
  %3 = tensor.empty() : tensor<768xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<768xf32>) -> tensor<768xf32>
  %s = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%c : tensor<512x768xf32>) outs(%4 : tensor<768xf32>) attrs = {mlopt.op = "columns"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<768xf32>
  return %r, %s, %c : tensor<512xf32>, tensor<768xf32>, tensor<512x768xf32>
}

// -----

// What is dear is computed once, with the reader that it saves most with, and stored for the other one.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK: mlopt.fusion = ["dear -> rows: only 1 task would be left, 16 are wanted"]
// CHECK-LABEL: @dear
// CHECK-COUNT-1: math.erf
// CHECK-NOT: math.erf
func.func @dear(%x: tensor<512x768xf32>) -> (tensor<512xf32>, tensor<768xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x768xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x768xf32>) outs(%0 : tensor<512x768xf32>) attrs = {mlopt.op = "dear"} {
  ^bb0(%a: f32, %o: f32):
    %p = math.erf %a : f32
    %q = math.powf %p, %a : f32
    %y = math.atan %q : f32
    linalg.yield %y : f32
  } -> tensor<512x768xf32>
  %1 = tensor.empty() : tensor<512xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<512x768xf32>) outs(%2 : tensor<512xf32>) attrs = {mlopt.op = "rows"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<512xf32>
  %3 = tensor.empty() : tensor<768xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<768xf32>) -> tensor<768xf32>
  %s = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%c : tensor<512x768xf32>) outs(%4 : tensor<768xf32>) attrs = {mlopt.op = "columns"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<768xf32>
  return %r, %s : tensor<512xf32>, tensor<768xf32>
}

// -----

// Sums of rows, of which others are made: no element-wise work, so no reader adds up again.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#one = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK: mlopt.fusion = ["rows -> total: a reduction reads what tasks of other rows reduce"]
// CHECK-LABEL: @a_reduction
// CHECK-COUNT-1: mlopt.op = "rows"
// CHECK-NOT: mlopt.op = "rows"
func.func @a_reduction(%x: tensor<512x768xf32>) -> (tensor<512x768xf32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x768xf32>
  %1 = tensor.empty() : tensor<512xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<512x768xf32>) outs(%2 : tensor<512xf32>) attrs = {mlopt.op = "rows"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<512xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : tensor<512x768xf32>, tensor<512xf32>) outs(%0 : tensor<512x768xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.subf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<512x768xf32>
  %3 = tensor.empty() : tensor<f32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<f32>) -> tensor<f32>
  %t = linalg.generic {indexing_maps = [#one, #none], iterator_types = ["reduction"]}
      ins(%r : tensor<512xf32>) outs(%4 : tensor<f32>) attrs = {mlopt.op = "total"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<f32>
  return %d, %t : tensor<512x768xf32>, tensor<f32>
}
