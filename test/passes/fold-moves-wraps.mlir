// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse,mlopt-fold-moves{machine=a100},canonicalize,cse)' --split-input-file | FileCheck %s --check-prefix=GPU

// Rows that are rolled and cut into windows: a read of each at its place, in the windows' order.
// CHECK-LABEL: @windows
// CHECK-SAME: %[[X:.*]]: tensor<6x5x16xf32>
// CHECK-NOT: insert_slice
// CHECK: %[[G:.*]] = linalg.generic {{.*}}outs(%{{.*}} : tensor<2x5x3x16xf32>) {{.*}}"concat"
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[N:.*]] = arith.muli %[[I]], %c3
// CHECK: %[[K:.*]] = linalg.index 2
// CHECK: %[[ROW:.*]] = arith.addi %[[N]], %[[K]]
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: %[[D:.*]] = linalg.index 3
// CHECK: %[[FIRST:.*]] = arith.addi %[[ROW]], %c-4
// CHECK: %[[BEFORE:.*]] = arith.cmpi ult, %[[ROW]], %c4
// CHECK: %[[BEHIND:.*]] = arith.addi %[[ROW]], %c2
// CHECK: %[[AT:.*]] = arith.select %[[BEFORE]], %[[BEHIND]], %[[FIRST]]
// CHECK: tensor.extract %[[X]][%[[AT]], %[[J]], %[[D]]]
// CHECK: linalg.generic {{.*}} ins(%[[G]] : {{.*}}"exp"
// CHECK-NOT: transpose
func.func @windows(%x: tensor<6x5x16xf32>) -> tensor<2x5x3x16xf32> {
  %a = tensor.extract_slice %x[2, 0, 0] [4, 5, 16] [1, 1, 1] : tensor<6x5x16xf32> to tensor<4x5x16xf32>
  %b = tensor.extract_slice %x[0, 0, 0] [2, 5, 16] [1, 1, 1] : tensor<6x5x16xf32> to tensor<2x5x16xf32>
  %c = tensor.concat dim(0) %a, %b : (tensor<4x5x16xf32>, tensor<2x5x16xf32>) -> tensor<6x5x16xf32>
  %v = tensor.expand_shape %c [[0, 1], [2], [3]] output_shape [2, 3, 5, 16] : tensor<6x5x16xf32> into tensor<2x3x5x16xf32>
  %e = tensor.empty() : tensor<2x5x3x16xf32>
  %t = linalg.transpose ins(%v : tensor<2x3x5x16xf32>) outs(%e : tensor<2x5x3x16xf32>) permutation = [0, 2, 1, 3]
  %r = linalg.exp ins(%t : tensor<2x5x3x16xf32>) outs(%e : tensor<2x5x3x16xf32>) -> tensor<2x5x3x16xf32>
  return %r : tensor<2x5x3x16xf32>
}

// -----

// Rolled along two dims, of which the last one first; what is rolled is computed row by row.
// CHECK-LABEL: @both
// CHECK-SAME: %[[X:.*]]: tensor<?x5x6x16xf32>, %[[Y:.*]]: tensor<?x5x6x16xf32>
// CHECK-NOT: insert_slice
// CHECK: linalg.generic
// CHECK-DAG: tensor.extract %[[X]][%{{.*}}, %[[I:.*]], %[[J:.*]], %[[D:.*]]]
// CHECK-DAG: tensor.extract %[[Y]][%{{.*}}, %[[I]], %[[J]], %[[D]]]
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
func.func @both(%x: tensor<?x5x6x16xf32>, %y: tensor<?x5x6x16xf32>) -> tensor<?x5x6x16xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x5x6x16xf32>
  %e = tensor.empty(%n) : tensor<?x5x6x16xf32>
  %s = linalg.add ins(%x, %y : tensor<?x5x6x16xf32>, tensor<?x5x6x16xf32>) outs(%e : tensor<?x5x6x16xf32>) -> tensor<?x5x6x16xf32>
  %a = tensor.extract_slice %s[0, 0, 4, 0] [%n, 5, 2, 16] [1, 1, 1, 1] : tensor<?x5x6x16xf32> to tensor<?x5x2x16xf32>
  %b = tensor.extract_slice %s[0, 0, 0, 0] [%n, 5, 4, 16] [1, 1, 1, 1] : tensor<?x5x6x16xf32> to tensor<?x5x4x16xf32>
  %c = tensor.concat dim(2) %a, %b : (tensor<?x5x2x16xf32>, tensor<?x5x4x16xf32>) -> tensor<?x5x6x16xf32>
  %p = tensor.extract_slice %c[0, 3, 0, 0] [%n, 2, 6, 16] [1, 1, 1, 1] : tensor<?x5x6x16xf32> to tensor<?x2x6x16xf32>
  %q = tensor.extract_slice %c[0, 0, 0, 0] [%n, 3, 6, 16] [1, 1, 1, 1] : tensor<?x5x6x16xf32> to tensor<?x3x6x16xf32>
  %r = tensor.concat dim(1) %p, %q : (tensor<?x2x6x16xf32>, tensor<?x3x6x16xf32>) -> tensor<?x5x6x16xf32>
  return %r : tensor<?x5x6x16xf32>
}

// -----

// A row that is rolled by one: a GPU has it from whole accesses. A CPU copies the two parts.
// CHECK-LABEL: @rolled
// CHECK-NOT: tensor.extract %
// CHECK-COUNT-2: tensor.insert_slice
// GPU-LABEL: @rolled
// GPU-NOT: insert_slice
// GPU: %[[J:.*]] = linalg.index 1
// GPU: %[[BACK:.*]] = arith.addi %[[J]], %c-1
// GPU: %[[FIRST:.*]] = arith.cmpi ult, %[[J]], %c1
// GPU: arith.select %[[FIRST]], %c511, %[[BACK]]
// GPU: tensor.extract
func.func @rolled(%x: tensor<6x512xf16>) -> tensor<6x512xf16> {
  %a = tensor.extract_slice %x[0, 511] [6, 1] [1, 1] : tensor<6x512xf16> to tensor<6x1xf16>
  %b = tensor.extract_slice %x[0, 0] [6, 511] [1, 1] : tensor<6x512xf16> to tensor<6x511xf16>
  %c = tensor.concat dim(1) %a, %b : (tensor<6x1xf16>, tensor<6x511xf16>) -> tensor<6x512xf16>
  return %c : tensor<6x512xf16>
}

// -----

// Borders: two elements in turned order before rows of 512, and the last one again, and again, behind them.
// GPU-LABEL: @borders
// GPU-NOT: insert_slice
// GPU: %[[J:.*]] = linalg.index 1
// GPU-DAG: %[[BACK:.*]] = arith.addi %[[J]], %c-2
// GPU-DAG: %[[INSIDE:.*]] = arith.cmpi ult, %[[J]], %c514
// GPU: %[[REST:.*]] = arith.select %[[INSIDE]], %[[BACK]], %c511
// GPU-DAG: %[[TURNED:.*]] = arith.subi %c2, %[[J]]
// GPU-DAG: %[[BEFORE:.*]] = arith.cmpi ult, %[[J]], %c2
// GPU: arith.select %[[BEFORE]], %[[TURNED]], %[[REST]]
// GPU: tensor.extract
func.func @borders(%x: tensor<8x512xf16>) -> tensor<8x516xf16> {
  %a = tensor.extract_slice %x[0, 2] [8, 1] [1, 1] : tensor<8x512xf16> to tensor<8x1xf16>
  %b = tensor.extract_slice %x[0, 1] [8, 1] [1, 1] : tensor<8x512xf16> to tensor<8x1xf16>
  %d = tensor.extract_slice %x[0, 511] [8, 1] [1, 1] : tensor<8x512xf16> to tensor<8x1xf16>
  %c = tensor.concat dim(1) %a, %b, %x, %d, %d : (tensor<8x1xf16>, tensor<8x1xf16>, tensor<8x512xf16>, tensor<8x1xf16>, tensor<8x1xf16>) -> tensor<8x516xf16>
  return %c : tensor<8x516xf16>
}

// -----

// Borders of images, along both dims: one read of each element.
// GPU-LABEL: @image
// GPU-SAME: %[[X:.*]]: tensor<4x56x56xf32>
// GPU-NOT: insert_slice
// GPU: linalg.generic
// GPU: tensor.extract %[[X]]
// GPU-NOT: linalg.generic
// GPU: return
func.func @image(%x: tensor<4x56x56xf32>) -> tensor<4x58x58xf32> {
  %a = tensor.extract_slice %x[0, 0, 1] [4, 56, 1] [1, 1, 1] : tensor<4x56x56xf32> to tensor<4x56x1xf32>
  %b = tensor.extract_slice %x[0, 0, 54] [4, 56, 1] [1, 1, 1] : tensor<4x56x56xf32> to tensor<4x56x1xf32>
  %c = tensor.concat dim(2) %a, %x, %b : (tensor<4x56x1xf32>, tensor<4x56x56xf32>, tensor<4x56x1xf32>) -> tensor<4x56x58xf32>
  %d = tensor.extract_slice %c[0, 1, 0] [4, 1, 58] [1, 1, 1] : tensor<4x56x58xf32> to tensor<4x1x58xf32>
  %e = tensor.extract_slice %c[0, 54, 0] [4, 1, 58] [1, 1, 1] : tensor<4x56x58xf32> to tensor<4x1x58xf32>
  %r = tensor.concat dim(1) %d, %c, %e : (tensor<4x1x58xf32>, tensor<4x56x58xf32>, tensor<4x1x58xf32>) -> tensor<4x58x58xf32>
  return %r : tensor<4x58x58xf32>
}
