// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stream-alone)' | FileCheck %s

// A function that is not told of threads runs on one.
// CHECK-LABEL: func.func private @row
// CHECK-NOT: scf.if
// CHECK: vector.store %{{.*}}, %arg1[%c0] {alignment = 64 : i64, nontemporal = true} : memref<4194304xf32>
func.func private @row(%x: memref<4194304xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<4194304xf32>, vector<64xf32>
  vector.store %v, %out[%c0] {alignment = 64 : i64, nontemporal = true, mlopt.alone} : memref<4194304xf32>, vector<64xf32>
  return
}

// A store that is not marked is one for any number of threads.
// CHECK-LABEL: func.func private @large
// CHECK-NOT: scf.if
func.func private @large(%x: memref<33554432xf32>, %out: memref<33554432xf32>,
                         %threads: index {mlopt.threads}) attributes {mlopt.kernel} {
  scf.forall (%i) = (0) to (33554432) step (64) {
    %v = vector.load %x[%i] : memref<33554432xf32>, vector<64xf32>
    vector.store %v, %out[%i] {alignment = 64 : i64, nontemporal = true} : memref<33554432xf32>, vector<64xf32>
  }
  return
}
