// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-equal-sizes,cse)' --split-input-file --verify-diagnostics | FileCheck %s

// What is not said to be equal stays, and so does a dim that is known only at run time.
// CHECK-LABEL: func.func @unknown(
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>, %[[Y:.*]]: tensor<?x?xf32>, %[[I:.*]]: index
// CHECK-DAG: tensor.dim %[[Y]], %c0
// CHECK-DAG: tensor.dim %[[Y]], %[[I]]
func.func @unknown(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %i: index) -> (index, index, index)
    attributes {mlopt.equal_sizes = ["a0_1 = a1_1"]} {
  %c0 = arith.constant 0 : index
  %a = tensor.dim %x, %c0 : tensor<?x?xf32>
  %b = tensor.dim %y, %c0 : tensor<?x?xf32>
  %c = tensor.dim %y, %i : tensor<?x?xf32>
  return %a, %b, %c : index, index, index
}

// -----

// expected-error@+1 {{mlopt.equal_sizes: a2_0 is no dynamic dim D of an argument I, as aI_D}}
func.func @no_argument(%x: tensor<?xf32>, %y: tensor<?xf32>) attributes {mlopt.equal_sizes = ["a0_0 = a2_0"]} {
  return
}

// -----

// expected-error@+1 {{mlopt.equal_sizes: a1_0 is no dynamic dim D of an argument I, as aI_D}}
func.func @static(%x: tensor<?xf32>, %y: tensor<4xf32>) attributes {mlopt.equal_sizes = ["a0_0 = a1_0"]} {
  return
}
