// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stream-alone)' | FileCheck %s

// The number of threads decides between the two stores; one that is not marked stays.
// CHECK-LABEL: func.func private @chain
// CHECK-SAME: %[[THREADS:[^:]*]]: index {mlopt.threads}
// CHECK: %[[ALONE:.*]] = arith.cmpi eq, %[[THREADS]], %c1
// CHECK: scf.forall
// CHECK:   scf.if %[[ALONE]] {
// CHECK-NEXT: vector.store %{{.*}}, %arg1[%{{.*}}] {alignment = 64 : i64, nontemporal = true} : memref<4194304xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: vector.store %{{.*}}, %arg1[%{{.*}}] : memref<4194304xf32>
// CHECK-NEXT: }
// CHECK:   vector.store %{{.*}}, %arg2[%{{.*}}] {alignment = 64 : i64, nontemporal = true} : memref<33554432xf32>
func.func private @chain(%x: memref<4194304xf32>, %out: memref<4194304xf32>, %large: memref<33554432xf32>,
                         %threads: index {mlopt.threads}) attributes {mlopt.kernel} {
  scf.forall (%i) = (0) to (4194304) step (64) {
    %v = vector.load %x[%i] : memref<4194304xf32>, vector<64xf32>
    vector.store %v, %out[%i] {alignment = 64 : i64, nontemporal = true, mlopt.alone} : memref<4194304xf32>, vector<64xf32>
    vector.store %v, %large[%i] {alignment = 64 : i64, nontemporal = true} : memref<33554432xf32>, vector<64xf32>
  }
  return
}
