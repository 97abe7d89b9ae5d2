// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-late-reductions)' | FileCheck %s

// Each step only adds; one reduction follows the loop.
// CHECK-LABEL: @sum
// CHECK: %[[NEUTRAL:.*]] = arith.constant dense<-0.000000e+00> : vector<64x32xf32>
// CHECK: %[[P:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[NEUTRAL]]) -> (vector<64x32xf32>)
// CHECK:   %[[V:.*]] = vector.transfer_read
// CHECK:   %[[T:.*]] = arith.addf %[[ACC]], %[[V]] : vector<64x32xf32>
// CHECK:   scf.yield %[[T]]
// CHECK: %[[S:.*]] = vector.multi_reduction <add>, %[[P]], %{{.*}} [0] : vector<64x32xf32> to vector<32xf32>
// CHECK: vector.transfer_write %[[S]]
func.func private @sum(%x: memref<?x32xf32>, %out: memref<32xf32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %s = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (vector<32xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [false, true]} : memref<?x32xf32>, vector<64x32xf32>
      %t = vector.multi_reduction <add>, %v, %acc [0] : vector<64x32xf32> to vector<32xf32>
      scf.yield %t : vector<32xf32>
    }
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<32xf32>, memref<32xf32>
  }
  return
}

// Loops in loops, to a scalar, of integers; what is carried besides stays.
// CHECK-LABEL: @nested
// CHECK: %[[OUTER:.*]]:2 = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[I:.*]] = %c0) -> (vector<64xi32>, index)
// CHECK:   %[[INNER:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<64xi32>)
// CHECK:     arith.maxsi
// CHECK:   arith.maxsi %[[A]], %[[INNER]]
// CHECK: vector.multi_reduction <maxsi>, %[[OUTER]]#0, %{{.*}} [0] : vector<64xi32> to i32
func.func private @nested(%x: memref<8x?xi32>, %out: memref<1xi32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0 : i32
  scf.forall (%i) = (0) to (1) step (1) {
    %s, %last = scf.for %r = %c0 to %c8 step %c1 iter_args(%a = %pad, %at = %c0) -> (i32, index) {
      %t = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %a) -> (i32) {
        %v = vector.transfer_read %x[%r, %k], %pad {in_bounds = [false]} : memref<8x?xi32>, vector<64xi32>
        %m = vector.multi_reduction <maxsi>, %v, %acc [0] : vector<64xi32> to i32
        scf.yield %m : i32
      }
      scf.yield %t, %r : i32, index
    }
    %w = vector.broadcast %s : i32 to vector<1xi32>
    vector.transfer_write %w, %out[%last] {in_bounds = [true]} : vector<1xi32>, memref<1xi32>
  }
  return
}

// What whole steps leave goes on with their tile; one reduction follows both loops.
// CHECK-LABEL: @rest
// CHECK: %[[WHOLE:.*]] = scf.for {{.*}} -> (vector<64x32xf32>)
// CHECK-NOT: vector.multi_reduction
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[WHOLE]]) -> (vector<64x32xf32>)
// CHECK: vector.multi_reduction <add>, %[[ALL]], %cst{{.*}} [0] : vector<64x32xf32> to vector<32xf32>
// CHECK-NOT: vector.multi_reduction
func.func private @rest(%x: memref<?x32xf32>, %out: memref<32xf32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
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
    %r = scf.for %k = %whole to %n step %c64 iter_args(%acc = %s) -> (vector<32xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [false, true]} : memref<?x32xf32>, vector<64x32xf32>
      %t = vector.multi_reduction <add>, %v, %acc [0] : vector<64x32xf32> to vector<32xf32>
      scf.yield %t : vector<32xf32>
    }
    vector.transfer_write %r, %out[%c0] {in_bounds = [true]} : vector<32xf32>, memref<32xf32>
  }
  return
}

// A total, which comes as a tile without dims: both loops carry what they add up, and a scalar follows.
// CHECK-LABEL: @total
// CHECK: %[[WHOLE:.*]] = scf.for {{.*}} -> (vector<64x32xf32>)
// CHECK-NOT: vector.multi_reduction
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[WHOLE]]) -> (vector<64x32xf32>)
// CHECK: %[[SUM:.*]] = vector.multi_reduction <add>, %[[ALL]], %{{.*}} [0, 1] : vector<64x32xf32> to f32
// CHECK: %[[TILE:.*]] = vector.broadcast %[[SUM]] : f32 to vector<f32>
// CHECK: vector.transfer_write %[[TILE]]
func.func private @total(%x: memref<?x32xf32>, %out: memref<f32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<f32>
  %whole = affine.apply affine_map<(d0) -> ((d0 floordiv 64) * 64)>(%n)
  scf.forall (%i) in (1) {
    %s = scf.for %k = %c0 to %whole step %c64 iter_args(%acc = %zero) -> (vector<f32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [true, true]} : memref<?x32xf32>, vector<64x32xf32>
      %a = vector.extract %acc[] : f32 from vector<f32>
      %t = vector.multi_reduction <add>, %v, %a [0, 1] : vector<64x32xf32> to f32
      %b = vector.broadcast %t : f32 to vector<f32>
      scf.yield %b : vector<f32>
    }
    %r = scf.for %k = %whole to %n step %c64 iter_args(%acc = %s) -> (vector<f32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [false, true]} : memref<?x32xf32>, vector<64x32xf32>
      %a = vector.extract %acc[] : f32 from vector<f32>
      %t = vector.multi_reduction <add>, %v, %a [0, 1] : vector<64x32xf32> to f32
      %b = vector.broadcast %t : f32 to vector<f32>
      scf.yield %b : vector<f32>
    }
    vector.transfer_write %r, %out[] : vector<f32>, memref<f32>
  }
  return
}
