// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// Rows h + 2 kh - 2 of 7 lie in memory for kh from the rounded-up half of 2 - h to that of 9 - h. Of 7 columns the
// first turn has 5, the second all, the third 5: nothing is tested.
// CHECK-LABEL: @dilated
// CHECK-NOT: arith.cmpi
// CHECK: scf.for %[[H:.*]] = %c0 to %c7 step %c1
// CHECK: %[[BEFORE:.*]] = arith.subi %c2, %[[H]]
// CHECK: %[[FIRST:.*]] = arith.ceildivsi %[[BEFORE]], %c2
// CHECK: %[[AFTER:.*]] = arith.subi %c9, %[[H]]
// CHECK: %[[LAST:.*]] = arith.ceildivsi %[[AFTER]], %c2
// CHECK: arith.maxsi %[[FIRST]], %c0
// CHECK: arith.minsi %[[LAST]], %c3
// CHECK: %{{.*}}:5 = scf.for %{{.*}} = %c0 to %c16 step %c4
// CHECK-COUNT-20: vector.fma
// CHECK: %{{.*}}:7 = scf.for %{{.*}} = %c0 to %c16 step %c4
// CHECK-COUNT-28: vector.fma
// CHECK: %{{.*}}:5 = scf.for %{{.*}} = %c0 to %c16 step %c4
// CHECK-COUNT-20: vector.fma
// CHECK-NOT: vector.fma
func.func @dilated(%x: memref<16x7x7xf32>, %w: memref<3x3x16x64xf32>, %out: memref<64x7x7xf32>) attributes {mlopt.kernel} {
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
          %i = affine.apply affine_map<(d0) -> (d0 * 2 - 2)>(%kh)
          %j = affine.apply affine_map<(d0) -> (d0 * 2 - 2)>(%kw)
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
