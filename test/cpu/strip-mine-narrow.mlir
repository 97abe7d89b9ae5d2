// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' | FileCheck %s

#x = affine_map<(n, k) -> (k)>
#w = affine_map<(n, k) -> (k, n)>
#y = affine_map<(n, k) -> (n)>
#xm = affine_map<(m, n, k) -> (m, k)>
#wm = affine_map<(m, n, k) -> (k, n)>
#ym = affine_map<(m, n, k) -> (m, n)>

// One row: all 64 columns at once, eight registers, so that what memory holds in line is read in line.
// CHECK-LABEL: @row
// CHECK-NOT: scf.for {{.*}} step %c64
// CHECK: scf.for %[[K:.*]] = %c0 to %c768 step %c8 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:   vector.load %{{.*}}[%[[K]], %c0] : memref<768x64xf32>, vector<16xf32>
// CHECK:   vector.load %{{.*}}[%[[K]], %c16]
// CHECK:   vector.load %{{.*}}[%[[K]], %c32]
// CHECK:   vector.load %{{.*}}[%[[K]], %c48]
func.func private @row(%x: memref<768xf32>, %w: memref<768x64xf32>, %y: memref<64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c768 = arith.constant 768 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64xf32>
  %r = scf.for %k = %c0 to %c768 step %c8 iter_args(%acc = %zero) -> (vector<64xf32>) {
    %a = vector.transfer_read %x[%k], %pad {in_bounds = [true]} : memref<768xf32>, vector<8xf32>
    %b = vector.transfer_read %w[%k, %c0], %pad {in_bounds = [true, true]} : memref<768x64xf32>, vector<8x64xf32>
    %c = vector.contract {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<8xf32>, vector<8x64xf32> into vector<64xf32>
    scf.yield %c : vector<64xf32>
  }
  vector.transfer_write %r, %y[%c0] {in_bounds = [true]} : vector<64xf32>, memref<64xf32>
  return
}

// Three: two halves of whole lines, where thirds of 24 columns would read some of the lines twice.
// CHECK-LABEL: @three_rows
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK:   scf.for %{{.*}} = %c0 to %c768 step %c8 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
func.func private @three_rows(%x: memref<3x768xf32>, %w: memref<768x64xf32>, %y: memref<3x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c768 = arith.constant 768 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<3x64xf32>
  %r = scf.for %k = %c0 to %c768 step %c8 iter_args(%acc = %zero) -> (vector<3x64xf32>) {
    %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<3x768xf32>, vector<3x8xf32>
    %b = vector.transfer_read %w[%k, %c0], %pad {in_bounds = [true, true]} : memref<768x64xf32>, vector<8x64xf32>
    %c = vector.contract {indexing_maps = [#xm, #wm, #ym], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<3x8xf32>, vector<8x64xf32> into vector<3x64xf32>
    scf.yield %c : vector<3x64xf32>
  }
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]} : vector<3x64xf32>, memref<3x64xf32>
  return
}

// Twelve: six by two registers, which fit beside a row's, twice.
// CHECK-LABEL: @twelve_rows
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16
// CHECK:   scf.for %{{.*}} = %c0 to %c12 step %c6
// CHECK:     scf.for %{{.*}} = %c0 to %c768 step %c8 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
func.func private @twelve_rows(%x: memref<12x768xf32>, %w: memref<768x64xf32>, %y: memref<12x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c768 = arith.constant 768 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<12x64xf32>
  %r = scf.for %k = %c0 to %c768 step %c8 iter_args(%acc = %zero) -> (vector<12x64xf32>) {
    %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<12x768xf32>, vector<12x8xf32>
    %b = vector.transfer_read %w[%k, %c0], %pad {in_bounds = [true, true]} : memref<768x64xf32>, vector<8x64xf32>
    %c = vector.contract {indexing_maps = [#xm, #wm, #ym], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<12x8xf32>, vector<8x64xf32> into vector<12x64xf32>
    scf.yield %c : vector<12x64xf32>
  }
  vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]} : vector<12x64xf32>, memref<12x64xf32>
  return
}
