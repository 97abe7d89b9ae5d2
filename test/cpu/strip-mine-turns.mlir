// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// The weights of a task have 541 KB, so that L2 has no room for the next ones: all rows take a turn of %kh, whose sums
// are in a buffer, before the next. What is asked for is what this task multiplies by in the next turn; in the last
// one, the next task in its first.
// CHECK-LABEL: @conv
// CHECK: scf.forall (%[[TASK:.*]]) in (8)
// CHECK: %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x7x7x64xf32>
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c7 step %c1 {
// CHECK-NEXT: vector.store %{{.*}}, %[[SUMS]][%c0, %[[ROW]], %c0, %c0]
// CHECK: scf.for %[[KH:.*]] = %c0 to %c3 step %c1 {
// CHECK: %[[END:.*]] = arith.addi %[[KH]], %c1
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c7 step %c1 {
// CHECK-NEXT: vector.load %[[SUMS]][%c0, %[[ROW]], %c0, %c0]
// CHECK: %[[BEFORE:.*]] = arith.subi %c1, %[[ROW]]
// CHECK: arith.maxsi %[[KH]], %[[BEFORE]]
// CHECK: %[[AGAIN:.*]] = arith.minsi %{{.*}}, %c7
// CHECK: %[[LATER:.*]] = arith.addi %{{.*}}, %{{.*}}
// CHECK: %[[BEYOND:.*]] = arith.cmpi sge, %[[LATER]], %c3
// CHECK: %[[NEXT:.*]] = arith.select %[[BEYOND]], %[[AGAIN]], %[[TASK]]
// CHECK: %[[FIRST:.*]] = arith.subi %[[LATER]], %c3
// CHECK: %[[TURN:.*]] = arith.select %[[BEYOND]], %[[FIRST]], %[[LATER]]
// CHECK: memref.prefetch %arg1[%[[NEXT]], %[[TURN]],
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[SUMS]]
// What comes of the padding's zeros, which the first row and the last one read, is looked for where a sum is not finite.
// CHECK: %[[ODD:.*]] = scf.for %{{.*}} = %c0 to %c7 step %c1 iter_args(%{{.*}} = %false) -> (i1)
// CHECK: vector.reduction <or>
// CHECK: scf.if %[[ODD]] {
// CHECK: scf.for %
// CHECK: arith.ori
// CHECK: vector.store %{{.*}}, %[[SUMS]]
// CHECK: return
func.func @conv(%x: memref<704x7x7xf32>, %w: memref<8x3x704x64xf32>, %out: memref<8x64x7x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x64x7x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %channels = arith.constant 704 : index
  scf.forall (%t) in (8) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x64x7x7xf32>) {
      %part = scf.for %ci = %c0 to %channels step %c4 iter_args(%c = %a) -> (vector<1x64x7x7xf32>) {
        %h = affine.apply affine_map<(d0) -> (d0 - 1)>(%kh)
        %p = vector.transfer_read %x[%ci, %h, %c0], %zero {in_bounds = [true, false, true]} : memref<704x7x7xf32>, vector<4x7x7xf32>
        %f = vector.transfer_read %w[%t, %kh, %ci, %c0], %zero {in_bounds = [true, true, true, true]} : memref<8x3x704x64xf32>, vector<1x1x4x64xf32>
        %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<1x4x64xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
            iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x7x7xf32>, vector<1x4x64xf32> into vector<1x64x7x7xf32>
        scf.yield %s : vector<1x64x7x7xf32>
      }
      scf.yield %part : vector<1x64x7x7xf32>
    }
    vector.transfer_write %sum, %out[%t, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x64x7x7xf32>, memref<8x64x7x7xf32>
  }
  return
}

// Of the three rows of the padded result, another one reads the row of the input in each turn.
// CHECK-LABEL: @one_row_for_each_turn
// CHECK-NOT: arith.ori
// CHECK: vector.fma
// CHECK: iter_args(%{{.*}} = %false) -> (i1)
func.func @one_row_for_each_turn(%x: memref<704x1x7xf32>, %w: memref<8x3x704x64xf32>, %out: memref<8x64x3x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x64x3x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %channels = arith.constant 704 : index
  scf.forall (%t) in (8) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x64x3x7xf32>) {
      %part = scf.for %ci = %c0 to %channels step %c4 iter_args(%c = %a) -> (vector<1x64x3x7xf32>) {
        %h = affine.apply affine_map<(d0) -> (d0 - 2)>(%kh)
        %p = vector.transfer_read %x[%ci, %h, %c0], %zero {in_bounds = [true, false, true]} : memref<704x1x7xf32>, vector<4x3x7xf32>
        %f = vector.transfer_read %w[%t, %kh, %ci, %c0], %zero {in_bounds = [true, true, true, true]} : memref<8x3x704x64xf32>, vector<1x1x4x64xf32>
        %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<1x4x64xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
            iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x3x7xf32>, vector<1x4x64xf32> into vector<1x64x3x7xf32>
        scf.yield %s : vector<1x64x3x7xf32>
      }
      scf.yield %part : vector<1x64x3x7xf32>
    }
    vector.transfer_write %sum, %out[%t, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x64x3x7xf32>, memref<8x64x3x7xf32>
  }
  return
}

// In the first turn all rows lie in the padding: no sum is multiplied for its weights, which are read for it first.
// CHECK-LABEL: @rows_of_padding
// CHECK: arith.ori
// CHECK: memref.prefetch
// CHECK: vector.fma
// CHECK: iter_args(%{{.*}} = %false) -> (i1)
func.func @rows_of_padding(%x: memref<704x7x7xf32>, %w: memref<8x3x704x64xf32>, %out: memref<8x64x3x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x64x3x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %channels = arith.constant 704 : index
  scf.forall (%t) in (8) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x64x3x7xf32>) {
      %part = scf.for %ci = %c0 to %channels step %c4 iter_args(%c = %a) -> (vector<1x64x3x7xf32>) {
        %h = affine.apply affine_map<(d0) -> (d0 - 3)>(%kh)
        %p = vector.transfer_read %x[%ci, %h, %c0], %zero {in_bounds = [true, false, true]} : memref<704x7x7xf32>, vector<4x3x7xf32>
        %f = vector.transfer_read %w[%t, %kh, %ci, %c0], %zero {in_bounds = [true, true, true, true]} : memref<8x3x704x64xf32>, vector<1x1x4x64xf32>
        %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<1x4x64xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
            iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x3x7xf32>, vector<1x4x64xf32> into vector<1x64x3x7xf32>
        scf.yield %s : vector<1x64x3x7xf32>
      }
      scf.yield %part : vector<1x64x3x7xf32>
    }
    vector.transfer_write %sum, %out[%t, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x64x3x7xf32>, memref<8x64x3x7xf32>
  }
  return
}

// CHECK-LABEL: @without_padding
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<1x7x7x64xf32>
// CHECK: vector.fma
// CHECK-NOT: scf.if
// CHECK: return
func.func @without_padding(%x: memref<704x9x7xf32>, %w: memref<8x3x704x64xf32>, %out: memref<8x64x7x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x64x7x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %channels = arith.constant 704 : index
  scf.forall (%t) in (8) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x64x7x7xf32>) {
      %part = scf.for %ci = %c0 to %channels step %c4 iter_args(%c = %a) -> (vector<1x64x7x7xf32>) {
        %h = affine.apply affine_map<(d0) -> (d0 - 0)>(%kh)
        %p = vector.transfer_read %x[%ci, %h, %c0], %zero {in_bounds = [true, true, true]} : memref<704x9x7xf32>, vector<4x7x7xf32>
        %f = vector.transfer_read %w[%t, %kh, %ci, %c0], %zero {in_bounds = [true, true, true, true]} : memref<8x3x704x64xf32>, vector<1x1x4x64xf32>
        %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<1x4x64xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
            iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x7x7xf32>, vector<1x4x64xf32> into vector<1x64x7x7xf32>
        scf.yield %s : vector<1x64x7x7xf32>
      }
      scf.yield %part : vector<1x64x7x7xf32>
    }
    vector.transfer_write %sum, %out[%t, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x64x7x7xf32>, memref<8x64x7x7xf32>
  }
  return
}

// Up to 512 KB leave L2 room for the next ones.
// CHECK-LABEL: @held_by_the_cache
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @held_by_the_cache(%x: memref<680x7x7xf32>, %w: memref<8x3x680x64xf32>, %out: memref<8x64x7x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x64x7x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %channels = arith.constant 680 : index
  scf.forall (%t) in (8) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x64x7x7xf32>) {
      %part = scf.for %ci = %c0 to %channels step %c4 iter_args(%c = %a) -> (vector<1x64x7x7xf32>) {
        %h = affine.apply affine_map<(d0) -> (d0 - 1)>(%kh)
        %p = vector.transfer_read %x[%ci, %h, %c0], %zero {in_bounds = [true, false, true]} : memref<680x7x7xf32>, vector<4x7x7xf32>
        %f = vector.transfer_read %w[%t, %kh, %ci, %c0], %zero {in_bounds = [true, true, true, true]} : memref<8x3x680x64xf32>, vector<1x1x4x64xf32>
        %g = vector.shape_cast %f : vector<1x1x4x64xf32> to vector<1x4x64xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
            iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x7x7xf32>, vector<1x4x64xf32> into vector<1x64x7x7xf32>
        scf.yield %s : vector<1x64x7x7xf32>
      }
      scf.yield %part : vector<1x64x7x7xf32>
    }
    vector.transfer_write %sum, %out[%t, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x64x7x7xf32>, memref<8x64x7x7xf32>
  }
  return
}
