// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// A unit dim of the result stays; the one that is joined goes.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: %[[E:.*]] = tensor.expand_shape %arg0 {{\[\[}}0, 1, 2], [3]] {{.*}} into tensor<3x1x4x7xf32>
// CHECK-NEXT: return %[[E]]
func.func @kept(%x: tensor<12x7xf32>) -> tensor<3x1x4x7xf32> {
  %e = tensor.expand_shape %x [[0, 1, 2], [3, 4]] output_shape [3, 1, 4, 1, 7] : tensor<12x7xf32> into tensor<3x1x4x1x7xf32>
  %c = tensor.collapse_shape %e [[0], [1], [2, 3], [4]] : tensor<3x1x4x1x7xf32> into tensor<3x1x4x7xf32>
  return %c : tensor<3x1x4x7xf32>
}

// -----

// A unit dim that was there before is all of its group: only the one that is added to it goes.
// CHECK-LABEL: func.func @before
// CHECK-NEXT: %[[E:.*]] = tensor.expand_shape %arg0 {{\[\[}}0], [1], [2, 3]] {{.*}} into tensor<4x1x3x5xf32>
// CHECK-NEXT: %[[C:.*]] = tensor.collapse_shape %[[E]] {{\[\[}}0], [1, 2], [3]] : {{.*}} into tensor<4x3x5xf32>
// CHECK-NEXT: return %[[C]]
func.func @before(%x: tensor<4x1x15xf32>) -> tensor<4x3x5xf32> {
  %e = tensor.expand_shape %x [[0], [1, 2], [3, 4]] output_shape [4, 1, 1, 3, 5] : tensor<4x1x15xf32> into tensor<4x1x1x3x5xf32>
  %c = tensor.collapse_shape %e [[0], [1, 2, 3], [4]] : tensor<4x1x1x3x5xf32> into tensor<4x3x5xf32>
  return %c : tensor<4x3x5xf32>
}

// -----

// A dim of unknown size may be more than 1.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT: %[[E:.*]] = tensor.expand_shape %arg0 {{\[\[}}0], [1, 2]] output_shape [4, %arg1, 5]
// CHECK-NEXT: %[[C:.*]] = tensor.collapse_shape %[[E]] {{\[\[}}0, 1], [2]]
// CHECK-NEXT: return %[[C]]
func.func @unknown(%x: tensor<4x?xf32>, %n: index) -> tensor<?x5xf32> {
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, %n, 5] : tensor<4x?xf32> into tensor<4x?x5xf32>
  %c = tensor.collapse_shape %e [[0, 1], [2]] : tensor<4x?x5xf32> into tensor<?x5xf32>
  return %c : tensor<?x5xf32>
}

// -----

// One element, without dims, has no group that could keep another dim.
// CHECK-LABEL: func.func @number
// CHECK: tensor.expand_shape %arg0 []
func.func @number(%x: tensor<f32>) -> tensor<1xf32> {
  %e = tensor.expand_shape %x [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %c = tensor.collapse_shape %e [[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
  return %c : tensor<1xf32>
}
