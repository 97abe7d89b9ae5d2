// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// A weight whose innermost dim would become an outer one is transposed once, beforehand.
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @weight
// CHECK: %[[T:.*]] = linalg.generic {{.*}}{mlopt.op = "transpose"}
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[T]] :
func.func @weight(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %init: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// Steps, starts that are not known, and a part of a dynamic dim stay slices; a reshape does not pass a ragged one.
// CHECK-LABEL: func.func @slices
// CHECK-COUNT-4: tensor.extract_slice
func.func @slices(%x: tensor<8x10xf32>, %y: tensor<?xf32>, %i: index)
    -> (tensor<4x10xf32>, tensor<2x10xf32>, tensor<4xf32>, tensor<?xf32>, tensor<8x2x3xf32>) {
  %a = tensor.extract_slice %x[0, 0] [4, 10] [2, 1] : tensor<8x10xf32> to tensor<4x10xf32>
  %b = tensor.extract_slice %x[%i, 0] [2, 10] [1, 1] : tensor<8x10xf32> to tensor<2x10xf32>
  %c = tensor.extract_slice %y[0] [4] [1] : tensor<?xf32> to tensor<4xf32>
  %d = tensor.extract_slice %y[0] [%i] [1] : tensor<?xf32> to tensor<?xf32>
  // CHECK: linalg.generic {{.*}}{mlopt.op = "slice"}
  // CHECK: tensor.expand_shape
  %e = tensor.extract_slice %x[0, 2] [8, 6] [1, 1] : tensor<8x10xf32> to tensor<8x6xf32>
  %f = tensor.expand_shape %e [[0], [1, 2]] output_shape [8, 2, 3] : tensor<8x6xf32> into tensor<8x2x3xf32>
  return %a, %b, %c, %d, %f : tensor<4x10xf32>, tensor<2x10xf32>, tensor<4xf32>, tensor<?xf32>, tensor<8x2x3xf32>
}
