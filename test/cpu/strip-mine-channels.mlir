// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' --split-input-file | FileCheck %s

// 24 KB of a window's weights, of which L1 has room for the 104 of 128 channels that 20 KB are: 64, which are half of
// them. All rows take these, with their sums in a buffer, before the others.
// CHECK-LABEL: @conv
// CHECK: %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x7x8x16xf32>
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c128 step %c64 {
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c64
// CHECK: %[[END:.*]] = arith.minsi %[[NEXT]], %c128
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c7 step %c1 {
// CHECK: vector.load %[[SUMS]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c1 iter_args
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c4 iter_args
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[SUMS]]
// CHECK: return
func.func @conv(%x: memref<128x7x7xf32>, %w: memref<8x128x3x16xf32>, %out: memref<8x16x7x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x16x7x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %channels = arith.constant 128 : index
  scf.forall (%t) in (8) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x16x7x7xf32>) {
      %part = scf.for %ci = %c0 to %channels step %c4 iter_args(%c = %a) -> (vector<1x16x7x7xf32>) {
        %h = affine.apply affine_map<(d0) -> (d0 - 1)>(%kh)
        %p = vector.transfer_read %x[%ci, %h, %c0], %zero {in_bounds = [true, false, true]} : memref<128x7x7xf32>, vector<4x7x7xf32>
        %f = vector.transfer_read %w[%t, %ci, %kh, %c0], %zero {in_bounds = [true, true, true, true]} : memref<8x128x3x16xf32>, vector<1x4x1x16xf32>
        %g = vector.shape_cast %f : vector<1x4x1x16xf32> to vector<1x4x16xf32>
        %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
            iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %g, %c : vector<4x7x7xf32>, vector<1x4x16xf32> into vector<1x16x7x7xf32>
        scf.yield %s : vector<1x16x7x7xf32>
      }
      scf.yield %part : vector<1x16x7x7xf32>
    }
    vector.transfer_write %sum, %out[%t, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x16x7x7xf32>, memref<8x16x7x7xf32>
  }
  return
}
