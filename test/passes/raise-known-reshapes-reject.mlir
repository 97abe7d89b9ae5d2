// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// Nobody knows that the first dim stays: both may be split, or joined.
// CHECK-LABEL: func.func @two_unknown
// CHECK: tensor.reshape
func.func @two_unknown(%x: tensor<?x?xf32>, %a: index, %b: index, %c: index) -> tensor<?x?x?xf32> {
  %s = tensor.from_elements %a, %b, %c : tensor<3xindex>
  %r = tensor.reshape %x(%s) : (tensor<?x?xf32>, tensor<3xindex>) -> tensor<?x?x?xf32>
  return %r : tensor<?x?x?xf32>
}

// -----

// The sizes that stand beside it are others.
// CHECK-LABEL: func.func @other_sizes
// CHECK: tensor.reshape
func.func @other_sizes(%x: tensor<?x32xf32>, %a: index, %b: index) -> tensor<?x?x16xf32> {
  %c16 = arith.constant 16 : index
  %s = tensor.from_elements %a, %b, %c16 : tensor<3xindex>
  %r = tensor.reshape %x(%s) : (tensor<?x32xf32>, tensor<3xindex>) -> tensor<?x?x16xf32>
  return %r : tensor<?x?x16xf32>
}

// -----

// Without elements every split has as many.
// CHECK-LABEL: func.func @nothing
// CHECK: tensor.reshape
func.func @nothing(%x: tensor<?x0xf32>, %a: index, %b: index) -> tensor<?x?x0xf32> {
  %c0 = arith.constant 0 : index
  %s = tensor.from_elements %a, %b, %c0 : tensor<3xindex>
  %r = tensor.reshape %x(%s) : (tensor<?x0xf32>, tensor<3xindex>) -> tensor<?x?x0xf32>
  return %r : tensor<?x?x0xf32>
}

// -----

// The sizes come from memory.
// CHECK-LABEL: func.func @from_memory
// CHECK: tensor.reshape
func.func @from_memory(%x: tensor<?x32xf32>, %s: tensor<3xindex>) -> tensor<?x?x32xf32> {
  %r = tensor.reshape %x(%s) : (tensor<?x32xf32>, tensor<3xindex>) -> tensor<?x?x32xf32>
  return %r : tensor<?x?x32xf32>
}
