// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' --split-input-file | FileCheck %s --check-prefixes=NARROW
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' --split-input-file | FileCheck %s --check-prefixes=WIDE

// 16 lanes of 6 columns, which lie along the columns in memory. Registers of 256 bits: rows of 4 and of 2, by shuffles
// within 128 bits. Those of 512 have masks, and shuffle as they like: 6 of 8.
// NARROW-LABEL: @transposed
// NARROW: vector.shuffle %{{.*}}, %{{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29] : vector<16xf32>, vector<16xf32>
// NARROW: vector.shuffle %{{.*}}, %{{.*}} [2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31] : vector<16xf32>, vector<16xf32>
// NARROW-NOT: vector.maskedstore
// NARROW: vector.store %{{.*}}, %{{.*}}[%c0, %c0] : memref<16x6xf32>, vector<4xf32>
// NARROW: vector.store %{{.*}}, %{{.*}}[%c0, %c4] : memref<16x6xf32>, vector<2xf32>
// NARROW: vector.store %{{.*}}, %{{.*}}[%c15, %c4] : memref<16x6xf32>, vector<2xf32>
// NARROW-NOT: vector.maskedstore
// NARROW: return
// WIDE-LABEL: @transposed
// WIDE: vector.shuffle %{{.*}}, %{{.*}} [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23] : vector<16xf32>, vector<16xf32>
// WIDE: vector.maskedstore %{{.*}}[%c0, %c0], %{{.*}} : memref<16x6xf32>, vector<8xi1>, vector<8xf32>
// WIDE: vector.maskedstore %{{.*}}[%c15, %c0]
// WIDE-NOT: vector.store
// WIDE: return
func.func @transposed(%x: memref<6x8xf32>, %w: memref<8x16xf32>, %out: memref<16x6xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<16x6xf32>
  %c0 = arith.constant 0 : index
  scf.forall (%t) in (1) {
    %p = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]} : memref<6x8xf32>, vector<6x8xf32>
    %f = vector.transfer_read %w[%c0, %c0], %zero {in_bounds = [true, true]} : memref<8x16xf32>, vector<8x16xf32>
    %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %f, %none : vector<6x8xf32>, vector<8x16xf32> into vector<16x6xf32>
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x6xf32>, memref<16x6xf32>
  }
  return
}

// -----

// Of lanes whose number is known at run time each row has one branch, not one for each of its parts.
// NARROW-LABEL: @few_lanes
// NARROW: scf.if
// NARROW-NEXT: vector.store %{{.*}} : memref<?x6xf32>, vector<4xf32>
// NARROW-NEXT: vector.store %{{.*}} : memref<?x6xf32>, vector<2xf32>
// NARROW-NEXT: }
// WIDE-LABEL: @few_lanes
// WIDE: vector.maskedstore
func.func @few_lanes(%x: memref<6x8xf32>, %w: memref<8x?xf32>, %out: memref<?x6xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<16x6xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %w, %c1 : memref<8x?xf32>
  scf.forall (%t) = (0) to (%n) step (16) {
    %p = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]} : memref<6x8xf32>, vector<6x8xf32>
    %f = vector.transfer_read %w[%c0, %t], %zero {in_bounds = [true, false]} : memref<8x?xf32>, vector<8x16xf32>
    %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %f, %none : vector<6x8xf32>, vector<8x16xf32> into vector<16x6xf32>
    vector.transfer_write %s, %out[%t, %c0] {in_bounds = [false, true]} : vector<16x6xf32>, memref<?x6xf32>
  }
  return
}
