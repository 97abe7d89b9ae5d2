// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// Heads 6 to 21 of 24 lie in no whole groups of four.
// CHECK-LABEL: func.func @between_groups
// CHECK: mlopt.op = "transpose"
// CHECK: tensor.expand_shape {{.*}} : tensor<16x16x64xf32> into tensor<4x4x16x64xf32>
#id = affine_map<(h, t, d) -> (h, t, d)>
#turn = affine_map<(h, t, d) -> (t, h, d)>
#q = affine_map<(g, r, t, n, d) -> (g, r, t, d)>
#k = affine_map<(g, r, t, n, d) -> (g, n, d)>
#s = affine_map<(g, r, t, n, d) -> (g, r, t, n)>
func.func @between_groups(%x: tensor<16x24x64xf32>, %k: tensor<4x32x64xf32>) -> tensor<4x4x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %part = tensor.extract_slice %x[0, 6, 0] [16, 16, 64] [1, 1, 1] : tensor<16x24x64xf32> to tensor<16x16x64xf32>
  %e = tensor.empty() : tensor<16x16x64xf32>
  %t = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%part : tensor<16x16x64xf32>) outs(%e : tensor<16x16x64xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<16x16x64xf32>
  %q = tensor.expand_shape %t [[0, 1], [2], [3]] output_shape [4, 4, 16, 64] : tensor<16x16x64xf32> into tensor<4x4x16x64xf32>
  %f = tensor.empty() : tensor<4x4x16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%f : tensor<4x4x16x32xf32>) -> tensor<4x4x16x32xf32>
  %m = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<4x4x16x64xf32>, tensor<4x32x64xf32>) outs(%start : tensor<4x4x16x32xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %u = arith.addf %o, %p : f32
    linalg.yield %u : f32
  } -> tensor<4x4x16x32xf32>
  return %m : tensor<4x4x16x32xf32>
}

// -----

// Nor do 22 heads split into groups of four.
// CHECK-LABEL: func.func @of_a_part
// CHECK: mlopt.op = "transpose"
// CHECK: tensor.expand_shape {{.*}} : tensor<16x16x64xf32> into tensor<4x4x16x64xf32>
#id = affine_map<(h, t, d) -> (h, t, d)>
#turn = affine_map<(h, t, d) -> (t, h, d)>
#q = affine_map<(g, r, t, n, d) -> (g, r, t, d)>
#k = affine_map<(g, r, t, n, d) -> (g, n, d)>
#s = affine_map<(g, r, t, n, d) -> (g, r, t, n)>
func.func @of_a_part(%x: tensor<16x22x64xf32>, %k: tensor<4x32x64xf32>) -> tensor<4x4x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %part = tensor.extract_slice %x[0, 4, 0] [16, 16, 64] [1, 1, 1] : tensor<16x22x64xf32> to tensor<16x16x64xf32>
  %e = tensor.empty() : tensor<16x16x64xf32>
  %t = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%part : tensor<16x16x64xf32>) outs(%e : tensor<16x16x64xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<16x16x64xf32>
  %q = tensor.expand_shape %t [[0, 1], [2], [3]] output_shape [4, 4, 16, 64] : tensor<16x16x64xf32> into tensor<4x4x16x64xf32>
  %f = tensor.empty() : tensor<4x4x16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%f : tensor<4x4x16x32xf32>) -> tensor<4x4x16x32xf32>
  %m = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<4x4x16x64xf32>, tensor<4x32x64xf32>) outs(%start : tensor<4x4x16x32xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %u = arith.addf %o, %p : f32
    linalg.yield %u : f32
  } -> tensor<4x4x16x32xf32>
  return %m : tensor<4x4x16x32xf32>
}
