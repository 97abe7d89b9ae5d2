// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// A product reads the view: it would read the narrow tensor cast by yet another kernel, or cast it again for
// each of its tiles. Nor is a cast moved that makes its numbers narrower.
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#vec = affine_map<(d0) -> (d0)>
// CHECK-LABEL: @product_and_narrow
// CHECK: tensor.collapse_shape %{{.*}} : tensor<4x32x64xf32> into tensor<128x64xf32>
// CHECK: mlopt.op = "matmul"
// CHECK: tensor.collapse_shape %{{.*}} : tensor<128x64xbf16> into tensor<8192xbf16>
func.func @product_and_narrow(%x: tensor<4x32x64xbf16>, %y: tensor<64x64xf32>) -> tensor<8192xbf16> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x32x64xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<4x32x64xbf16>) outs(%0 : tensor<4x32x64xf32>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: bf16, %out: f32):
    %t = arith.extf %in : bf16 to f32
    linalg.yield %t : f32
  } -> tensor<4x32x64xf32>
  %v = tensor.collapse_shape %w [[0, 1], [2]] : tensor<4x32x64xf32> into tensor<128x64xf32>
  %1 = tensor.empty() : tensor<128x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%1 : tensor<128x64xf32>) -> tensor<128x64xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %y : tensor<128x64xf32>, tensor<64x64xf32>) outs(%f : tensor<128x64xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<128x64xf32>
  %n = tensor.empty() : tensor<128x64xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<128x64xf32>) outs(%n : tensor<128x64xbf16>) attrs = {mlopt.op = "round"} {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<128x64xbf16>
  %z = tensor.collapse_shape %h [[0, 1]] : tensor<128x64xbf16> into tensor<8192xbf16>
  %2 = tensor.empty() : tensor<8192xbf16>
  %g = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%z : tensor<8192xbf16>) outs(%2 : tensor<8192xbf16>) attrs = {mlopt.op = "neg"} {
  ^bb0(%in: bf16, %out: bf16):
    %t = arith.negf %in : bf16
    linalg.yield %t : bf16
  } -> tensor<8192xbf16>
  return %g : tensor<8192xbf16>
}
