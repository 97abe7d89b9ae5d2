// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-turn-back)' | FileCheck %s

// Three kernels after each other go through 32 MB: forward, backward in runs of 2 MB, forward. The second call of
// a kernel changes nothing, nor does a small one between them.
// CHECK-LABEL: func.func private @first
// CHECK-NOT: mlopt.backward
// CHECK-LABEL: func.func private @second
// CHECK: } {mlopt.backward = 16 : i64}
// CHECK-LABEL: func.func private @third
// CHECK-NOT: mlopt.backward
func.func private @first(%x: memref<8388608xf32>, %s: memref<256xf32>) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64} {
  scf.forall (%i) = (0) to (8388608) step (32768) {
    %v = vector.load %x[%i] : memref<8388608xf32>, vector<16xf32>
  }
  return
}
func.func private @small(%s: memref<256xf32>) attributes {mlopt.kernel, mlopt.bytes = 1024 : i64} {
  return
}
func.func private @second(%x: memref<2048x4096xf32>, %s: memref<256xf32>, %out: memref<2048x4096xf32>) attributes {mlopt.kernel, mlopt.bytes = 67108864 : i64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.forall (%i) = (0) to (2048) step (8) {
    scf.for %j = %c0 to %c4 step %c2 {
      %at = arith.addi %i, %j : index
      memref.prefetch %x[%at, %c0], read, locality<3>, data : memref<2048x4096xf32>
      %v = vector.load %x[%at, %c0] : memref<2048x4096xf32>, vector<16xf32>
      vector.store %v, %out[%at, %c0] : memref<2048x4096xf32>, vector<16xf32>
    }
  }
  return
}
func.func private @third(%x: memref<8388608xf32>, %out: memref<8388608xf32>) attributes {mlopt.kernel, mlopt.bytes = 67108864 : i64} {
  scf.forall (%i) = (0) to (8388608) step (32768) {
    %v = vector.load %x[%i] : memref<8388608xf32>, vector<16xf32>
    vector.store %v, %out[%i] : memref<8388608xf32>, vector<16xf32>
  }
  return
}

func.func @main(%x: memref<8388608xf32>, %s: memref<256xf32>, %y: memref<2048x4096xf32>, %z: memref<8388608xf32>) {
  %rows = memref.expand_shape %x [[0, 1]] output_shape [2048, 4096] : memref<8388608xf32> into memref<2048x4096xf32>
  func.call @first(%x, %s) : (memref<8388608xf32>, memref<256xf32>) -> ()
  func.call @small(%s) : (memref<256xf32>) -> ()
  func.call @second(%rows, %s, %y) : (memref<2048x4096xf32>, memref<256xf32>, memref<2048x4096xf32>) -> ()
  %flat = memref.collapse_shape %y [[0, 1]] : memref<2048x4096xf32> into memref<8388608xf32>
  func.call @third(%flat, %z) : (memref<8388608xf32>, memref<8388608xf32>) -> ()
  func.call @first(%z, %s) : (memref<8388608xf32>, memref<256xf32>) -> ()
  return
}
