// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// The weights of all tasks have 1.2 MB: at each step over four channels a row of the result asks for what the next
// task reads of one of them, row h of channel h mod 4. The last task asks for its own again.
// CHECK-LABEL: @conv
// CHECK: scf.forall (%[[TASK:.*]]) in (8)
// CHECK: scf.for %[[H:.*]] = %c0 to %c7 step %c1
// CHECK: scf.for %[[KH:.*]] = %c0 to %c3 step %c1
// CHECK: scf.for %[[CI:.*]] = %c0 to %c192 step %c4
// CHECK: %[[TURN:.*]] = arith.remui %[[H]], %c4
// CHECK: %[[NEXT:.*]] = arith.addi %[[TASK]], %c1
// CHECK: %[[OR_LAST:.*]] = arith.minsi %[[NEXT]], %c7
// CHECK: %[[CHANNEL:.*]] = arith.addi %[[CI]], %[[TURN]]
// CHECK: memref.prefetch %arg1[%[[OR_LAST]], %[[KH]], %[[CHANNEL]], %c0], read, locality<2>, data
// CHECK: memref.prefetch %arg1[%[[OR_LAST]], %[[KH]], %[[CHANNEL]], %c16], read, locality<2>, data
// CHECK: memref.prefetch %arg1[%[[OR_LAST]], %[[KH]], %[[CHANNEL]], %c32], read, locality<2>, data
// CHECK: memref.prefetch %arg1[%[[OR_LAST]], %[[KH]], %[[CHANNEL]], %c48], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.fma
func.func @conv(%x: memref<192x9x7xf32>, %w: memref<8x3x192x64xf32>, %out: memref<8x64x7x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x64x7x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c192 = arith.constant 192 : index
  scf.forall (%t) in (8) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x64x7x7xf32>) {
      %channels = scf.for %ci = %c0 to %c192 step %c4 iter_args(%c = %a) -> (vector<1x64x7x7xf32>) {
        %p = vector.transfer_read %x[%ci, %kh, %c0], %zero {in_bounds = [true, true, true]} : memref<192x9x7xf32>, vector<4x7x7xf32>
        %f = vector.transfer_read %w[%t, %kh, %ci, %c0], %zero {in_bounds = [true, true, true, true]} : memref<8x3x192x64xf32>, vector<1x1x4x64xf32>
        %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<1x4x64xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
            iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x7x7xf32>, vector<1x4x64xf32> into vector<1x64x7x7xf32>
        scf.yield %s : vector<1x64x7x7xf32>
      }
      scf.yield %channels : vector<1x64x7x7xf32>
    }
    vector.transfer_write %sum, %out[%t, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x64x7x7xf32>, memref<8x64x7x7xf32>
  }
  return
}

// Less than 1 MB stays in the cache.
// CHECK-LABEL: @few_weights
// CHECK-NOT: memref.prefetch
func.func @few_weights(%x: memref<64x9x7xf32>, %w: memref<8x3x64x64xf32>, %out: memref<8x64x7x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x64x7x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.forall (%t) in (8) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x64x7x7xf32>) {
      %channels = scf.for %ci = %c0 to %c64 step %c4 iter_args(%c = %a) -> (vector<1x64x7x7xf32>) {
        %p = vector.transfer_read %x[%ci, %kh, %c0], %zero {in_bounds = [true, true, true]} : memref<64x9x7xf32>, vector<4x7x7xf32>
        %f = vector.transfer_read %w[%t, %kh, %ci, %c0], %zero {in_bounds = [true, true, true, true]} : memref<8x3x64x64xf32>, vector<1x1x4x64xf32>
        %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<1x4x64xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
            iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x7x7xf32>, vector<1x4x64xf32> into vector<1x64x7x7xf32>
        scf.yield %s : vector<1x64x7x7xf32>
      }
      scf.yield %channels : vector<1x64x7x7xf32>
    }
    vector.transfer_write %sum, %out[%t, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x64x7x7xf32>, memref<8x64x7x7xf32>
  }
  return
}
