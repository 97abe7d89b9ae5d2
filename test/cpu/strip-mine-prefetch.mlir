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

// Rows of 1.2 MB of weights become lanes. 128 columns of 64 rows are turned into a panel; what it is filled from
// next, the next 128 columns, or after the last of them the first ones of the next 64 rows, is asked for by the 32
// tiles of four rows: two of the 64 rows each, in the two steps of eight columns along a line.
// CHECK-LABEL: @turned
// CHECK-SAME: %[[W:[^:]*]]: memref<768x384xf32>
// CHECK: scf.forall (%[[TASK:.*]]) = (0) to (768) step (64)
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c384 step %c128
// CHECK: %[[NEXT:.*]] = arith.addi %[[BLOCK]], %c128
// CHECK: %[[END:.*]] = arith.minsi %[[NEXT]], %c384
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c128 step %c4
// CHECK: scf.for %[[K:.*]] = %[[BLOCK]] to %[[END]] step %c8
// CHECK: %[[AT:.*]] = arith.subi %[[K]], %[[BLOCK]]
// CHECK: %[[STEP:.*]] = arith.divui %[[AT]], %c8
// CHECK: %[[TURN:.*]] = arith.remui %[[STEP]], %c2
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[END]], %c384
// CHECK: %[[MORE:.*]] = arith.select %[[LAST]], %c64, %c0
// CHECK: %[[FIRST:.*]] = arith.addi %[[TASK]], %[[MORE]]
// CHECK: %[[AHEAD:.*]] = arith.addi %[[K]], %c128
// CHECK: %[[THERE:.*]] = arith.select %[[LAST]], %[[AT]], %[[AHEAD]]
// CHECK: %[[COLUMN:.*]] = arith.minsi %[[THERE]], %c383
// CHECK: %[[TIMES:.*]] = arith.muli %[[ROW]], %c64
// CHECK: %[[SHARE:.*]] = arith.divui %[[TIMES]], %c128
// CHECK: %[[MINE:.*]] = arith.addi %[[FIRST]], %[[SHARE]]
// CHECK: %[[LINE:.*]] = arith.addi %[[MINE]], %[[TURN]]
// CHECK: %[[INSIDE:.*]] = arith.minsi %[[LINE]], %c767
// CHECK: memref.prefetch %[[W]][%[[INSIDE]], %[[COLUMN]]], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.fma
func.func @turned(%w: memref<768x384xf32>, %x: memref<128x384xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<128x64xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c384 = arith.constant 384 : index
  scf.forall (%n) = (0) to (768) step (64) {
    %r = scf.for %k = %c0 to %c384 step %c8 iter_args(%a = %none) -> (vector<128x64xf32>) {
      %p = vector.transfer_read %x[%c0, %k], %zero {in_bounds = [true, true]} : memref<128x384xf32>, vector<128x8xf32>
      %f = vector.transfer_read %w[%n, %k], %zero {in_bounds = [true, true]} : memref<768x384xf32>, vector<64x8xf32>
      %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %f, %a : vector<128x8xf32>, vector<64x8xf32> into vector<128x64xf32>
      scf.yield %s : vector<128x64xf32>
    }
    vector.transfer_write %r, %out[%c0, %n] {in_bounds = [true, true]} : vector<128x64xf32>, memref<128x768xf32>
  }
  return
}

// Rows of 1 KB, 1 MB of them, by a panel. While six rows are multiplied, the next six are asked for: three of them in
// each of the two steps along a line. Before that, the lines that these six are stored to.
// CHECK-LABEL: @rows
// CHECK-SAME: %[[X:[^:]*]]: memref<1024x256xf32>, %{{.*}}: memref<256x256xf32>, %[[OUT:[^:]*]]: memref<1024x256xf32>
// CHECK: scf.forall (%[[LANES:.*]]) = (0) to (256) step (64)
// CHECK: scf.for %[[AT:.*]] = %c0 to %c1024 step %c6
// CHECK: %[[ROW:.*]] = arith.minsi %[[AT]], %c1018
// CHECK: memref.prefetch %[[OUT]][%[[ROW]], %[[LANES]]], write, locality<3>, data
// CHECK-COUNT-23: memref.prefetch %[[OUT]][{{.*}}], write, locality<3>, data
// CHECK-NOT: memref.prefetch
// CHECK: scf.for %[[K:.*]] = %c0 to %c256 step %c8
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]], %c6
// CHECK: %[[STEP:.*]] = arith.divui %[[K]], %c8
// CHECK: %[[TURN:.*]] = arith.remui %[[STEP]], %c2
// CHECK: %[[SHARE:.*]] = arith.muli %[[TURN]], %c3
// CHECK: %[[FIRST:.*]] = arith.addi %[[NEXT]], %[[SHARE]]
// CHECK: %[[INSIDE:.*]] = arith.minsi %[[FIRST]], %c1023
// CHECK: memref.prefetch %[[X]][%[[INSIDE]], %[[K]]], read, locality<2>, data
// CHECK-COUNT-2: memref.prefetch %[[X]][{{.*}}, %[[K]]], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.fma
func.func @rows(%x: memref<1024x256xf32>, %w: memref<256x256xf32>, %out: memref<1024x256xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1024x64xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c256 = arith.constant 256 : index
  scf.forall (%n) = (0) to (256) step (64) {
    %r = scf.for %k = %c0 to %c256 step %c8 iter_args(%a = %none) -> (vector<1024x64xf32>) {
      %p = vector.transfer_read %x[%c0, %k], %zero {in_bounds = [true, true]} : memref<1024x256xf32>, vector<1024x8xf32>
      %f = vector.transfer_read %w[%k, %n], %zero {in_bounds = [true, true]} : memref<256x256xf32>, vector<8x64xf32>
      %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %f, %a : vector<1024x8xf32>, vector<8x64xf32> into vector<1024x64xf32>
      scf.yield %s : vector<1024x64xf32>
    }
    vector.transfer_write %r, %out[%c0, %n] {in_bounds = [true, true]} : vector<1024x64xf32>, memref<1024x256xf32>
  }
  return
}

// L2 holds half as many rows, and what is made of them.
// CHECK-LABEL: @few_rows
// CHECK: scf.for {{.*}} = %c0 to %c512 step
// CHECK-NOT: memref.prefetch
// CHECK: vector.fma
func.func @few_rows(%x: memref<512x256xf32>, %w: memref<256x256xf32>, %out: memref<512x256xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<512x64xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c256 = arith.constant 256 : index
  scf.forall (%n) = (0) to (256) step (64) {
    %r = scf.for %k = %c0 to %c256 step %c8 iter_args(%a = %none) -> (vector<512x64xf32>) {
      %p = vector.transfer_read %x[%c0, %k], %zero {in_bounds = [true, true]} : memref<512x256xf32>, vector<512x8xf32>
      %f = vector.transfer_read %w[%k, %n], %zero {in_bounds = [true, true]} : memref<256x256xf32>, vector<8x64xf32>
      %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %f, %a : vector<512x8xf32>, vector<8x64xf32> into vector<512x64xf32>
      scf.yield %s : vector<512x64xf32>
    }
    vector.transfer_write %r, %out[%c0, %n] {in_bounds = [true, true]} : vector<512x64xf32>, memref<512x256xf32>
  }
  return
}
