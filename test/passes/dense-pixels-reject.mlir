// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-dense-pixels)' --split-input-file | FileCheck %s --implicit-check-not='mlopt.op = "pixels"'

// Three strips of 16 columns read the pixels: the copy would cost more.
#x = affine_map<(o, h, w, c) -> (c, h, 0, w, 0)>
#k = affine_map<(o, h, w, c) -> (c, o)>
#y = affine_map<(o, h, w, c) -> (o, h, w)>
// CHECK: reason = "48 columns are fewer than 4 strips of 16, each of which reads them"
// CHECK-LABEL: func.func @few_columns
func.func @few_columns(%x: tensor<8x7x2x5x2xf32>, %w: tensor<8x48xf32> {mlopt.weight}) -> tensor<48x7x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x7x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x7x5xf32>) -> tensor<48x7x5xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x7x2x5x2xf32>, tensor<8x48xf32>) outs(%f : tensor<48x7x5xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<48x7x5xf32>
  return %r : tensor<48x7x5xf32>
}

// -----

// Nothing is skipped.
#x = affine_map<(o, h, w, c) -> (c, h, w)>
#k = affine_map<(o, h, w, c) -> (c, o)>
#y = affine_map<(o, h, w, c) -> (o, h, w)>
// CHECK-LABEL: func.func @all_pixels
func.func @all_pixels(%x: tensor<8x7x5xf32>, %w: tensor<8x64xf32> {mlopt.weight}) -> tensor<64x7x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x7x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x7x5xf32>) -> tensor<64x7x5xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x7x5xf32>, tensor<8x64xf32>) outs(%f : tensor<64x7x5xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x7x5xf32>
  return %r : tensor<64x7x5xf32>
}

// -----

// A window reads pixels again: its rows are not those of one place.
#x = affine_map<(o, h, w, c, kh, kw) -> (c, h + kh, 0, w + kw, 0)>
#k = affine_map<(o, h, w, c, kh, kw) -> (c, kh, kw, o)>
#y = affine_map<(o, h, w, c, kh, kw) -> (o, h, w)>
// CHECK-LABEL: func.func @window
func.func @window(%x: tensor<8x7x2x5x2xf32>, %w: tensor<8x3x3x64xf32> {mlopt.weight}) -> tensor<64x5x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x5x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x5x3xf32>) -> tensor<64x5x3xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<8x7x2x5x2xf32>, tensor<8x3x3x64xf32>) outs(%f : tensor<64x5x3xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x5x3xf32>
  return %r : tensor<64x5x3xf32>
}

// -----

// Nobody knows how many rows there are.
#x = affine_map<(o, h, w, c) -> (c, h, 0, w, 0)>
#k = affine_map<(o, h, w, c) -> (c, o)>
#y = affine_map<(o, h, w, c) -> (o, h, w)>
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<8x?x2x5x2xf32>, %w: tensor<8x64xf32> {mlopt.weight}, %e: tensor<64x?x5xf32>) -> tensor<64x?x5xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x?x5xf32>) -> tensor<64x?x5xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x?x2x5x2xf32>, tensor<8x64xf32>) outs(%f : tensor<64x?x5xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x?x5xf32>
  return %r : tensor<64x?x5xf32>
}
