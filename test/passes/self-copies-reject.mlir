// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-self-copies)' | FileCheck %s

// Other elements of the same buffer, and other buffers, are copied.
// CHECK-LABEL: @others
// CHECK-COUNT-3: memref.copy
func.func @others(%a: memref<8x7xf32>, %b: memref<4x7xf32>) {
  %low = memref.subview %a[0, 0] [4, 7] [1, 1] : memref<8x7xf32> to memref<4x7xf32, strided<[7, 1]>>
  %high = memref.subview %a[4, 0] [4, 7] [1, 1] : memref<8x7xf32> to memref<4x7xf32, strided<[7, 1], offset: 28>>
  %even = memref.subview %a[0, 0] [4, 7] [2, 1] : memref<8x7xf32> to memref<4x7xf32, strided<[14, 1]>>
  memref.copy %low, %high : memref<4x7xf32, strided<[7, 1]>> to memref<4x7xf32, strided<[7, 1], offset: 28>>
  memref.copy %low, %even : memref<4x7xf32, strided<[7, 1]>> to memref<4x7xf32, strided<[14, 1]>>
  memref.copy %low, %b : memref<4x7xf32, strided<[7, 1]>> to memref<4x7xf32>
  return
}
