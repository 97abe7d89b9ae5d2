// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-prefetch-streams)' | FileCheck %s

// What is read 4 KB later, at most the last full strip: each of its lines. What is left over has no prefetch.
// CHECK-LABEL: func.func private @chain
// CHECK: scf.for %
// CHECK:   %[[AT:.*]] = arith.addi
// CHECK:   %[[LATER:.*]] = arith.addi %[[AT]], %c1024
// CHECK:   %[[AHEAD:.*]] = arith.minsi %[[LATER]], %c4194272
// CHECK:   memref.prefetch %arg0[%[[AHEAD]]], read, locality<3>, data
// CHECK:   %[[LINE:.*]] = arith.addi %[[AHEAD]], %c16
// CHECK:   memref.prefetch %arg0[%[[LINE]]], read, locality<3>, data
// CHECK-NOT: memref.prefetch
// CHECK:   vector.load %arg0[%[[AT]]]
// CHECK: vector.maskedload
func.func private @chain(%x: memref<4194304xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c8192 = arith.constant 8192 : index
  %some = vector.constant_mask [3] : vector<16xi1>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.forall (%i) = (0) to (4194304) step (8192) {
    scf.for %j = %c0 to %c8192 step %c32 {
      %at = arith.addi %i, %j : index
      %v = vector.load %x[%at] : memref<4194304xf32>, vector<32xf32>
      vector.store %v, %out[%at] {alignment = 64 : i64, nontemporal = true} : memref<4194304xf32>, vector<32xf32>
    }
    %w = vector.maskedload %x[%i], %some, %zero : memref<4194304xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
    vector.maskedstore %out[%i], %some, %w : memref<4194304xf32>, vector<16xi1>, vector<16xf32>
  }
  return
}

// Along rows of 16 KB. What is small, here a bias, is in the caches.
// CHECK-LABEL: func.func private @rows
// CHECK: memref.prefetch %arg0[%{{.*}}, %{{.*}}], read
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func private @rows(%x: memref<4096x4096xf32>, %b: memref<4096xf32>, %out: memref<4096x4096xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c4096 = arith.constant 4096 : index
  scf.forall (%i) in (4096) {
    scf.for %j = %c0 to %c4096 step %c16 {
      %v = vector.load %x[%i, %j] : memref<4096x4096xf32>, vector<16xf32>
      %w = vector.load %b[%j] : memref<4096xf32>, vector<16xf32>
      %y = arith.addf %v, %w : vector<16xf32>
      vector.store %y, %out[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<4096x4096xf32>, vector<16xf32>
    }
  }
  return
}
