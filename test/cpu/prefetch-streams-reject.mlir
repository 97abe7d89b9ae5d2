// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-prefetch-streams)' | FileCheck %s
// CHECK-NOT: memref.prefetch

// What is stored stays in the caches.
func.func private @cached(%x: memref<4194304xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c4194304 = arith.constant 4194304 : index
  scf.for %j = %c0 to %c4194304 step %c16 {
    %v = vector.load %x[%j] : memref<4194304xf32>, vector<16xf32>
    vector.store %v, %out[%j] : memref<4194304xf32>, vector<16xf32>
  }
  return
}

// Two arguments; elements of two bytes; rows of 4 KB.
func.func private @two(%x: memref<4194304xf32>, %y: memref<4194304xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c4194304 = arith.constant 4194304 : index
  scf.for %j = %c0 to %c4194304 step %c16 {
    %v = vector.load %x[%j] : memref<4194304xf32>, vector<16xf32>
    %w = vector.load %y[%j] : memref<4194304xf32>, vector<16xf32>
    %z = arith.addf %v, %w : vector<16xf32>
    vector.store %z, %out[%j] {alignment = 64 : i64, nontemporal = true} : memref<4194304xf32>, vector<16xf32>
  }
  return
}
func.func private @half(%x: memref<8388608xf16>, %out: memref<8388608xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c8388608 = arith.constant 8388608 : index
  scf.for %j = %c0 to %c8388608 step %c32 {
    %v = vector.load %x[%j] : memref<8388608xf16>, vector<32xf16>
    vector.store %v, %out[%j] {alignment = 64 : i64, nontemporal = true} : memref<8388608xf16>, vector<32xf16>
  }
  return
}
func.func private @short(%x: memref<16384x1024xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c1024 = arith.constant 1024 : index
  scf.forall (%i) in (16384) {
    scf.for %j = %c0 to %c1024 step %c16 {
      %v = vector.load %x[%i, %j] : memref<16384x1024xf32>, vector<16xf32>
      vector.store %v, %out[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<16384x1024xf32>, vector<16xf32>
    }
  }
  return
}

// The kernel has read it before; it is read down a column; its place does not follow the loop.
func.func private @again(%x: memref<4194304xf32>, %s: memref<16xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c4194304 = arith.constant 4194304 : index
  scf.for %j = %c0 to %c4194304 step %c16 {
    %v = vector.load %x[%j] : memref<4194304xf32>, vector<16xf32>
    vector.store %v, %s[%c0] : memref<16xf32>, vector<16xf32>
  }
  scf.for %j = %c0 to %c4194304 step %c16 {
    %v = vector.load %x[%j] : memref<4194304xf32>, vector<16xf32>
    vector.store %v, %out[%j] {alignment = 64 : i64, nontemporal = true} : memref<4194304xf32>, vector<16xf32>
  }
  return
}
func.func private @columns(%x: memref<4096x4096xf32>, %out: memref<4096x4096xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c4096 = arith.constant 4096 : index
  scf.forall (%i) = (0) to (4096) step (16) {
    scf.for %j = %c0 to %c4096 step %c16 {
      %v = vector.load %x[%j, %i] : memref<4096x4096xf32>, vector<16xf32>
      vector.store %v, %out[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<4096x4096xf32>, vector<16xf32>
    }
  }
  return
}
func.func private @twice_as_fast(%x: memref<8388608xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c4194304 = arith.constant 4194304 : index
  scf.for %j = %c0 to %c4194304 step %c16 {
    %at = arith.muli %j, %c2 : index
    %v = vector.load %x[%at] : memref<8388608xf32>, vector<16xf32>
    vector.store %v, %out[%j] {alignment = 64 : i64, nontemporal = true} : memref<4194304xf32>, vector<16xf32>
  }
  return
}
