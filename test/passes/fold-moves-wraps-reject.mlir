// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse,mlopt-fold-moves{machine=a100},canonicalize,cse)' --split-input-file | FileCheck %s

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

// -----

// Rolled by whole accesses: the parts are stored where these begin.
// CHECK-LABEL: @in_place
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @in_place(%x: tensor<6x512xf16>) -> tensor<6x512xf16> {
  %p0 = tensor.extract_slice %x[0, 504] [6, 8] [1, 1] : tensor<6x512xf16> to tensor<6x8xf16>
  %p1 = tensor.extract_slice %x[0, 0] [6, 504] [1, 1] : tensor<6x512xf16> to tensor<6x504xf16>
  %c = tensor.concat dim(1) %p0, %p1 : (tensor<6x8xf16>, tensor<6x504xf16>) -> tensor<6x512xf16>
  return %c : tensor<6x512xf16>
}

// -----

// Rows of which the next begins in the middle of an access.
// CHECK-LABEL: @uneven
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @uneven(%x: tensor<6x510xf16>) -> tensor<6x510xf16> {
  %p0 = tensor.extract_slice %x[0, 509] [6, 1] [1, 1] : tensor<6x510xf16> to tensor<6x1xf16>
  %p1 = tensor.extract_slice %x[0, 0] [6, 509] [1, 1] : tensor<6x510xf16> to tensor<6x509xf16>
  %c = tensor.concat dim(1) %p0, %p1 : (tensor<6x1xf16>, tensor<6x509xf16>) -> tensor<6x510xf16>
  return %c : tensor<6x510xf16>
}

// -----

// Elements of which an access has two.
// CHECK-LABEL: @long
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @long(%x: tensor<6x512xf64>) -> tensor<6x512xf64> {
  %p0 = tensor.extract_slice %x[0, 511] [6, 1] [1, 1] : tensor<6x512xf64> to tensor<6x1xf64>
  %p1 = tensor.extract_slice %x[0, 0] [6, 511] [1, 1] : tensor<6x512xf64> to tensor<6x511xf64>
  %c = tensor.concat dim(1) %p0, %p1 : (tensor<6x1xf64>, tensor<6x511xf64>) -> tensor<6x512xf64>
  return %c : tensor<6x512xf64>
}

// -----

// Borders of long rows of f32, in few parts.
// CHECK-LABEL: @wide_borders
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-3: tensor.insert_slice
func.func @wide_borders(%x: tensor<8x512xf32>) -> tensor<8x514xf32> {
  %p0 = tensor.extract_slice %x[0, 1] [8, 1] [1, 1] : tensor<8x512xf32> to tensor<8x1xf32>
  %p2 = tensor.extract_slice %x[0, 510] [8, 1] [1, 1] : tensor<8x512xf32> to tensor<8x1xf32>
  %c = tensor.concat dim(1) %p0, %x, %p2 : (tensor<8x1xf32>, tensor<8x512xf32>, tensor<8x1xf32>) -> tensor<8x514xf32>
  return %c : tensor<8x514xf32>
}

// -----

// Borders of more elements than an access has.
// CHECK-LABEL: @broad
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
func.func @broad(%x: tensor<8x512xf16>) -> tensor<8x521xf16> {
  %p0 = tensor.extract_slice %x[0, 503] [8, 9] [1, 1] : tensor<8x512xf16> to tensor<8x9xf16>
  %c = tensor.concat dim(1) %p0, %x : (tensor<8x9xf16>, tensor<8x512xf16>) -> tensor<8x521xf16>
  return %c : tensor<8x521xf16>
}
