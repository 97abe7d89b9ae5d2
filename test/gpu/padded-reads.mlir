// RUN: mlopt-opt %s --pass-pipeline='builtin.module(canonicalize,mlopt-gpu-padded-reads)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(canonicalize)' | FileCheck %s --check-prefix=UPSTREAM

// Three elements of padding and a row of 13: upstream takes what ends inside for in bounds.
// CHECK-LABEL: func.func @row(
// CHECK: vector.transfer_read %{{.*}}[%{{.*}}, %c-3], %{{.*}} {in_bounds = [true, false]}
// UPSTREAM-LABEL: func.func @row(
// UPSTREAM: vector.transfer_read %{{.*}}[%{{.*}}, %c-3], %{{.*}} {in_bounds = [true, true]}
func.func @row(%x: memref<8x13xf32>, %i: index) -> vector<1x16xf32> {
  %pad = arith.constant 0.0 : f32
  %start = arith.constant -3 : index
  %r = vector.transfer_read %x[%i, %start], %pad {in_bounds = [true, false]} : memref<8x13xf32>, vector<1x16xf32>
  return %r : vector<1x16xf32>
}

// The dims of the vector are not those of memory in order.
// CHECK-LABEL: func.func @column(
// CHECK: vector.transfer_read %{{.*}}[%c-2, %c1], %{{.*}} {in_bounds = [true, false], permutation_map
func.func @column(%x: memref<6x9xf32>) -> vector<8x8xf32> {
  %pad = arith.constant 0.0 : f32
  %start = arith.constant -2 : index
  %one = arith.constant 1 : index
  %r = vector.transfer_read %x[%start, %one], %pad {in_bounds = [false, false], permutation_map = affine_map<(i, j) -> (j, i)>} : memref<6x9xf32>, vector<8x8xf32>
  return %r : vector<8x8xf32>
}
