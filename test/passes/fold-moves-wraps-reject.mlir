// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// Rows of 5 elements are put together; so are slices of two tensors, and what no view is taken of.
// CHECK-LABEL: @short
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @short(%x: tensor<6x5xf32>) -> tensor<2x3x5xf32> {
  %a = tensor.extract_slice %x[2, 0] [4, 5] [1, 1] : tensor<6x5xf32> to tensor<4x5xf32>
  %b = tensor.extract_slice %x[0, 0] [2, 5] [1, 1] : tensor<6x5xf32> to tensor<2x5xf32>
  %c = tensor.concat dim(0) %a, %b : (tensor<4x5xf32>, tensor<2x5xf32>) -> tensor<6x5xf32>
  %v = tensor.expand_shape %c [[0, 1], [2]] output_shape [2, 3, 5] : tensor<6x5xf32> into tensor<2x3x5xf32>
  %e = tensor.empty() : tensor<2x3x5xf32>
  %r = linalg.exp ins(%v : tensor<2x3x5xf32>) outs(%e : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %r : tensor<2x3x5xf32>
}

// -----

// CHECK-LABEL: @two
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @two(%x: tensor<6x16xf32>, %y: tensor<6x16xf32>) -> tensor<2x3x16xf32> {
  %a = tensor.extract_slice %x[2, 0] [4, 16] [1, 1] : tensor<6x16xf32> to tensor<4x16xf32>
  %b = tensor.extract_slice %y[0, 0] [2, 16] [1, 1] : tensor<6x16xf32> to tensor<2x16xf32>
  %c = tensor.concat dim(0) %a, %b : (tensor<4x16xf32>, tensor<2x16xf32>) -> tensor<6x16xf32>
  %v = tensor.expand_shape %c [[0, 1], [2]] output_shape [2, 3, 16] : tensor<6x16xf32> into tensor<2x3x16xf32>
  %e = tensor.empty() : tensor<2x3x16xf32>
  %r = linalg.exp ins(%v : tensor<2x3x16xf32>) outs(%e : tensor<2x3x16xf32>) -> tensor<2x3x16xf32>
  return %r : tensor<2x3x16xf32>
}

// -----

// CHECK-LABEL: @no_view
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @no_view(%x: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %a = tensor.extract_slice %x[2, 0] [4, 16] [1, 1] : tensor<6x16xf32> to tensor<4x16xf32>
  %b = tensor.extract_slice %x[0, 0] [2, 16] [1, 1] : tensor<6x16xf32> to tensor<2x16xf32>
  %c = tensor.concat dim(0) %a, %b : (tensor<4x16xf32>, tensor<2x16xf32>) -> tensor<6x16xf32>
  %e = tensor.empty() : tensor<6x16xf32>
  %r = linalg.exp ins(%c : tensor<6x16xf32>) outs(%e : tensor<6x16xf32>) -> tensor<6x16xf32>
  return %r : tensor<6x16xf32>
}

// -----

// Slices that are parts of the other dim, too.
// CHECK-LABEL: @narrower
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @narrower(%x: tensor<6x17xf32>) -> tensor<2x3x16xf32> {
  %a = tensor.extract_slice %x[2, 1] [4, 16] [1, 1] : tensor<6x17xf32> to tensor<4x16xf32>
  %b = tensor.extract_slice %x[0, 0] [2, 16] [1, 1] : tensor<6x17xf32> to tensor<2x16xf32>
  %c = tensor.concat dim(0) %a, %b : (tensor<4x16xf32>, tensor<2x16xf32>) -> tensor<6x16xf32>
  %v = tensor.expand_shape %c [[0, 1], [2]] output_shape [2, 3, 16] : tensor<6x16xf32> into tensor<2x3x16xf32>
  %e = tensor.empty() : tensor<2x3x16xf32>
  %r = linalg.exp ins(%v : tensor<2x3x16xf32>) outs(%e : tensor<2x3x16xf32>) -> tensor<2x3x16xf32>
  return %r : tensor<2x3x16xf32>
}

// -----

// The first part is a whole tensor, the other one a slice in steps.
// CHECK-LABEL: @steps
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @steps(%x: tensor<4x16xf32>, %y: tensor<8x16xf32>) -> tensor<2x4x16xf32> {
  %a = tensor.extract_slice %y[0, 0] [4, 16] [2, 1] : tensor<8x16xf32> to tensor<4x16xf32>
  %c = tensor.concat dim(0) %x, %a : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %v = tensor.expand_shape %c [[0, 1], [2]] output_shape [2, 4, 16] : tensor<8x16xf32> into tensor<2x4x16xf32>
  %e = tensor.empty() : tensor<2x4x16xf32>
  %r = linalg.exp ins(%v : tensor<2x4x16xf32>) outs(%e : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  return %r : tensor<2x4x16xf32>
}

// -----

// So it is where the slice is cut in another dim, too.
// CHECK-LABEL: @cut
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @cut(%x: tensor<4x16xf32>, %y: tensor<4x20xf32>) -> tensor<2x4x16xf32> {
  %a = tensor.extract_slice %y[0, 2] [4, 16] [1, 1] : tensor<4x20xf32> to tensor<4x16xf32>
  %c = tensor.concat dim(0) %x, %a : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %v = tensor.expand_shape %c [[0, 1], [2]] output_shape [2, 4, 16] : tensor<8x16xf32> into tensor<2x4x16xf32>
  %e = tensor.empty() : tensor<2x4x16xf32>
  %r = linalg.exp ins(%v : tensor<2x4x16xf32>) outs(%e : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  return %r : tensor<2x4x16xf32>
}
