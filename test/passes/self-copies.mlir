// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-self-copies)' | FileCheck %s

// All of a buffer onto itself.
// CHECK-LABEL: @whole
// CHECK-NOT: memref.copy
// CHECK-NOT: memref.subview
func.func @whole(%out: memref<?x7xf32>, %n: index) {
  %all = memref.subview %out[0, 0] [%n, 7] [1, 1] : memref<?x7xf32> to memref<?x7xf32, strided<[7, 1]>>
  memref.copy %out, %all : memref<?x7xf32> to memref<?x7xf32, strided<[7, 1]>>
  return
}
