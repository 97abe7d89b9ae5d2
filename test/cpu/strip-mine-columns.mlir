// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// The sums start in a buffer; 16 rows at a time are added to it, four strips of 64 columns one after the other; the
// last 4 rows are a shorter block.
// CHECK-LABEL: @columns
// CHECK: %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<256xf32>
// CHECK: scf.for %[[C:.*]] = %c0 to %c256 step %c64 {
// CHECK:   vector.store %{{.*}}, %[[SUMS]][%[[C]]]
// CHECK: scf.for %[[R:.*]] = %c0 to %c96 step %c16 {
// CHECK:   scf.for %[[C:.*]] = %c0 to %c256 step %c64 {
// CHECK-COUNT-16: vector.load %arg0[%{{.*}}, %{{.*}}] : memref<100x512xf32>, vector<64xf32>
// CHECK:     %[[OLD:.*]] = vector.load %[[SUMS]][%[[C]]]
// CHECK-COUNT-15: arith.addf
// CHECK:     %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK:     vector.store %[[NEW]], %[[SUMS]][%[[C]]]
// CHECK: scf.for %[[C:.*]] = %c0 to %c256 step %c64 {
// CHECK-COUNT-4: vector.load %arg0[%{{.*}}, %{{.*}}] : memref<100x512xf32>, vector<64xf32>
// CHECK: vector.load %[[SUMS]]
// CHECK: vector.store %{{.*}}, %arg1
func.func private @columns(%x: memref<100x512xf32>, %out: memref<512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<256xf32>
  scf.forall (%j) = (0) to (512) step (256) {
    %v = vector.transfer_read %x[%c0, %j], %pad {in_bounds = [true, true]} : memref<100x512xf32>, vector<100x256xf32>
    %s = vector.multi_reduction <add>, %v, %none [0] : vector<100x256xf32> to vector<256xf32>
    vector.transfer_write %s, %out[%j] {in_bounds = [true]} : vector<256xf32>, memref<512xf32>
  }
  return
}

// One strip of columns is summed in registers: there is nothing to go along.
// CHECK-LABEL: @one_strip
// CHECK-NOT: memref.alloca
func.func private @one_strip(%x: memref<100x512xf32>, %out: memref<512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<64xf32>
  scf.forall (%j) = (0) to (512) step (64) {
    %v = vector.transfer_read %x[%c0, %j], %pad {in_bounds = [true, true]} : memref<100x512xf32>, vector<100x64xf32>
    %s = vector.multi_reduction <add>, %v, %none [0] : vector<100x64xf32> to vector<64xf32>
    vector.transfer_write %s, %out[%j] {in_bounds = [true]} : vector<64xf32>, memref<512xf32>
  }
  return
}

// Where rows are made of the sums, too: sums first, then what all rows of a column read, then rows around columns.
// CHECK-LABEL: @minus_mean
// CHECK-DAG: %[[MEANS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<256xf32>
// CHECK-DAG: %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<256xf32>
// CHECK: scf.for %[[R:.*]] = %c0 to %c96 step %c16 {
// CHECK:   scf.for %[[C:.*]] = %c0 to %c256 step %c64 {
// CHECK-COUNT-16: vector.load %arg0[%{{.*}}, %{{.*}}] : memref<100x512xf32>, vector<64xf32>
// CHECK: scf.for %[[C:.*]] = %c0 to %c256 step %c64 {
// CHECK:   arith.divf
// CHECK:   vector.store
// CHECK: scf.for %[[R:.*]] = %c0 to %c100 step %c1 {
// CHECK-NEXT: scf.for %[[C:.*]] = %c0 to %c256 step %c64 {
// CHECK-NOT: arith.divf
// CHECK:     arith.subf
// CHECK:     vector.store %{{.*}}, %arg1[%[[R]],
func.func private @minus_mean(%x: memref<100x512xf32>, %out: memref<100x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<256xf32>
  %rows = arith.constant dense<100.0> : vector<256xf32>
  scf.forall (%j) = (0) to (512) step (256) {
    %v = vector.transfer_read %x[%c0, %j], %pad {in_bounds = [true, true]} : memref<100x512xf32>, vector<100x256xf32>
    %s = vector.multi_reduction <add>, %v, %none [0] : vector<100x256xf32> to vector<256xf32>
    %m = arith.divf %s, %rows : vector<256xf32>
    %b = vector.broadcast %m : vector<256xf32> to vector<100x256xf32>
    %d = arith.subf %v, %b : vector<100x256xf32>
    vector.transfer_write %d, %out[%c0, %j] {in_bounds = [true, true]} : vector<100x256xf32>, memref<100x512xf32>
  }
  return
}

// exp of a column is kept from its sum to the division: strips of columns go down the rows.
// CHECK-LABEL: @softmax
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c64 {
// CHECK:   scf.for %{{.*}} = %c0 to %c100 step %c1 iter_args
// CHECK:   math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func private @softmax(%x: memref<100x512xf32>, %out: memref<100x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<256xf32>
  scf.forall (%j) = (0) to (512) step (256) {
    %v = vector.transfer_read %x[%c0, %j], %pad {in_bounds = [true, true]} : memref<100x512xf32>, vector<100x256xf32>
    %e = math.exp %v : vector<100x256xf32>
    %s = vector.multi_reduction <add>, %e, %none [0] : vector<100x256xf32> to vector<256xf32>
    %b = vector.broadcast %s : vector<256xf32> to vector<100x256xf32>
    %d = arith.divf %e, %b : vector<100x256xf32>
    vector.transfer_write %d, %out[%c0, %j] {in_bounds = [true, true]} : vector<100x256xf32>, memref<100x512xf32>
  }
  return
}
