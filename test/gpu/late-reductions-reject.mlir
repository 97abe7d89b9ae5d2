// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-late-reductions)' | FileCheck %s

// The accumulator is needed in each step: nothing changes.
// CHECK-LABEL: @running
// CHECK: iter_args(%{{.*}} = %{{.*}}) -> (vector<32xf32>)
// CHECK: vector.multi_reduction
// CHECK: scf.yield
// CHECK-NOT: vector.multi_reduction
func.func private @running(%x: memref<?x32xf32>, %out: memref<?x32xf32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %s = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (vector<32xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [false, true]} : memref<?x32xf32>, vector<64x32xf32>
      %t = vector.multi_reduction <add>, %v, %acc [0] : vector<64x32xf32> to vector<32xf32>
      vector.transfer_write %t, %out[%k, %c0] {in_bounds = [true]} : vector<32xf32>, memref<?x32xf32>
      scf.yield %t : vector<32xf32>
    }
  }
  return
}

// What is carried is changed before it is reduced into.
// CHECK-LABEL: @decayed
// CHECK: iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<32xf32>)
// CHECK: %[[HALF:.*]] = arith.mulf %[[ACC]]
// CHECK: vector.multi_reduction <add>, %{{.*}}, %[[HALF]]
func.func private @decayed(%x: memref<?x32xf32>, %out: memref<32xf32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<32xf32>
  %less = arith.constant dense<0.5> : vector<32xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %s = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (vector<32xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [false, true]} : memref<?x32xf32>, vector<64x32xf32>
      %h = arith.mulf %acc, %less : vector<32xf32>
      %t = vector.multi_reduction <add>, %v, %h [0] : vector<64x32xf32> to vector<32xf32>
      scf.yield %t : vector<32xf32>
    }
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<32xf32>, memref<32xf32>
  }
  return
}

// The first sum is written as well, or the second loop has another tile: each has a reduction.
// CHECK-LABEL: @both
// CHECK: vector.multi_reduction
// CHECK: vector.multi_reduction
// CHECK: vector.multi_reduction
func.func private @both(%x: memref<?x32xf32>, %out: memref<3x32xf32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<32xf32>
  %whole = affine.apply affine_map<(d0) -> ((d0 floordiv 64) * 64)>(%n)
  scf.forall (%i) = (0) to (1) step (1) {
    %s = scf.for %k = %c0 to %whole step %c64 iter_args(%acc = %zero) -> (vector<32xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [true, true]} : memref<?x32xf32>, vector<64x32xf32>
      %t = vector.multi_reduction <add>, %v, %acc [0] : vector<64x32xf32> to vector<32xf32>
      scf.yield %t : vector<32xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true]} : vector<32xf32>, memref<3x32xf32>
    %r = scf.for %k = %whole to %n step %c64 iter_args(%acc = %s) -> (vector<32xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [false, true]} : memref<?x32xf32>, vector<64x32xf32>
      %t = vector.multi_reduction <add>, %v, %acc [0] : vector<64x32xf32> to vector<32xf32>
      scf.yield %t : vector<32xf32>
    }
    %q = scf.for %k = %c0 to %n step %c32 iter_args(%acc = %r) -> (vector<32xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [false, true]} : memref<?x32xf32>, vector<32x32xf32>
      %t = vector.multi_reduction <add>, %v, %acc [0] : vector<32x32xf32> to vector<32xf32>
      scf.yield %t : vector<32xf32>
    }
    vector.transfer_write %q, %out[%c1, %c0] {in_bounds = [true]} : vector<32xf32>, memref<3x32xf32>
  }
  return
}
