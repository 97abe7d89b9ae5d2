// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// As torch.einsum writes q k^T: the unit dim moves from before the keys to behind them, and goes.
// CHECK-LABEL: func.func @scores
// CHECK-NEXT: %[[E:.*]] = tensor.expand_shape %arg0 {{\[\[}}0, 1], [2], [3]] {{.*}} into tensor<2x3x37x41xf32>
// CHECK-NEXT: return %[[E]]
func.func @scores(%s: tensor<6x37x41xf32>) -> tensor<2x3x37x41xf32> {
  %e = tensor.expand_shape %s [[0, 1], [2], [3, 4]] output_shape [2, 3, 37, 1, 41] : tensor<6x37x41xf32> into tensor<2x3x37x1x41xf32>
  %0 = tensor.empty() : tensor<2x3x37x41x1xf32>
  %t = linalg.transpose ins(%e : tensor<2x3x37x1x41xf32>) outs(%0 : tensor<2x3x37x41x1xf32>) permutation = [0, 1, 2, 4, 3]
  %c = tensor.collapse_shape %t [[0], [1], [2], [3, 4]] : tensor<2x3x37x41x1xf32> into tensor<2x3x37x41xf32>
  return %c : tensor<2x3x37x41xf32>
}

// -----

// Of unknown sizes the dims that are left keep theirs.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT: %[[E:.*]] = tensor.expand_shape %arg0 {{\[\[}}0, 1], [2], [3]] output_shape [%arg1, 3, %arg2, 41] : tensor<?x?x41xf32> into tensor<?x3x?x41xf32>
// CHECK-NEXT: return %[[E]]
func.func @unknown(%s: tensor<?x?x41xf32>, %n: index, %m: index) -> tensor<?x3x?x41xf32> {
  %e = tensor.expand_shape %s [[0, 1], [2, 3], [4, 5]] output_shape [%n, 3, 1, %m, 1, 41] : tensor<?x?x41xf32> into tensor<?x3x1x?x1x41xf32>
  %c = tensor.collapse_shape %e [[0], [1, 2], [3, 4], [5]] : tensor<?x3x1x?x1x41xf32> into tensor<?x3x?x41xf32>
  return %c : tensor<?x3x?x41xf32>
}

// -----

// Nothing is split but off, nothing joined but on: no reshape is left.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: return %arg0
func.func @nothing(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 1, 5] : tensor<4x5xf32> into tensor<4x1x5xf32>
  %c = tensor.collapse_shape %e [[0], [1, 2]] : tensor<4x1x5xf32> into tensor<4x5xf32>
  return %c : tensor<4x5xf32>
}

// -----

// What splits and joins other dims as well does so without the unit dim.
// CHECK-LABEL: func.func @others
// CHECK-NEXT: %[[E:.*]] = tensor.expand_shape %arg0 {{\[\[}}0, 1], [2], [3]] {{.*}} into tensor<3x4x5x7xf32>
// CHECK-NEXT: %[[C:.*]] = tensor.collapse_shape %[[E]] {{\[\[}}0], [1, 2], [3]] : {{.*}} into tensor<3x20x7xf32>
// CHECK-NEXT: return %[[C]]
func.func @others(%x: tensor<12x5x7xf32>) -> tensor<3x20x7xf32> {
  %e = tensor.expand_shape %x [[0, 1], [2], [3, 4]] output_shape [3, 4, 5, 1, 7] : tensor<12x5x7xf32> into tensor<3x4x5x1x7xf32>
  %c = tensor.collapse_shape %e [[0], [1, 2, 3], [4]] : tensor<3x4x5x1x7xf32> into tensor<3x20x7xf32>
  return %c : tensor<3x20x7xf32>
}
