// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// The rows of a window that lie in memory come first: row h + kh - 1 of 7, for kh from max(0, 1 - h) to
// min(3, 8 - h). They need no test, but for the first and last column. The others follow, tested.
// CHECK-LABEL: @conv
// CHECK: scf.for %[[H:.*]] = %c0 to %c7 step %c1
// CHECK: %[[BEFORE:.*]] = arith.subi %c1, %[[H]]
// CHECK: %[[LATER:.*]] = arith.maxsi %[[BEFORE]], %c0
// CHECK: %[[FIRST:.*]] = arith.minsi %[[LATER]], %c3
// CHECK: %[[AFTER:.*]] = arith.subi %c8, %[[H]]
// CHECK: %[[SOONER:.*]] = arith.minsi %[[AFTER]], %c3
// CHECK: %[[END:.*]] = arith.maxsi %[[SOONER]], %[[FIRST]]
// CHECK: %[[INSIDE:.*]]:7 = scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c1
// CHECK-COUNT-2: arith.cmpi ult
// CHECK-NOT: arith.cmpi ult
// CHECK: %[[SECOND:.*]]:7 = scf.for %[[SIDE:[^ ]*]] = %c0 to %c2 step %c1 iter_args(%{{.*}} = %[[INSIDE]]#0
// CHECK: %[[IS_BEFORE:.*]] = arith.cmpi eq, %[[SIDE]], %c0
// CHECK: %[[BEGIN:.*]] = arith.select %[[IS_BEFORE]], %c0, %[[END]]
// CHECK: %[[STOP:.*]] = arith.select %[[IS_BEFORE]], %[[FIRST]], %c3
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[STOP]] step %c1
// CHECK-COUNT-3: arith.cmpi ult
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
