// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-equal-sizes,cse)' --split-input-file | FileCheck %s

// All sizes of a group are those of its first argument; the attribute goes.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>, %{{.*}}: tensor<?xi64>, %[[Z:.*]]: tensor<?x?xf32>
// CHECK-NOT: mlopt.equal_sizes
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[ROWS:.*]] = tensor.dim %[[X]], %[[C0]]
// CHECK-DAG: %[[COLUMNS:.*]] = tensor.dim %[[X]], %[[C1]]
// CHECK-DAG: %[[OTHER:.*]] = tensor.dim %[[Z]], %[[C0]]
// CHECK: return %[[ROWS]], %[[ROWS]], %[[COLUMNS]], %[[COLUMNS]], %[[OTHER]]
func.func @main(%x: tensor<?x?xf32>, %t: tensor<?xi64>, %z: tensor<?x?xf32>) -> (index, index, index, index, index)
    attributes {mlopt.equal_sizes = ["a0_0 = a1_0", "a0_1 = a2_1"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.dim %x, %c0 : tensor<?x?xf32>
  %b = tensor.dim %t, %c0 : tensor<?xi64>
  %c = tensor.dim %x, %c1 : tensor<?x?xf32>
  %d = tensor.dim %z, %c1 : tensor<?x?xf32>
  %e = tensor.dim %z, %c0 : tensor<?x?xf32>
  return %a, %b, %c, %d, %e : index, index, index, index, index
}

// -----

// Two dims of one argument.
// CHECK-LABEL: func.func @square(
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %c0
// CHECK: return %[[N]], %[[N]]
func.func @square(%x: tensor<?x?xf32>) -> (index, index) attributes {mlopt.equal_sizes = ["a0_0 = a0_1"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.dim %x, %c0 : tensor<?x?xf32>
  %b = tensor.dim %x, %c1 : tensor<?x?xf32>
  return %a, %b : index, index
}
