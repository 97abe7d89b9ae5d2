// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// A strided window reads blocks of two: what is before it runs on blocks, too, and can be done in its kernel.
#id = affine_map<(d0, d1) -> (d0, d1)>
#in = affine_map<(d0, d1, d2) -> (d0, d1 + d2 floordiv 2, d2 mod 2)>
#win = affine_map<(d0, d1, d2) -> (d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @window
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} : tensor<3x8xf32> into tensor<3x4x2xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<3x4x2xf32>) {{.*}}mlopt.op = "exp"
// CHECK: linalg.generic {{.*}} ins(%[[R]], %{{.*}} : tensor<3x4x2xf32>, tensor<3xf32>) {{.*}}mlopt.op = "sum_pool"
func.func @window(%x: tensor<3x8xf32>) -> tensor<3x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x8xf32>) outs(%e : tensor<3x8xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  %v = tensor.expand_shape %y [[0], [1, 2]] output_shape [3, 4, 2] : tensor<3x8xf32> into tensor<3x4x2xf32>
  %w = tensor.empty() : tensor<3xf32>
  %u = tensor.empty() : tensor<3x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%u : tensor<3x3xf32>) -> tensor<3x3xf32>
  %r = linalg.generic {indexing_maps = [#in, #win, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %w : tensor<3x4x2xf32>, tensor<3xf32>) outs(%f : tensor<3x3xf32>) attrs = {mlopt.op = "sum_pool"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %o, %p : f32
    linalg.yield %0 : f32
  } -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}

// -----

// So it does before the padding of such a window.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @pad
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} : tensor<3x8xf32> into tensor<3x4x2xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<3x4x2xf32>) {{.*}}mlopt.op = "exp"
// CHECK: tensor.insert_slice %[[R]] into
func.func @pad(%x: tensor<3x8xf32>) -> tensor<3x6x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x8xf32>) outs(%e : tensor<3x8xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  %v = tensor.expand_shape %y [[0], [1, 2]] output_shape [3, 4, 2] : tensor<3x8xf32> into tensor<3x4x2xf32>
  %u = tensor.empty() : tensor<3x6x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%u : tensor<3x6x2xf32>) -> tensor<3x6x2xf32>
  %r = tensor.insert_slice %v into %f[0, 1, 0] [3, 4, 2] [1, 1, 1] {mlopt.op = "pad"} : tensor<3x4x2xf32> into tensor<3x6x2xf32>
  return %r : tensor<3x6x2xf32>
}
