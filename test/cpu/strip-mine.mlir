// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' | FileCheck %s --check-prefix=AVX2

// Four registers a strip. 1000 is no multiple of 64: the last strip starts at 936, and nothing is masked.
// CHECK-LABEL: @scale
// CHECK-SAME: (%[[X:.*]]: memref<1001x1000xf32>, %[[OUT:.*]]: memref<1001x1000xf32>)
// CHECK: scf.forall (%[[I:.*]]) =
// CHECK:   %[[LEFT:.*]] = arith.subi %c1001, %[[I]]
// CHECK:   %[[ROWS:.*]] = arith.minsi %[[LEFT]], %c8
// CHECK:   scf.for %[[R:.*]] = %c0 to %[[ROWS]] step %c1 {
// CHECK:     scf.for %[[C:.*]] = %c0 to %c1000 step %c64 {
// CHECK:       %[[START:.*]] = arith.minsi %[[C]], %c936
// CHECK:       %[[ROW:.*]] = arith.addi %[[I]], %[[R]]
// CHECK:       %[[V:.*]] = vector.load %[[X]][%[[ROW]], %[[START]]] : memref<1001x1000xf32>, vector<64xf32>
// CHECK:       %[[W:.*]] = arith.mulf %[[V]], %{{.*}} : vector<64xf32>
// CHECK:       vector.store %[[W]], %[[OUT]][%[[ROW]], %[[START]]]
// CHECK-NOT: vector<8x1000xf32>
// AVX2-LABEL: @scale
// AVX2: arith.mulf %{{.*}} : vector<32xf32>
func.func private @scale(%x: memref<1001x1000xf32>, %out: memref<1001x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %half = arith.constant dense<0.5> : vector<8x1000xf32>
  scf.forall (%i) = (0) to (1001) step (8) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [false, true]} : memref<1001x1000xf32>, vector<8x1000xf32>
    %w = arith.mulf %v, %half : vector<8x1000xf32>
    vector.transfer_write %w, %out[%i, %c0] {in_bounds = [false, true]} : vector<8x1000xf32>, memref<1001x1000xf32>
  }
  return
}

// Fewer elements than lanes: one masked strip. Lanes past the end divide by 1.
// CHECK-LABEL: @divide
// CHECK: %[[MASK:.*]] = vector.constant_mask [5] : vector<8xi1>
// CHECK: vector.maskedload
// CHECK: %[[Y:.*]] = vector.maskedload %{{.*}}, %[[MASK]], %{{.*}} into vector<8xi32>
// CHECK: %[[SAFE:.*]] = arith.select %[[MASK]], %[[Y]], %cst{{.*}} : vector<8xi1>, vector<8xi32>
// CHECK: arith.divsi %{{.*}}, %[[SAFE]] : vector<8xi32>
// CHECK: vector.maskedstore
func.func private @divide(%x: memref<5xi32>, %y: memref<5xi32>, %out: memref<5xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i32
  %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<5xi32>, vector<5xi32>
  %w = vector.transfer_read %y[%c0], %pad {in_bounds = [true]} : memref<5xi32>, vector<5xi32>
  %q = arith.divsi %v, %w : vector<5xi32>
  vector.transfer_write %q, %out[%c0] {in_bounds = [true]} : vector<5xi32>, memref<5xi32>
  return
}

// The widest type of a strip sets the number of lanes; what does not depend on the lane stays scalar.
// CHECK-LABEL: @widths
// CHECK: scf.for %[[R:.*]] =
// CHECK:   %[[S:.*]] = memref.load %{{.*}} : memref<4xf32>
// CHECK:   %[[D:.*]] = arith.divf %[[S]], %{{.*}} : f32
// CHECK:   scf.for
// CHECK:     arith.extf %{{.*}} : vector<32xf32> to vector<32xf64>
func.func private @widths(%x: memref<4x640xf32>, %s: memref<4xf32>, %out: memref<4x640xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %three = arith.constant dense<3.0> : vector<4x1xf32>
  %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<4x640xf32>, vector<4x640xf32>
  %r = vector.transfer_read %s[%c0], %pad {in_bounds = [true]} : memref<4xf32>, vector<4xf32>
  %c = vector.shape_cast %r : vector<4xf32> to vector<4x1xf32>
  %d = arith.divf %c, %three : vector<4x1xf32>
  %b = vector.broadcast %d : vector<4x1xf32> to vector<4x640xf32>
  %m = arith.mulf %v, %b : vector<4x640xf32>
  %e = arith.extf %m : vector<4x640xf32> to vector<4x640xf64>
  vector.transfer_write %e, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4x640xf64>, memref<4x640xf64>
  return
}

// A size known at run time: full strips, then at most one masked one.
// CHECK-LABEL: @any_size
// CHECK: %[[REM:.*]] = arith.remui %[[N:.*]], %c64
// CHECK: %[[END:.*]] = arith.subi %[[N]], %[[REM]]
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c64
// CHECK:   vector.load
// CHECK: scf.for %[[C:.*]] = %[[END]] to %[[N]] step %c64
// CHECK:   %[[REST:.*]] = arith.subi %[[N]], %[[C]]
// CHECK:   vector.create_mask %[[REST]] : vector<64xi1>
// CHECK:   vector.maskedstore
func.func private @any_size(%x: memref<?xf32>, %out: memref<?xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.forall (%i) = (0) to (%n) step (4096) {
    %v = vector.transfer_read %x[%i], %pad : memref<?xf32>, vector<4096xf32>
    %w = arith.addf %v, %v : vector<4096xf32>
    vector.transfer_write %w, %out[%i] : vector<4096xf32>, memref<?xf32>
  }
  return
}

// A check on what a reduction makes: its lanes are a full strip's, as they are where a tile is written.
// CHECK-LABEL: @checked_sum
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c64 iter_args(%{{.*}}) -> (vector<64xi32>)
// CHECK: cf.assert
func.func private @checked_sum(%x: memref<9x256xi32>, %out: memref<9xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %most = arith.constant 7 : i32
  %none = arith.constant 0 : i32
  %zero = arith.constant dense<0> : vector<1xi32>
  scf.forall (%i) in (9) {
    %v = vector.transfer_read %x[%i, %c0], %none {in_bounds = [true, true]} : memref<9x256xi32>, vector<1x256xi32>
    %sum = vector.multi_reduction <add>, %v, %zero [1] : vector<1x256xi32> to vector<1xi32>
    %number = vector.extract %sum[0] : i32 from vector<1xi32>
    %ok = arith.cmpi ult, %number, %most : i32
    cf.assert %ok, "IndexError: index out of range in self"
    vector.transfer_write %sum, %out[%i] {in_bounds = [true]} : vector<1xi32>, memref<9xi32>
  }
  return
}

// A check on all elements of a tile, and a read at an index from memory.
// CHECK-LABEL: @checked
// CHECK: %[[ID:.*]] = memref.load
// CHECK: cf.assert %{{.*}}, "IndexError: index out of range in self"
// CHECK: vector.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<7x64xf32>, vector<64xf32>
func.func private @checked(%ids: memref<9xindex>, %table: memref<7x64xf32>, %out: memref<9x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) in (9) {
    %id = memref.load %ids[%i] : memref<9xindex>
    %ok = arith.cmpi ult, %id, %c7 : index
    cf.assert %ok, "IndexError: index out of range in self"
    %row = arith.select %ok, %id, %c0 : index
    %v = vector.transfer_read %table[%row, %c0], %pad {in_bounds = [true, true]} : memref<7x64xf32>, vector<1x64xf32>
    vector.transfer_write %v, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x64xf32>, memref<9x64xf32>
  }
  return
}

// A vector read once, and along both dims of a square: the square has loops of its own, and is not stored where rows
// of the other tile are, which would be its diagonal.
// CHECK-LABEL: @square_of_one_vector
// CHECK-SAME: %{{.*}}: memref<3x17xf32>, %{{.*}}: memref<3xf32>, %[[ROWS:.*]]: memref<3x17xf32>, %[[SQUARE:.*]]: memref<3x3xf32>
// CHECK: scf.for %[[R:.*]] =
// CHECK: vector.maskedstore %[[ROWS]][%[[R]], %c0]
// CHECK-NOT: %[[SQUARE]][%[[R]], %[[R]]]
// CHECK: scf.for %[[I:.*]] =
// CHECK: vector.maskedstore %[[SQUARE]][%[[I]], %c0]
func.func private @square_of_one_vector(%x: memref<3x17xf32>, %v: memref<3xf32>, %rows: memref<3x17xf32>, %square: memref<3x3xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) in (1) {
    %0 = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<3x17xf32>, vector<3x17xf32>
    %1 = vector.transfer_read %v[%c0], %pad {in_bounds = [true]} : memref<3xf32>, vector<3xf32>
    %2 = vector.shape_cast %1 : vector<3xf32> to vector<3x1xf32>
    %3 = vector.broadcast %2 : vector<3x1xf32> to vector<3x17xf32>
    %4 = arith.mulf %0, %3 : vector<3x17xf32>
    vector.transfer_write %4, %rows[%c0, %c0] {in_bounds = [true, true]} : vector<3x17xf32>, memref<3x17xf32>
    %5 = vector.broadcast %2 : vector<3x1xf32> to vector<3x3xf32>
    %6 = vector.broadcast %1 : vector<3xf32> to vector<3x3xf32>
    %7 = arith.mulf %5, %6 : vector<3x3xf32>
    vector.transfer_write %7, %square[%c0, %c0] {in_bounds = [true, true]} : vector<3x3xf32>, memref<3x3xf32>
  }
  return
}
