// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-tile)' --split-input-file | FileCheck %s

// Sizes along one loop are equal: the kernel says so of its arguments, results too.
// CHECK-LABEL: func.func private @add
// CHECK-SAME: mlopt.equal_sizes = ["a0_0 = a1_1 = a2_0"]
func.func private @add(%x: tensor<?xf32>, %y: tensor<4x?xf32>, %out: tensor<?x4xf32>) -> tensor<?x4xf32>
    attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 64, 0>}} {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<?xf32>, tensor<4x?xf32>) outs(%out : tensor<?x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// -----

// What a window reads has more than its loop; a size that one argument alone has is equal to none.
// CHECK-LABEL: func.func private @windows
// CHECK-NOT: mlopt.equal_sizes
func.func private @windows(%x: tensor<?xf32>, %w: tensor<3xf32>, %out: tensor<?xf32>) -> tensor<?xf32>
    attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 64, 0>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, k) -> (a + k)>, affine_map<(a, k) -> (k)>, affine_map<(a, k) -> (a)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<?xf32>, tensor<3xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
