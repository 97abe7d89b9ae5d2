// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' | FileCheck %s

// Strips of a row carry its total so far; the last strip, of 5 elements, is a masked one.
// CHECK-LABEL: @rows
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf64>
// CHECK: scf.for %[[I:.*]] = %c0 to %c8 step %c1 {
// CHECK:   %[[ALL:.*]] = scf.for %[[J:.*]] = %c0 to %c32 step %c16 iter_args(%[[BEFORE:.*]] = %[[ZERO]]) -> (vector<4xf64>) {
// CHECK:     vector.load %arg0[%{{.*}}, %[[J]]] : memref<16x37xf64>, vector<16xf64>
// CHECK:     vector.shuffle {{.*}} [0, 0, 2, 2] : vector<4xf64>, vector<4xf64>
// CHECK:     arith.addf {{.*}} : vector<16xf64>
// CHECK:     vector.shuffle {{.*}} [1, 1, 1, 1] : vector<4xf64>, vector<4xf64>
// CHECK:     vector.store %{{.*}}, %arg1[%{{.*}}, %[[J]]]
// CHECK:     scf.yield %{{.*}} : vector<4xf64>
// CHECK:   %[[MASK:.*]] = vector.constant_mask [5] : vector<16xi1>
// CHECK:   vector.maskedload %arg0[%{{.*}}, %c32], %[[MASK]]
// CHECK:   vector.maskedstore %arg1[%{{.*}}, %c32], %[[MASK]]
func.func private @rows(%x: memref<16x37xf64>, %out: memref<16x37xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  %zero = arith.constant dense<0.0> : vector<8xf64>
  scf.forall (%i) = (0) to (16) step (8) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16x37xf64>, vector<8x37xf64>
    %s, %all = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 1 : i64} : vector<8x37xf64>, vector<8xf64>
    vector.transfer_write %s, %out[%i, %c0] {in_bounds = [true, true]} : vector<8x37xf64>, memref<16x37xf64>
  }
  return
}

// A maximum of what is joined to itself leaves it: no lanes are taken back. What is made of the first scan is
// scanned in the same loop, which carries both totals.
// CHECK-LABEL: @places
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32 iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<8xi32>, vector<8xf32>) {
// CHECK:   vector.shuffle {{.*}} [0, 0, 2, 2, 4, 4, 6, 6]
// CHECK:   vector.shuffle {{.*}} [0, 1, 1, 1, 4, 5, 5, 5]
// CHECK:   vector.shuffle {{.*}} [0, 1, 2, 3, 3, 3, 3, 3]
// CHECK:   arith.cmpf oeq
// CHECK:   arith.maxsi
// CHECK:   scf.yield %{{.*}}, %{{.*}} : vector<8xi32>, vector<8xf32>
func.func private @places(%x: memref<16x64xf32>, %i: memref<64xi32>, %out: memref<16x64xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %first = arith.constant dense<0xFF800000> : vector<8xf32>
  %zero = arith.constant dense<0> : vector<8xi32>
  %zeros = arith.constant dense<0> : vector<8x64xi32>
  scf.forall (%t) = (0) to (16) step (8) {
    %v = vector.transfer_read %x[%t, %c0], %pad {in_bounds = [true, true]} : memref<16x64xf32>, vector<8x64xf32>
    %s, %all = vector.scan <maximumf>, %v, %first {inclusive = true, reduction_dim = 1 : i64} : vector<8x64xf32>, vector<8xf32>
    %hit = arith.cmpf oeq, %v, %s : vector<8x64xf32>
    %row = vector.transfer_read %i[%c0], %none {in_bounds = [true]} : memref<64xi32>, vector<64xi32>
    %place = vector.broadcast %row : vector<64xi32> to vector<8x64xi32>
    %hits = arith.select %hit, %place, %zeros : vector<8x64xi1>, vector<8x64xi32>
    %p, %last = vector.scan <maxsi>, %hits, %zero {inclusive = true, reduction_dim = 1 : i64} : vector<8x64xi32>, vector<8xi32>
    vector.transfer_write %p, %out[%t, %c0] {in_bounds = [true, true]} : vector<8x64xi32>, memref<16x64xi32>
  }
  return
}

// Columns: their totals are in scratch, to which each row is joined.
// CHECK-LABEL: @columns
// CHECK: %[[TOTALS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x64xf64>
// CHECK: scf.for %[[J:.*]] = %c0 to %c64 step %c16 {
// CHECK:   vector.store %{{.*}}, %[[TOTALS]][%c0, %[[J]]]
// CHECK: scf.for %[[I:.*]] = %c0 to %c33 step %c1 {
// CHECK:   scf.for %[[J:.*]] = %c0 to %c64 step %c16 {
// CHECK-DAG: %[[V:.*]] = vector.load %arg0[%[[I]], %{{.*}}]
// CHECK-DAG: %[[BEFORE:.*]] = vector.load %[[TOTALS]][%c0, %[[J]]]
// CHECK:     %[[S:.*]] = arith.mulf %[[BEFORE]], %[[V]]
// CHECK:     vector.store %[[S]], %[[TOTALS]][%c0, %[[J]]]
// CHECK:     vector.store %[[S]], %arg1[%[[I]], %{{.*}}]
func.func private @columns(%x: memref<33x128xf64>, %out: memref<33x128xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  %one = arith.constant dense<1.0> : vector<64xf64>
  scf.forall (%j) = (0) to (128) step (64) {
    %v = vector.transfer_read %x[%c0, %j], %pad {in_bounds = [true, true]} : memref<33x128xf64>, vector<33x64xf64>
    %s, %all = vector.scan <mul>, %v, %one {inclusive = true, reduction_dim = 0 : i64} : vector<33x64xf64>, vector<64xf64>
    vector.transfer_write %s, %out[%c0, %j] {in_bounds = [true, true]} : vector<33x64xf64>, memref<33x128xf64>
  }
  return
}

// Logarithms of what is added up: neither exponential is computed.
// CHECK-LABEL: @logarithms
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<4xf64>) {
// CHECK:   %[[HIGH:.*]] = arith.maximumf
// CHECK:   %[[LOW:.*]] = arith.minimumf
// CHECK:   %[[APART:.*]] = arith.subf %[[LOW]], %[[HIGH]]
// CHECK:   math.exp
// CHECK-NOT: math.log
func.func private @logarithms(%x: memref<1x64xf64>, %out: memref<1x64xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  %none = arith.constant dense<0xFFF0000000000000> : vector<1xf64>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<1x64xf64>, vector<1x64xf64>
    %s, %all = vector.scan <add>, %v, %none {inclusive = true, mlopt.by_logarithms, reduction_dim = 1 : i64} : vector<1x64xf64>, vector<1xf64>
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<1x64xf64>, memref<1x64xf64>
  }
  return
}
