// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// Queries of four heads for each of keys, behind two groups of four in one tensor: the product reads them there.
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0 + 2, d1, d4)>
// CHECK-LABEL: func.func @behind
// CHECK-NOT: mlopt.op = "transpose"
// CHECK: %[[E:.*]] = tensor.expand_shape %arg0 {{.*}} into tensor<16x6x4x64xf32>
// CHECK: linalg.generic {indexing_maps = [#[[Q]], {{.*}} ins(%[[E]], %arg1 :
#id = affine_map<(h, t, d) -> (h, t, d)>
#turn = affine_map<(h, t, d) -> (t, h, d)>
#q = affine_map<(g, r, t, n, d) -> (g, r, t, d)>
#k = affine_map<(g, r, t, n, d) -> (g, n, d)>
#s = affine_map<(g, r, t, n, d) -> (g, r, t, n)>
func.func @behind(%x: tensor<16x24x64xf32>, %k: tensor<4x32x64xf32>) -> tensor<4x4x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %part = tensor.extract_slice %x[0, 8, 0] [16, 16, 64] [1, 1, 1] : tensor<16x24x64xf32> to tensor<16x16x64xf32>
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

// In front of them: the part from 0 on of six groups.
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0 mod 6, d1, d4)>
// CHECK-LABEL: func.func @in_front
// CHECK-NOT: mlopt.op = "transpose"
// CHECK: linalg.generic {indexing_maps = [#[[Q]], {{.*}} : tensor<16x6x4x64xf32>,
#id = affine_map<(h, t, d) -> (h, t, d)>
#turn = affine_map<(h, t, d) -> (t, h, d)>
#q = affine_map<(g, r, t, n, d) -> (g, r, t, d)>
#k = affine_map<(g, r, t, n, d) -> (g, n, d)>
#s = affine_map<(g, r, t, n, d) -> (g, r, t, n)>
func.func @in_front(%x: tensor<16x24x64xf32>, %k: tensor<4x32x64xf32>) -> tensor<4x4x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %part = tensor.extract_slice %x[0, 0, 0] [16, 16, 64] [1, 1, 1] : tensor<16x24x64xf32> to tensor<16x16x64xf32>
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
