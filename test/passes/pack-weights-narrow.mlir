// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-pack-weights{vector-bits=256})' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-pack-weights)' --split-input-file | FileCheck %s --check-prefix=WIDE

// Two registers of 256 bits have 16 channels of the result: these are a strip, in which a channel of what is read
// comes before the places of the window. Registers of 512 bits take 64 channels as they lie.
#x = affine_map<(o, h, w, c, kh, kw) -> (c, h + kh, w + kw)>
#k = affine_map<(o, h, w, c, kh, kw) -> (kh, kw, c, o)>
#y = affine_map<(o, h, w, c, kh, kw) -> (o, h, w)>
// CHECK: ops = "weights of conv2d", reason = ""
// CHECK-LABEL: func.func @window
// CHECK: %[[V:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2], [3, 4]] {{.*}} into tensor<3x3x8x4x16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[V]] : {{.*}}mlopt.op = "pack"
// CHECK: -> tensor<4x8x3x3x16xf32>
// WIDE: reason = "64 columns are one strip as they lie"
func.func @window(%x: tensor<8x9x9xf32>, %w: tensor<3x3x8x64xf32> {mlopt.weight}) -> tensor<64x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x7x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x7x7xf32>) -> tensor<64x7x7xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<8x9x9xf32>, tensor<3x3x8x64xf32>) outs(%f : tensor<64x7x7xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x7x7xf32>
  return %r : tensor<64x7x7xf32>
}

// -----

// A product without a window has strips of 64 columns with either.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @product
// CHECK: -> tensor<2x8x64xf32>
// WIDE-LABEL: func.func @product
// WIDE: -> tensor<2x8x64xf32>
func.func @product(%x: tensor<5x8xf32>, %w: tensor<8x128xf32> {mlopt.weight}) -> tensor<5x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x128xf32>) -> tensor<5x128xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x8xf32>, tensor<8x128xf32>) outs(%f : tensor<5x128xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<5x128xf32>
  return %r : tensor<5x128xf32>
}
