// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' | FileCheck %s

// L1 holds all of 12 KB of weights: sums stay in registers, and rows follow one another.
// CHECK-LABEL: @conv
// CHECK-NOT: memref.alloca
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c4 iter_args
// CHECK: return
func.func @conv(%x: memref<64x7x7xf32>, %w: memref<8x64x3x16xf32>, %out: memref<8x16x7x7xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x16x7x7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %channels = arith.constant 64 : index
  scf.forall (%t) in (8) {
    %sum = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x16x7x7xf32>) {
      %part = scf.for %ci = %c0 to %channels step %c4 iter_args(%c = %a) -> (vector<1x16x7x7xf32>) {
        %h = affine.apply affine_map<(d0) -> (d0 - 1)>(%kh)
        %p = vector.transfer_read %x[%ci, %h, %c0], %zero {in_bounds = [true, false, true]} : memref<64x7x7xf32>, vector<4x7x7xf32>
        %f = vector.transfer_read %w[%t, %ci, %kh, %c0], %zero {in_bounds = [true, true, true, true]} : memref<8x64x3x16xf32>, vector<1x4x1x16xf32>
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
