// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-chunk-rows{thread-elements=2})' | FileCheck %s

// A row that fits stays as it is.
// CHECK-LABEL: @short
// CHECK-NOT: scf.for %
// CHECK: vector<256xf32>
func.func private @short(%x: memref<256xf32>, %out: memref<256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (1) step (1) {
    %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<256xf32>, vector<256xf32>
    vector.transfer_write %v, %out[%c0] {in_bounds = [true]} : vector<256xf32>, memref<256xf32>
  } {mlopt.schedule = {tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}

// A loop carries the whole row.
// CHECK-LABEL: @carried
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<1000xf32>)
func.func private @carried(%x: memref<4x1000xf32>, %out: memref<1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1000xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %s = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (vector<1000xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [true]} : memref<4x1000xf32>, vector<1000xf32>
      %t = arith.addf %acc, %v : vector<1000xf32>
      scf.yield %t : vector<1000xf32>
    }
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<1000xf32>, memref<1000xf32>
  } {mlopt.schedule = {tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}
