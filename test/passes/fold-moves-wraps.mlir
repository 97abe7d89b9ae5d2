// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

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
// CHECK: %[[BEFORE:.*]] = arith.cmpi ult, %[[ROW]], %c4
// CHECK: %[[SHIFT:.*]] = arith.select %[[BEFORE]], %c2{{.*}}, %c-4
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[SHIFT]]
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
