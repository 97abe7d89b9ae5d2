// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// Refused: rows of the one and columns of the other belong to different tasks.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK: mlopt.decisions = [{{.*}}ops = "rows | columns", reason = "they have no loop in common that tasks could divide"
// CHECK-LABEL: @across
// CHECK: mlopt.group = [[R:[0-9]+]] : i64, mlopt.op = "rows"
// CHECK-NOT: mlopt.group = [[R]]
// CHECK: mlopt.op = "columns"
func.func @across(%x: tensor<64x128xf32>) -> (tensor<64xf32>, tensor<128xf32>) {
  %zero = arith.constant 0.0 : f32
  %1 = tensor.empty() : tensor<64xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x128xf32>) outs(%2 : tensor<64xf32>) attrs = {mlopt.op = "rows"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  %3 = tensor.empty() : tensor<128xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<128xf32>) -> tensor<128xf32>
  %s = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%4 : tensor<128xf32>) attrs = {mlopt.op = "columns"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<128xf32>
  return %r, %s : tensor<64xf32>, tensor<128xf32>
}

// -----

// A product beside element-wise work, and a sum of everything: neither runs row by row, so nobody asks.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#all = affine_map<(d0, d1) -> ()>
// CHECK: module attributes {mlopt.decisions = [], mlopt.fusion = []}
// CHECK-LABEL: @not_simple
// CHECK: mlopt.group = 0 : i64, mlopt.op = "double"
// CHECK: mlopt.group = 1 : i64, mlopt.op = "matmul"
// CHECK: mlopt.group = 2 : i64, mlopt.op = "total"
func.func @not_simple(%x: tensor<64x128xf32>, %w: tensor<128x32xf32>) -> (tensor<64x128xf32>, tensor<64x32xf32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%0 : tensor<64x128xf32>) attrs = {mlopt.op = "double"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %a : f32
    linalg.yield %y : f32
  } -> tensor<64x128xf32>
  %1 = tensor.empty() : tensor<64x32xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x128xf32>, tensor<128x32xf32>) outs(%2 : tensor<64x32xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %y = arith.addf %o, %m : f32
    linalg.yield %y : f32
  } -> tensor<64x32xf32>
  %3 = tensor.empty() : tensor<f32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<64x128xf32>) outs(%4 : tensor<f32>) attrs = {mlopt.op = "total"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<f32>
  return %d, %m, %s : tensor<64x128xf32>, tensor<64x32xf32>, tensor<f32>
}

// -----

// What the one makes reaches the other through the host function: the one comes before, and the other one after that.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
// CHECK: mlopt.decisions = [{{.*}}ops = "double | add", reason = "reshape in the host function is between them"
// CHECK-LABEL: @between
// CHECK: mlopt.group = 0 : i64, mlopt.op = "double"
// CHECK: mlopt.group = 1 : i64, mlopt.op = "add"
func.func @between(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = tensor.empty() : tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%0 : tensor<64x128xf32>) attrs = {mlopt.op = "double"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %a : f32
    linalg.yield %y : f32
  } -> tensor<64x128xf32>
  %flat = tensor.collapse_shape %d [[0, 1]] : tensor<64x128xf32> into tensor<8192xf32>
  %v = tensor.expand_shape %flat [[0, 1]] output_shape [128, 64] : tensor<8192xf32> into tensor<128x64xf32>
  %s = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %v : tensor<64x128xf32>, tensor<128x64xf32>) outs(%0 : tensor<64x128xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<64x128xf32>
  return %s : tensor<64x128xf32>
}
