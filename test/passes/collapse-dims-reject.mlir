// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-collapse-dims)' --split-input-file | FileCheck %s

// What has no merged form stays as it is; nothing is an error.

// A transpose: the dims do not stand side by side in both tensors.
// CHECK-LABEL: @transpose
// CHECK-SAME: tensor<3x4xf32>
func.func private @transpose(%x: tensor<4x3xf32>, %out: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x3xf32>) outs(%out : tensor<3x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----

// A bias has one of the dims alone.
// CHECK-LABEL: @bias
// CHECK-SAME: tensor<3x4xf32>
func.func private @bias(%x: tensor<3x4xf32>, %b: tensor<4xf32>, %out: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<3x4xf32>, tensor<4xf32>) outs(%out : tensor<3x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----

// The body asks where it is.
// CHECK-LABEL: @index
// CHECK-SAME: tensor<3x4xi64>
func.func private @index(%out: tensor<3x4xi64>) -> tensor<3x4xi64> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      outs(%out : tensor<3x4xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 1 : index
    %s = arith.index_cast %i : index to i64
    linalg.yield %s : i64
  } -> tensor<3x4xi64>
  return %r : tensor<3x4xi64>
}

// -----

// Windows: the width of the result runs with the window's.
// CHECK-LABEL: @pool
// CHECK-SAME: tensor<5x8xf32>
func.func private @pool(%x: tensor<5x9xf32>, %w: tensor<2xf32>, %out: tensor<5x8xf32>) -> tensor<5x8xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<5x8xf32>) -> tensor<5x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, k) -> (a, b + k)>, affine_map<(a, b, k) -> (k)>, affine_map<(a, b, k) -> (a, b)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x9xf32>, tensor<2xf32>) outs(%f : tensor<5x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %s, %o : f32
    linalg.yield %t : f32
  } -> tensor<5x8xf32>
  return %r : tensor<5x8xf32>
}

// -----

// Read twice, once row by row and once turned: its shape cannot change.
// CHECK-LABEL: @twice
// CHECK-SAME: tensor<4x4xf32>
func.func private @twice(%x: tensor<4x4xf32>, %out: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%out : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// A diagonal of each matrix: one of its dims stands twice.
// CHECK-LABEL: @diagonals
// CHECK-SAME: tensor<2x3x3xf32>
func.func private @diagonals(%x: tensor<2x3x3xf32>, %out: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i, i)>, affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x3x3xf32>) outs(%out : tensor<2x3xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
