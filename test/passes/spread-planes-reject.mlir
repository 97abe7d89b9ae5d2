// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-spread-planes)' --split-input-file | FileCheck %s

// Channels 3136 bytes apart are in all sets as they are.
#x = affine_map<(o, h, w, c, i, j) -> (c, h + i, w + j)>
#k = affine_map<(o, h, w, c, i, j) -> (c, i, j, o)>
#y = affine_map<(o, h, w, c, i, j) -> (o, h, w)>
// CHECK: reason = "its channels are 3136 bytes apart, not whole pages of 4096"
// CHECK-LABEL: func.func @apart
// CHECK-NOT: mlopt.stored
func.func @apart(%x: tensor<16x28x28xf32>, %w: tensor<16x3x3x8xf32> {mlopt.weight}) -> tensor<8x26x26xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x26x26xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x26x26xf32>) -> tensor<8x26x26xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<16x28x28xf32>, tensor<16x3x3x8xf32>) outs(%f : tensor<8x26x26xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x26x26xf32>
  return %r : tensor<8x26x26xf32>
}

// -----

// A cache holds a line of each of few channels.
#x = affine_map<(o, h, w, c, i, j) -> (c, h + i, w + j)>
#k = affine_map<(o, h, w, c, i, j) -> (c, i, j, o)>
#y = affine_map<(o, h, w, c, i, j) -> (o, h, w)>
// CHECK: reason = "8 channels stay in a cache, fewer than 16"
// CHECK-LABEL: func.func @few
// CHECK-NOT: mlopt.stored
func.func @few(%x: tensor<8x32x32xf32>, %w: tensor<8x3x3x8xf32> {mlopt.weight}) -> tensor<8x30x30xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x30x30xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x30x30xf32>) -> tensor<8x30x30xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<8x32x32xf32>, tensor<8x3x3x8xf32>) outs(%f : tensor<8x30x30xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x30x30xf32>
  return %r : tensor<8x30x30xf32>
}

// -----

// Neither factor is made of weights.
#x = affine_map<(o, h, w, c, i, j) -> (c, h + i, w + j)>
#k = affine_map<(o, h, w, c, i, j) -> (c, i, j, o)>
#y = affine_map<(o, h, w, c, i, j) -> (o, h, w)>
// CHECK-LABEL: func.func @inputs
// CHECK-NOT: mlopt.stored
func.func @inputs(%x: tensor<16x32x32xf32>, %w: tensor<16x3x3x8xf32>) -> tensor<8x30x30xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x30x30xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x30x30xf32>) -> tensor<8x30x30xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<16x32x32xf32>, tensor<16x3x3x8xf32>) outs(%f : tensor<8x30x30xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x30x30xf32>
  return %r : tensor<8x30x30xf32>
}
