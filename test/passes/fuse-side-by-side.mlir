// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// Two that read one tensor read it once; rows of both are one task's.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK: mlopt.decisions = [{bytes = 32768 : i64, from = 0 : i64, ops = "double | sum", reason = "", {{.*}}to = 0 : i64, where = [{{.*}}]}]
// CHECK-LABEL: @rows
// CHECK: mlopt.group = 0 : i64, mlopt.op = "double"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "sum"
func.func @rows(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%0 : tensor<64x128xf32>) attrs = {mlopt.op = "double"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %in : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  %1 = tensor.empty() : tensor<64xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x128xf32>) outs(%2 : tensor<64xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %d, %s : tensor<64x128xf32>, tensor<64xf32>
}

// -----

// What they share has no loops of its own, but their results have one shape.
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: @shapes
// CHECK: mlopt.group = 0 : i64, mlopt.op = "one"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "other"
func.func @shapes(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>, %w: tensor<128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %0 = tensor.empty() : tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<64x128xf32>, tensor<128xf32>) outs(%0 : tensor<64x128xf32>) attrs = {mlopt.op = "one"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %a = arith.mulf %p, %q : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  %e = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %w : tensor<64x128xf32>, tensor<128xf32>) outs(%0 : tensor<64x128xf32>) attrs = {mlopt.op = "other"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %a = arith.addf %p, %q : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  return %d, %e : tensor<64x128xf32>, tensor<64x128xf32>
}
