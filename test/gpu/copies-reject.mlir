// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-copies)' --verify-diagnostics

func.func @main(%x: memref<8x8xf32>, %y: memref<4x4xf32>) {
  %part = memref.subview %x[0, 0] [4, 4] [1, 1] : memref<8x8xf32> to memref<4x4xf32, strided<[8, 1]>>
  // expected-error @below {{a copy of a buffer that is not contiguous: memref<4x4xf32, strided<[8, 1]>>; only kernels read parts of buffers}}
  memref.copy %part, %y : memref<4x4xf32, strided<[8, 1]>> to memref<4x4xf32>
  return
}
