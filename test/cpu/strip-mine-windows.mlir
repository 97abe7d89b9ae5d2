// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// What comes of padding, zeros or NaN, is made for one position: of a row h it is added first, for those kh for which
// it lies outside. Then rows h + kh - 1 of 7 are read for kh from max(0, 1 - h) to min(3, 8 - h): 6 columns, 7, and 6.
// Nothing is tested. The other columns' sums are finite unless a weight is infinite or NaN: only then is
// the first column's padding (kw = 0) made, and the last one's (kw = 2).
// CHECK-LABEL: @conv
// CHECK-NOT: arith.cmpi
// CHECK: scf.for %[[H:.*]] = %c0 to %c7 step %c1
// CHECK: %[[BEFORE:.*]] = arith.subi %c1, %[[H]]
// CHECK: %[[AFTER:.*]] = arith.subi %c8, %[[H]]
// CHECK: %[[LATER:.*]] = arith.maxsi %[[BEFORE]], %c0
// CHECK: %[[BEGIN:.*]] = arith.minsi %[[LATER]], %c3
// CHECK: %[[SOONER:.*]] = arith.minsi %[[AFTER]], %c3
// CHECK: %[[END:.*]] = arith.maxsi %[[SOONER]], %[[BEGIN]]
// CHECK: %[[ABOVE:.*]] = scf.for %{{.*}} = %c0 to %[[BEGIN]] step %c1
// CHECK: %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %cst : vector<32xf32>
// CHECK: %[[BITS:.*]] = arith.bitcast %[[PRODUCT]]
// CHECK: arith.ori %{{.*}}, %[[BITS]]
// CHECK: %[[ROWS:.*]] = scf.for %{{.*}} = %[[END]] to %c3 step %c1 iter_args(%{{.*}} = %[[ABOVE]])
// CHECK: %[[START:.*]] = arith.addf %[[ROWS]], %cst
// CHECK: %[[SUMS:.*]]:7 = scf.for %[[KH:.*]] = %[[BEGIN]] to %[[END]] step %c1 iter_args(%[[SUM:[^ ]*]] = %[[START]],
// CHECK: %[[SIX:.*]]:6 = scf.for %{{.*}} = %c0 to %c16 step %c4
// CHECK-COUNT-24: vector.fma
// CHECK: %[[SEVEN:.*]]:7 = scf.for %{{.*}} = %c0 to %c16 step %c4 iter_args(%{{.*}} = %[[SUM]], %{{.*}} = %[[SIX]]#0,
// CHECK-COUNT-28: vector.fma
// CHECK: %{{.*}}:6 = scf.for %{{.*}} = %c0 to %c16 step %c4 iter_args(%{{.*}} = %[[SEVEN]]#0,
// CHECK-COUNT-24: vector.fma
// CHECK-NOT: vector.fma
// CHECK: arith.mulf %[[SUMS]]#0, %cst
// CHECK: %[[NANS:.*]] = arith.cmpf uno, %[[PRODUCTS:.*]], %[[PRODUCTS]] : vector<32xf32>
// CHECK: %[[ODD:.*]] = vector.reduction <or>, %[[NANS]]
// CHECK: %[[RESULT:.*]]:2 = scf.if %[[ODD]]
// CHECK: %[[FIRST_COLUMN:.*]] = scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK: vector.load %{{.*}}[%{{.*}}, %c0, %{{.*}}, %{{.*}}] : memref<3x3x16x64xf32>
// CHECK: %[[FIRST:.*]] = arith.addf %[[SUMS]]#0, %[[FIRST_COLUMN]]
// CHECK: %[[LAST_COLUMN:.*]] = scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK: vector.load %{{.*}}[%{{.*}}, %c2, %{{.*}}, %{{.*}}] : memref<3x3x16x64xf32>
// CHECK: %[[LAST:.*]] = arith.addf %[[SUMS]]#6, %[[LAST_COLUMN]]
// CHECK: scf.yield %[[FIRST]], %[[LAST]]
// CHECK: else
// CHECK: scf.yield %[[SUMS]]#0, %[[SUMS]]#6
// CHECK: vector.shuffle %[[RESULT]]#0
// CHECK: return
func.func @conv(%x: memref<16x7x7xf32>, %w: memref<3x3x16x64xf32>, %out: memref<64x7x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<64x7x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.forall (%t) in (1) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<64x7x7xf32>) {
      %row = scf.for %kw = %c0 to %c3 step %c1 iter_args(%b = %a) -> (vector<64x7x7xf32>) {
        %channels = scf.for %ci = %c0 to %c16 step %c4 iter_args(%c = %b) -> (vector<64x7x7xf32>) {
          %i = affine.apply affine_map<(d0) -> (d0 - 1)>(%kh)
          %j = affine.apply affine_map<(d0) -> (d0 - 1)>(%kw)
          %p = vector.transfer_read %x[%ci, %i, %j], %zero {in_bounds = [true, false, false]} : memref<16x7x7xf32>, vector<4x7x7xf32>
          %f = vector.transfer_read %w[%kh, %kw, %ci, %c0], %zero {in_bounds = [true, true, true, true]} : memref<3x3x16x64xf32>, vector<1x1x4x64xf32>
          %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<4x64xf32>
          %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>],
              iterator_types = ["parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x7x7xf32>, vector<4x64xf32> into vector<64x7x7xf32>
          scf.yield %s : vector<64x7x7xf32>
        }
        scf.yield %channels : vector<64x7x7xf32>
      }
      scf.yield %row : vector<64x7x7xf32>
    }
    vector.transfer_write %sum, %out[%c0, %c0, %c0] {in_bounds = [true, true, true]} : vector<64x7x7xf32>, memref<64x7x7xf32>
  }
  return
}

// Padding that is not zero is part of the sum.
// CHECK-LABEL: @padded_by_one
// CHECK-NOT: arith.maxsi
// CHECK: vector.fma
func.func @padded_by_one(%x: memref<16x7x7xf32>, %w: memref<3x16x64xf32>, %out: memref<64x7x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %none = arith.constant dense<0.0> : vector<64x7x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.forall (%t) in (1) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<64x7x7xf32>) {
      %channels = scf.for %ci = %c0 to %c16 step %c4 iter_args(%c = %a) -> (vector<64x7x7xf32>) {
        %i = affine.apply affine_map<(d0) -> (d0 - 1)>(%kh)
        %p = vector.transfer_read %x[%ci, %i, %c0], %one {in_bounds = [true, false, true]} : memref<16x7x7xf32>, vector<4x7x7xf32>
        %f = vector.transfer_read %w[%kh, %ci, %c0], %zero {in_bounds = [true, true, true]} : memref<3x16x64xf32>, vector<1x4x64xf32>
        %g = vector.shape_cast %f : vector<1x4x64xf32> to vector<4x64xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>],
            iterator_types = ["parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x7x7xf32>, vector<4x64xf32> into vector<64x7x7xf32>
        scf.yield %s : vector<64x7x7xf32>
      }
      scf.yield %channels : vector<64x7x7xf32>
    }
    vector.transfer_write %sum, %out[%c0, %c0, %c0] {in_bounds = [true, true, true]} : vector<64x7x7xf32>, memref<64x7x7xf32>
  }
  return
}

// With a stride of 2 row h + (kh + 1) floordiv 2 - 1 lies above the others for h = 0 and kh = 0 alone. Of 16 columns
// the first strip of 4 is apart: its first column is padding for kw = 0. No other strip has a test for where it reads.
// CHECK-LABEL: @strided
// CHECK-NOT: arith.cmpi
// CHECK: scf.for %[[H:.*]] = %c0 to %c8 step %c1
// CHECK: %[[UP:.*]] = arith.subi %c1, %[[H]]
// CHECK: %[[TURNS:.*]] = arith.muli %[[UP]], %c2
// CHECK: arith.subi %[[TURNS]], %c1
// CHECK-COUNT-12: vector.fma
// CHECK: scf.for %{{.*}} = %c1 to %c3 step %c1
// CHECK-COUNT-16: vector.fma
// CHECK: scf.for %{{.*}} = %c4 to %c16 step %c4
// CHECK-NOT: arith.select
// CHECK-COUNT-16: vector.fma
// CHECK-NOT: vector.fma
// CHECK: return
func.func @strided(%x: memref<4x8x2x16x2xf32>, %w: memref<3x3x4x64xf32>, %out: memref<64x8x16xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<64x8x16xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.forall (%t) in (1) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<64x8x16xf32>) {
      %row = scf.for %kw = %c0 to %c3 step %c1 iter_args(%b = %a) -> (vector<64x8x16xf32>) {
        %i = affine.apply affine_map<(d0) -> ((d0 + 1) floordiv 2 - 1)>(%kh)
        %ii = affine.apply affine_map<(d0) -> (d0 - ((d0 + 1) floordiv 2) * 2 + 1)>(%kh)
        %j = affine.apply affine_map<(d0) -> ((d0 + 1) floordiv 2 - 1)>(%kw)
        %jj = affine.apply affine_map<(d0) -> (d0 - ((d0 + 1) floordiv 2) * 2 + 1)>(%kw)
        %r = vector.transfer_read %x[%c0, %i, %ii, %j, %jj], %zero {in_bounds = [true, false, true, false, true]} : memref<4x8x2x16x2xf32>, vector<4x8x1x16x1xf32>
        %p = vector.shape_cast %r : vector<4x8x1x16x1xf32> to vector<4x8x16xf32>
        %f = vector.transfer_read %w[%kh, %kw, %c0, %c0], %zero {in_bounds = [true, true, true, true]} : memref<3x3x4x64xf32>, vector<1x1x4x64xf32>
        %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<4x64xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>],
            iterator_types = ["parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %b : vector<4x8x16xf32>, vector<4x64xf32> into vector<64x8x16xf32>
        scf.yield %s : vector<64x8x16xf32>
      }
      scf.yield %row : vector<64x8x16xf32>
    }
    vector.transfer_write %sum, %out[%c0, %c0, %c0] {in_bounds = [true, true, true]} : vector<64x8x16xf32>, memref<64x8x16xf32>
  }
  return
}

// 64 channels by 3x3 of 32 channels, 73 KB, come from L2 for each tile of registers: 14 columns share them, and
// what is added to the sums is read in rows of 14 and turned.
// CHECK-LABEL: @tall
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c4 iter_args({{.*}}) -> (vector<32xf32>
// CHECK-COUNT-56: vector.fma
// CHECK-NOT: vector.fma
// CHECK: %[[MASK:.*]] = vector.constant_mask [14] : vector<16xi1>
// CHECK-COUNT-32: vector.maskedload %{{.*}}[%{{.*}}], %[[MASK]]
// CHECK: return
func.func @tall(%x: memref<32x9x30xf32>, %w: memref<3x3x32x64xf32>, %y: memref<64x7x28xf32>, %out: memref<64x7x28xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<64x1x28xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  scf.forall (%h) in (7) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<64x1x28xf32>) {
      %row = scf.for %kw = %c0 to %c3 step %c1 iter_args(%b = %a) -> (vector<64x1x28xf32>) {
        %channels = scf.for %ci = %c0 to %c32 step %c4 iter_args(%c = %b) -> (vector<64x1x28xf32>) {
          %i = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%h, %kh)
          %p = vector.transfer_read %x[%ci, %i, %kw], %zero {in_bounds = [true, true, true]} : memref<32x9x30xf32>, vector<4x1x28xf32>
          %f = vector.transfer_read %w[%kh, %kw, %ci, %c0], %zero {in_bounds = [true, true, true, true]} : memref<3x3x32x64xf32>, vector<1x1x4x64xf32>
          %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<4x64xf32>
          %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>],
              iterator_types = ["parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x1x28xf32>, vector<4x64xf32> into vector<64x1x28xf32>
          scf.yield %s : vector<64x1x28xf32>
        }
        scf.yield %channels : vector<64x1x28xf32>
      }
      scf.yield %row : vector<64x1x28xf32>
    }
    %r = vector.transfer_read %y[%c0, %h, %c0], %zero {in_bounds = [true, true, true]} : memref<64x7x28xf32>, vector<64x1x28xf32>
    %more = arith.addf %sum, %r : vector<64x1x28xf32>
    vector.transfer_write %more, %out[%c0, %h, %c0] {in_bounds = [true, true, true]} : vector<64x1x28xf32>, memref<64x7x28xf32>
  }
  return
}

// Products of integers with padding are zeros: there is nothing to add.
// CHECK-LABEL: @integers
// CHECK-NOT: arith.ori
// CHECK: scf.for %{{.*}} = %c0 to %c7 step %c1
// CHECK: arith.maxsi
// CHECK-NOT: arith.select
// CHECK: return
func.func @integers(%x: memref<16x7x7xi32>, %w: memref<3x16x64xi32>, %out: memref<64x7x7xi32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0 : i32
  %none = arith.constant dense<0> : vector<64x7x7xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.forall (%t) in (1) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<64x7x7xi32>) {
      %channels = scf.for %ci = %c0 to %c16 step %c4 iter_args(%c = %a) -> (vector<64x7x7xi32>) {
        %i = affine.apply affine_map<(d0) -> (d0 - 1)>(%kh)
        %p = vector.transfer_read %x[%ci, %i, %c0], %zero {in_bounds = [true, false, true]} : memref<16x7x7xi32>, vector<4x7x7xi32>
        %f = vector.transfer_read %w[%kh, %ci, %c0], %zero {in_bounds = [true, true, true]} : memref<3x16x64xi32>, vector<1x4x64xi32>
        %g = vector.shape_cast %f : vector<1x4x64xi32> to vector<4x64xi32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>],
            iterator_types = ["parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x7x7xi32>, vector<4x64xi32> into vector<64x7x7xi32>
        scf.yield %s : vector<64x7x7xi32>
      }
      scf.yield %channels : vector<64x7x7xi32>
    }
    vector.transfer_write %sum, %out[%c0, %c0, %c0] {in_bounds = [true, true, true]} : vector<64x7x7xi32>, memref<64x7x7xi32>
  }
  return
}
