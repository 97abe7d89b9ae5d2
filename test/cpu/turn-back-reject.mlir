// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-turn-back)' --split-input-file | FileCheck %s
// CHECK-NOT: mlopt.backward

// Caches hold 8 MB wherever one starts.
func.func private @sum(%x: memref<2097152xf32>, %s: memref<256xf32>) attributes {mlopt.kernel, mlopt.bytes = 8388608 : i64} {
  scf.forall (%i) = (0) to (2097152) step (8192) {
    %v = vector.load %x[%i] : memref<2097152xf32>, vector<16xf32>
  }
  return
}
func.func private @use(%x: memref<2097152xf32>, %s: memref<256xf32>) attributes {mlopt.kernel, mlopt.bytes = 8388608 : i64} {
  scf.forall (%i) = (0) to (2097152) step (8192) {
    %v = vector.load %x[%i] : memref<2097152xf32>, vector<16xf32>
  }
  return
}
func.func @main(%x: memref<2097152xf32>, %s: memref<256xf32>) {
  func.call @sum(%x, %s) : (memref<2097152xf32>, memref<256xf32>) -> ()
  func.call @use(%x, %s) : (memref<2097152xf32>, memref<256xf32>) -> ()
  return
}

// -----

// The second one works more than it waits; the third one is not right after the first.
func.func private @sum(%x: memref<8388608xf32>) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64} {
  scf.forall (%i) = (0) to (8388608) step (32768) {
    %v = vector.load %x[%i] : memref<8388608xf32>, vector<16xf32>
  }
  return
}
func.func private @compute(%x: memref<8388608xf32>) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64, mlopt.flops = 8589934592 : i64} {
  scf.forall (%i) = (0) to (8388608) step (32768) {
    %v = vector.load %x[%i] : memref<8388608xf32>, vector<16xf32>
  }
  return
}
func.func private @other(%x: memref<8388608xf32>) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64} {
  scf.forall (%i) = (0) to (8388608) step (32768) {
    %v = vector.load %x[%i] : memref<8388608xf32>, vector<16xf32>
  }
  return
}
func.func private @late(%x: memref<8388608xf32>) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64} {
  scf.forall (%i) = (0) to (8388608) step (32768) {
    %v = vector.load %x[%i] : memref<8388608xf32>, vector<16xf32>
  }
  return
}
func.func @main(%x: memref<8388608xf32>, %y: memref<8388608xf32>) {
  func.call @sum(%x) : (memref<8388608xf32>) -> ()
  func.call @compute(%x) : (memref<8388608xf32>) -> ()
  func.call @other(%y) : (memref<8388608xf32>) -> ()
  func.call @late(%x) : (memref<8388608xf32>) -> ()
  return
}

// -----

// Tasks go along columns; one task does all; rows are as many as a size says; each task reads a place that its
// number does not tell.
func.func private @sum(%x: memref<2048x4096xf32>) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (2048) {
    %v = vector.load %x[%i, %c0] : memref<2048x4096xf32>, vector<16xf32>
  }
  return
}
func.func private @columns(%x: memref<2048x4096xf32>) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (4096) step (16) {
    %v = vector.load %x[%c0, %i] : memref<2048x4096xf32>, vector<16xf32>
  }
  return
}
func.func private @one(%x: memref<2048x4096xf32>) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %v = vector.load %x[%i, %c0] : memref<2048x4096xf32>, vector<16xf32>
  }
  return
}
func.func private @dynamic(%x: memref<2048x4096xf32>, %n: index) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (%n) {
    %v = vector.load %x[%i, %c0] : memref<2048x4096xf32>, vector<16xf32>
  }
  return
}
func.func private @gather(%x: memref<2048x4096xf32>, %rows: memref<2048xindex>) attributes {mlopt.kernel, mlopt.bytes = 33554432 : i64} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (2048) {
    %v = vector.load %x[%i, %c0] : memref<2048x4096xf32>, vector<16xf32>
    %w = vector.load %x[%c0, %i] : memref<2048x4096xf32>, vector<16xf32>
  }
  return
}
func.func @main(%x: memref<2048x4096xf32>, %n: index, %rows: memref<2048xindex>) {
  func.call @sum(%x) : (memref<2048x4096xf32>) -> ()
  func.call @columns(%x) : (memref<2048x4096xf32>) -> ()
  func.call @sum(%x) : (memref<2048x4096xf32>) -> ()
  func.call @one(%x) : (memref<2048x4096xf32>) -> ()
  func.call @sum(%x) : (memref<2048x4096xf32>) -> ()
  func.call @dynamic(%x, %n) : (memref<2048x4096xf32>, index) -> ()
  func.call @sum(%x) : (memref<2048x4096xf32>) -> ()
  func.call @gather(%x, %rows) : (memref<2048x4096xf32>, memref<2048xindex>) -> ()
  return
}
