// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// 10 columns are no whole number of steps of 4, though all that is taken lies inside of whole ones.
// CHECK-LABEL: @ragged
// CHECK-NOT: tensor.expand_shape
// CHECK: tensor.extract_slice %{{.*}}[0, 1] [8, 2] [1, 4]
func.func @ragged(%x: tensor<8x10xf32>) -> tensor<8x2xf32> {
  %p = tensor.extract_slice %x[0, 1] [8, 2] [1, 4] : tensor<8x10xf32> to tensor<8x2xf32>
  %r = math.exp %p : tensor<8x2xf32>
  return %r : tensor<8x2xf32>
}

// -----

// Steps along rows of which nobody knows how many there are.
// CHECK-LABEL: @dynamic
// CHECK-NOT: tensor.expand_shape
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [4, 8] [2, 1]
func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<4x8xf32> {
  %p = tensor.extract_slice %x[0, 0] [4, 8] [2, 1] : tensor<?x8xf32> to tensor<4x8xf32>
  %r = math.exp %p : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A place that each call computes is in no block that is known before.
// CHECK-LABEL: @place
// CHECK-NOT: tensor.expand_shape
// CHECK: tensor.extract_slice %{{.*}}[0, %{{.*}}] [8, 3] [1, 2]
func.func @place(%x: tensor<8x8xf32>, %i: index) -> tensor<8x3xf32> {
  %p = tensor.extract_slice %x[0, %i] [8, 3] [1, 2] : tensor<8x8xf32> to tensor<8x3xf32>
  %r = math.exp %p : tensor<8x3xf32>
  return %r : tensor<8x3xf32>
}

// -----

// One of two dims that are taken in steps has none that divide it: both stay.
// CHECK-LABEL: @both
// CHECK-NOT: tensor.expand_shape
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [4, 3] [2, 3]
func.func @both(%x: tensor<8x7xf32>) -> tensor<4x3xf32> {
  %p = tensor.extract_slice %x[0, 0] [4, 3] [2, 3] : tensor<8x7xf32> to tensor<4x3xf32>
  %r = math.exp %p : tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// -----

// A slice that drops a dim says no more which of its dims goes in steps.
// CHECK-LABEL: @dropped
// CHECK-NOT: tensor.expand_shape
// CHECK: tensor.extract_slice %{{.*}}[3, 0] [1, 4] [1, 2]
func.func @dropped(%x: tensor<8x8xf32>) -> tensor<4xf32> {
  %p = tensor.extract_slice %x[3, 0] [1, 4] [1, 2] : tensor<8x8xf32> to tensor<4xf32>
  %r = math.exp %p : tensor<4xf32>
  return %r : tensor<4xf32>
}
