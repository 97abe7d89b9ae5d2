// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute,canonicalize,cse)' | FileCheck %s

// A window's loop is written out. Windows that lie side by side are read whole: a thread has two of them, four
// neighbours from an aligned place on, which LLVM may load at once; and four results, once tiles changed hands.
// The twin for pointers that are not aligned does not say so.
// CHECK: llvm.func @beside(
// CHECK-NOT: scf.for
// CHECK-COUNT-2: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> f32
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// CHECK: llvm.func @beside_unaligned(
// CHECK-NOT: invariant {alignment = {{16|8}}
// CHECK: func.func private @beside
func.func private @beside(%x: memref<64x256x2xf32>, %out: memref<64x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<2x256xf32>
  scf.forall (%i) = (0) to (64) step (2) {
    %m = scf.for %k = %c0 to %c2 step %c1 iter_args(%a = %low) -> (vector<2x256xf32>) {
      %j = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%k)
      %v = vector.transfer_read %x[%i, %j, %k], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : memref<64x256x2xf32>, vector<2x256xf32>
      %y = arith.maximumf %a, %v : vector<2x256xf32>
      scf.yield %y : vector<2x256xf32>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<2x256xf32>, memref<64x256xf32>
  } {mlopt.schedule = {tile = array<i64: 2, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// Rows of 125 elements begin at no multiple of 16 bytes: the first of a window lies at an even place, and LLVM may
// load two at once.
// CHECK: llvm.func @pairs(
// CHECK-NOT: scf.for
// CHECK: llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr -> f32
// CHECK: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: llvm.func @pairs_unaligned(
// CHECK-NOT: alignment = 8
// CHECK: func.func private @pairs
func.func private @pairs(%x: memref<64x125x2xf32>, %out: memref<64x125xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x125xf32>
  scf.forall (%i) in (64) {
    %m = scf.for %k = %c0 to %c2 step %c1 iter_args(%a = %low) -> (vector<1x125xf32>) {
      %v = vector.transfer_read %x[%i, %c0, %k], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : memref<64x125x2xf32>, vector<1x125xf32>
      %y = arith.maximumf %a, %v : vector<1x125xf32>
      scf.yield %y : vector<1x125xf32>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x125xf32>, memref<64x125xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// Rows of 126 elements are not there in every thread: one that has none loads what the first one does, so that no
// branch parts neighbours.
// CHECK: llvm.func @beyond(
// CHECK-NOT: scf.for
// CHECK: %[[OWN:.*]] = arith.cmpi ult, %[[THREAD:.*]], %c126_i32
// CHECK: arith.select %[[OWN]], %[[THREAD]], %c0_i32
// CHECK-NOT: scf.if
// CHECK: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> f32
// CHECK-COUNT-3: llvm.load %{{.*}} invariant
// CHECK: scf.if
// CHECK: llvm.store
// CHECK: func.func private @beyond
func.func private @beyond(%x: memref<64x126x2xf32>, %out: memref<64x126xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x126xf32>
  scf.forall (%i) in (64) {
    %m = scf.for %k = %c0 to %c2 step %c1 iter_args(%a = %low) -> (vector<1x126xf32>) {
      %v = vector.transfer_read %x[%i, %c0, %k], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : memref<64x126x2xf32>, vector<1x126xf32>
      %y = arith.maximumf %a, %v : vector<1x126xf32>
      scf.yield %y : vector<1x126xf32>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x126xf32>, memref<64x126xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// Three elements: every second thread's first lies at an odd place.
// CHECK: llvm.func @triples(
// CHECK-NOT: alignment = 8
// CHECK: func.func private @triples
func.func private @triples(%x: memref<64x128x3xf32>, %out: memref<64x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x128xf32>
  scf.forall (%i) in (64) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %low) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %c0, %k], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : memref<64x128x3xf32>, vector<1x128xf32>
      %y = arith.maximumf %a, %v : vector<1x128xf32>
      scf.yield %y : vector<1x128xf32>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x128xf32>, memref<64x128xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// Many steps stay a loop.
// CHECK: llvm.func @many(
// CHECK: scf.for %
func.func private @many(%x: memref<64x128x8xf32>, %out: memref<64x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x128xf32>
  scf.forall (%i) in (64) {
    %m = scf.for %k = %c0 to %c8 step %c1 iter_args(%a = %low) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %c0, %k], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : memref<64x128x8xf32>, vector<1x128xf32>
      %y = arith.maximumf %a, %v : vector<1x128xf32>
      scf.yield %y : vector<1x128xf32>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x128xf32>, memref<64x128xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// Every other element of a row that is no multiple of two: three loads for a window of three, where the row is
// long enough, and nothing that lies between.
// CHECK: llvm.func @halves(
// CHECK-COUNT-3: llvm.load %{{.*}} invariant {{.*}} : !llvm.ptr -> f32
// CHECK-NOT: llvm.load
// CHECK: func.func private @halves
func.func private @halves(%x: memref<64x257xf32>, %out: memref<64x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x128xf32>
  scf.forall (%i) in (64) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %low) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<64x257xf32>, vector<1x256xf32>
      %e, %o = vector.deinterleave %v : vector<1x256xf32> -> vector<1x128xf32>
      %y = arith.maximumf %a, %e : vector<1x128xf32>
      scf.yield %y : vector<1x128xf32>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x128xf32>, memref<64x128xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// So is one with work before it: the test for padding, and transposes, are no reason to stay a loop.
// CHECK: llvm.func @before(
// CHECK-NOT: scf.for
// CHECK: func.func private @before
func.func private @before(%x: memref<64x128xf32>, %out: memref<64x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x128xf32>
  %start = arith.constant dense<0.0> : vector<128x1xf32>
  %end = arith.constant dense<128> : vector<128xindex>
  scf.forall (%i) in (64) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %start) -> (vector<128x1xf32>) {
      %j = affine.apply affine_map<(d0) -> (d0 - 1)>(%k)
      %v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, false]} : memref<64x128xf32>, vector<1x128xf32>
      %e = math.exp %v : vector<1x128xf32>
      %first = vector.broadcast %j : index to vector<128xindex>
      %step = vector.step : vector<128xindex>
      %place = arith.addi %step, %first : vector<128xindex>
      %inside = arith.cmpi ult, %place, %end : vector<128xindex>
      %mask = vector.broadcast %inside : vector<128xi1> to vector<1x128xi1>
      %y = arith.select %mask, %e, %none : vector<1x128xi1>, vector<1x128xf32>
      %t = vector.transpose %y, [1, 0] : vector<1x128xf32> to vector<128x1xf32>
      %s = arith.addf %a, %t : vector<128x1xf32>
      scf.yield %s : vector<128x1xf32>
    }
    %t = vector.transpose %m, [1, 0] : vector<128x1xf32> to vector<1x128xf32>
    vector.transfer_write %t, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x128xf32>, memref<64x128xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// Rows of a window that may lie beside the image: all three loads of 16 bytes, each from the nearest row that is
// there, then the padding for what is not, and no branch.
// CHECK: llvm.func @nearest(
// CHECK-NOT: scf.if
// CHECK: %[[ABOVE:.*]] = arith.cmpi ult, %[[ROW:.*]], %c64_i32
// CHECK: %[[LOW:.*]] = arith.minsi %[[ROW]], %c63_i32
// CHECK: %[[AT:.*]] = arith.maxsi %[[LOW]], %c0_i32
// CHECK: arith.subi %[[AT]], %[[ROW]]
// CHECK: %[[V:.*]] = llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<8xf16>
// CHECK: arith.select %[[ABOVE]], %[[V]], %{{.*}} : vector<8xf16>
// CHECK-COUNT-2: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<8xf16>
// CHECK-NOT: scf.if
// Of single elements the branch becomes a predicate of each load.
// CHECK: llvm.func @nearest_unaligned(
// CHECK: scf.if
// CHECK-NOT: arith.maxsi
// CHECK: func.func private @nearest
func.func private @nearest(%x: memref<64x64xf16>, %out: memref<64x64xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0xFC00 : f16
  %low = arith.constant dense<0xFC00> : vector<16x64xf16>
  scf.forall (%i) = (0) to (64) step (16) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %low) -> (vector<16x64xf16>) {
      %j = affine.apply affine_map<(d0, d1) -> (d0 + d1 - 1)>(%i, %k)
      %v = vector.transfer_read %x[%j, %c0], %pad {in_bounds = [false, true]} : memref<64x64xf16>, vector<16x64xf16>
      %y = arith.maximumf %a, %v : vector<16x64xf16>
      scf.yield %y : vector<16x64xf16>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<16x64xf16>, memref<64x64xf16>
  } {mlopt.schedule = {tile = array<i64: 16, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// An image that the kernel writes to has a branch, and so has one of unknown height, which may be 0.
// CHECK: llvm.func @written(
// CHECK-NOT: arith.maxsi
// CHECK: scf.if
// CHECK: func.func private @written
func.func private @written(%x: memref<64x64xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0xFC00 : f16
  %low = arith.constant dense<0xFC00> : vector<64x64xf16>
  scf.forall (%i) = (0) to (64) step (64) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %low) -> (vector<64x64xf16>) {
      %j = affine.apply affine_map<(d0, d1) -> (d0 + d1 - 1)>(%i, %k)
      %v = vector.transfer_read %x[%j, %c0], %pad {in_bounds = [false, true]} : memref<64x64xf16>, vector<64x64xf16>
      %y = arith.maximumf %a, %v : vector<64x64xf16>
      scf.yield %y : vector<64x64xf16>
    }
    vector.transfer_write %m, %x[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, memref<64x64xf16>
  } {mlopt.schedule = {tile = array<i64: 64, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// CHECK: llvm.func @unknown(
// CHECK-NOT: arith.maxsi
// CHECK: scf.if
// CHECK: func.func private @unknown
func.func private @unknown(%x: memref<?x64xf16>, %out: memref<64x64xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0xFC00 : f16
  %low = arith.constant dense<0xFC00> : vector<16x64xf16>
  scf.forall (%i) = (0) to (64) step (16) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %low) -> (vector<16x64xf16>) {
      %j = affine.apply affine_map<(d0, d1) -> (d0 + d1 - 1)>(%i, %k)
      %v = vector.transfer_read %x[%j, %c0], %pad {in_bounds = [false, true]} : memref<?x64xf16>, vector<16x64xf16>
      %y = arith.maximumf %a, %v : vector<16x64xf16>
      scf.yield %y : vector<16x64xf16>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<16x64xf16>, memref<64x64xf16>
  } {mlopt.schedule = {tile = array<i64: 16, 0, 1>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}
