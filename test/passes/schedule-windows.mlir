// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{vector-bits=256})' | FileCheck %s

// A window of one column: the lanes are the channels of its packed weights, 16 a strip, though rows of pixels are
// contiguous, too; the rows of the image, not the channels, are divided.
// CHECK-LABEL: @one_column
// CHECK-SAME: mlopt.schedule = {tile = array<i64: 1, 0, 5, 0, 4, 1>}
func.func private @one_column(%x: tensor<192x23x17xf32>, %w: tensor<12x192x7x16xf32>, %out: tensor<12x16x17x17xf32>) -> tensor<12x16x17x17xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<12x16x17x17xf32>) -> tensor<12x16x17x17xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, o, h, w, c, i) -> (c, h + i, w)>, affine_map<(b, o, h, w, c, i) -> (b, c, i, o)>, affine_map<(b, o, h, w, c, i) -> (b, o, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<192x23x17xf32>, tensor<12x192x7x16xf32>) outs(%f : tensor<12x16x17x17xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<12x16x17x17xf32>
  return %r : tensor<12x16x17x17xf32>
}

// Too few tasks of 7 rows: rows are divided again, and columns stay whole, which strips of them fill.
// CHECK-LABEL: @rows_before_columns
// CHECK-SAME: mlopt.schedule = {tile = array<i64: 1, 0, 4, 0, 4, 1, 1>}
func.func private @rows_before_columns(%x: tensor<48x39x39xf32>, %w: tensor<4x48x5x5x16xf32>, %out: tensor<4x16x35x35xf32>) -> tensor<4x16x35x35xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<4x16x35x35xf32>) -> tensor<4x16x35x35xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, o, h, w, c, i, j) -> (c, h + i, w + j)>, affine_map<(b, o, h, w, c, i, j) -> (b, c, i, j, o)>, affine_map<(b, o, h, w, c, i, j) -> (b, o, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<48x39x39xf32>, tensor<4x48x5x5x16xf32>) outs(%f : tensor<4x16x35x35xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<4x16x35x35xf32>
  return %r : tensor<4x16x35x35xf32>
}
