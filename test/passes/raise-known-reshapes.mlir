// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// As torch-mlir writes the view behind a linear layer: the rows are a batch of lengths again.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT: %[[E:.*]] = tensor.expand_shape %arg0 {{\[\[}}0, 1], [2]] output_shape [%arg1, %arg2, 32] : tensor<?x32xf32> into tensor<?x?x32xf32>
// CHECK-NEXT: return %[[E]]
func.func @rows(%x: tensor<?x32xf32>, %b: index, %t: index) -> tensor<?x?x32xf32> {
  %c32 = arith.constant 32 : i64
  %b64 = arith.index_cast %b : index to i64
  %t64 = arith.index_cast %t : index to i64
  %s = tensor.from_elements %b64, %t64, %c32 : tensor<3xi64>
  %r = tensor.reshape %x(%s) : (tensor<?x32xf32>, tensor<3xi64>) -> tensor<?x?x32xf32>
  return %r : tensor<?x?x32xf32>
}

// -----

// Numbers that are no indices become some.
// CHECK-LABEL: func.func @numbers
// CHECK-DAG: %[[B:.*]] = arith.index_cast %arg1 : i64 to index
// CHECK-DAG: %[[T:.*]] = arith.index_cast %arg2 : i64 to index
// CHECK: tensor.expand_shape %arg0 {{\[\[}}0, 1, 2]] output_shape [%[[B]], 4, %[[T]]] : tensor<?xf32> into tensor<?x4x?xf32>
func.func @numbers(%x: tensor<?xf32>, %b: i64, %t: i64) -> tensor<?x4x?xf32> {
  %c4 = arith.constant 4 : i64
  %s = tensor.from_elements %b, %c4, %t : tensor<3xi64>
  %r = tensor.reshape %x(%s) : (tensor<?xf32>, tensor<3xi64>) -> tensor<?x4x?xf32>
  return %r : tensor<?x4x?xf32>
}

// -----

// A dynamic dim in front keeps its size.
// CHECK-LABEL: func.func @behind
// CHECK: tensor.expand_shape %arg0 {{\[\[}}0], [1, 2], [3]] output_shape [%{{.*}}, %arg1, %arg2, 8] : tensor<?x?x8xf32> into tensor<?x?x?x8xf32>
func.func @behind(%x: tensor<?x?x8xf32>, %b: index, %t: index) -> tensor<?x?x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %s = tensor.from_elements %n, %b, %t, %c8 : tensor<4xindex>
  %r = tensor.reshape %x(%s) : (tensor<?x?x8xf32>, tensor<4xindex>) -> tensor<?x?x?x8xf32>
  return %r : tensor<?x?x?x8xf32>
}
