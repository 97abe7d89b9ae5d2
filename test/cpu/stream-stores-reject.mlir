// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stream-stores)' | FileCheck %s
// CHECK-NOT: nontemporal
// CHECK-NOT: sfence

// Small results stay in the caches.
func.func private @small(%x: memref<1048576xf32>, %out: memref<1048576xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (1048576) step (64) {
    %v = vector.load %x[%i] : memref<1048576xf32>, vector<64xf32>
    vector.store %v, %out[%i] : memref<1048576xf32>, vector<64xf32>
  }
  return
}

// The next kernel reads it.
func.func private @read_later(%x: memref<4194304xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (4194304) step (64) {
    %v = vector.load %x[%i] : memref<4194304xf32>, vector<64xf32>
    vector.store %v, %out[%i] : memref<4194304xf32>, vector<64xf32>
  }
  return
}

// It is memory of the arena.
func.func private @intermediate(%x: memref<4194304xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (4194304) step (64) {
    %v = vector.load %x[%i] : memref<4194304xf32>, vector<64xf32>
    vector.store %v, %out[%i] : memref<4194304xf32>, vector<64xf32>
  }
  return
}

// The kernel reads what it writes.
func.func private @read_inside(%x: memref<4194304xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (4194304) step (64) {
    %v = vector.load %out[%i] : memref<4194304xf32>, vector<64xf32>
    vector.store %v, %out[%i] : memref<4194304xf32>, vector<64xf32>
  }
  return
}

// Where it starts is not known to be a line's start.
func.func private @unaligned(%x: memref<4194304xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (4194304) step (64) {
    %one = arith.constant 1 : index
    %at = arith.addi %i, %one : index
    %v = vector.load %x[%i] : memref<4194304xf32>, vector<16xf32>
    vector.store %v, %out[%at] : memref<4194304xf32>, vector<16xf32>
  }
  return
}

func.func @main(%s: memref<1048576xf32>, %x: memref<4194304xf32>, %a: memref<1048576xf32> {mlopt.result = 0 : i64},
                %b: memref<4194304xf32> {mlopt.result = 1 : i64}, %c: memref<4194304xf32> {mlopt.result = 2 : i64},
                %d: memref<4194304xf32> {mlopt.result = 3 : i64}) {
  %arena = memref.alloc() : memref<4194304xf32>
  func.call @small(%s, %a) : (memref<1048576xf32>, memref<1048576xf32>) -> ()
  func.call @read_later(%x, %b) : (memref<4194304xf32>, memref<4194304xf32>) -> ()
  func.call @intermediate(%b, %arena) : (memref<4194304xf32>, memref<4194304xf32>) -> ()
  func.call @read_inside(%arena, %c) : (memref<4194304xf32>, memref<4194304xf32>) -> ()
  func.call @unaligned(%arena, %d) : (memref<4194304xf32>, memref<4194304xf32>) -> ()
  return
}
