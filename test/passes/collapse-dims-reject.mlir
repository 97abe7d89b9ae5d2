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

// -----

// Rows of a known length that accesses fill: tasks need not ask where they end. What is in a row is one dim.
// CHECK-LABEL: @long_rows
// CHECK-SAME: (%{{.*}}: tensor<?x24xf32>, %{{.*}}: tensor<?x24xf32>)
func.func private @long_rows(%x: tensor<?x4x6xf32>, %out: tensor<?x4x6xf32>) -> tensor<?x4x6xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x4x6xf32>) outs(%out : tensor<?x4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x4x6xf32>
  return %r : tensor<?x4x6xf32>
}

// -----

// The kernel computes with a size: that of the merged dim would be another number.
// CHECK-LABEL: @mean_rows
// CHECK-SAME: tensor<?x?xf32>
func.func private @mean_rows(%x: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %i = arith.index_cast %n : index to i64
  %rows = arith.sitofp %i : i64 to f32
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%out : tensor<?x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.divf %p, %rows : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// Of one of the dims no argument has the size.
// CHECK-LABEL: @no_size
// CHECK-SAME: tensor<?x?xf32>
func.func private @no_size(%x: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b)>, affine_map<(a, b, c) -> (c)>, affine_map<(a, b, c) -> (a, b)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %f : tensor<?x?xf32>, tensor<?xf32>) outs(%out : tensor<?x?xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.maximumf %o, %q : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
