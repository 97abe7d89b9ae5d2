// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-lower-expansions)' | FileCheck %s

// One dynamic size a group is left to expand-strided-metadata.
// CHECK-LABEL: @one_each
// CHECK: memref.expand_shape
// CHECK-NOT: memref.reinterpret_cast
func.func @one_each(%b: memref<?x?xf32>, %m: index, %n: index) -> memref<?x3x?x2xf32> {
  %v = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [%m, 3, %n, 2] : memref<?x?xf32> into memref<?x3x?x2xf32>
  return %v : memref<?x3x?x2xf32>
}
