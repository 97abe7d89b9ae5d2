// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute,canonicalize,cse)' | FileCheck %s

// Windows of 3x3 at every other place, padded: a thread has two results of each of four rows, and loads nine rows
// of four neighbours for them. The column before is the last one of the lane before; the first lane has the padding.
// The first row may lie above the image: the nearest one is loaded, and replaced.
// CHECK: llvm.func @padded(
// CHECK-NOT: scf.if
// CHECK: arith.maxsi
// CHECK: %[[FIRST:.*]] = llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: nvvm.shfl.sync up
// CHECK-COUNT-8: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-NOT: invariant
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// The twin for pointers that are not aligned loads as many elements, one by one.
// CHECK: llvm.func @padded_unaligned(
// CHECK-NOT: invariant {alignment = {{16|8}}
// CHECK-COUNT-36: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NOT: invariant
// CHECK: func.func private @padded
func.func private @padded(%x: memref<8x32x2x32x2xf32>, %out: memref<8x32x32xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0xFF800000 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x16x32xf32>
  scf.forall (%n, %i) = (0, 0) to (8, 32) step (1, 16) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %low) -> (vector<1x16x32xf32>) {
      %r = scf.for %l = %c0 to %c3 step %c1 iter_args(%b = %a) -> (vector<1x16x32xf32>) {
        %row = affine.apply affine_map<(d0, d1) -> (d0 + (d1 + 1) floordiv 2 - 1)>(%i, %k)
        %odd = affine.apply affine_map<(d0) -> ((d0 + 1) mod 2)>(%k)
        %column = affine.apply affine_map<(d0) -> ((d0 + 1) floordiv 2 - 1)>(%l)
        %right = affine.apply affine_map<(d0) -> ((d0 + 1) mod 2)>(%l)
        %v = vector.transfer_read %x[%n, %row, %odd, %column, %right], %pad {in_bounds = [true, false, false], permutation_map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>} : memref<8x32x2x32x2xf32>, vector<1x16x32xf32>
        %y = arith.maximumf %b, %v : vector<1x16x32xf32>
        scf.yield %y : vector<1x16x32xf32>
      }
      scf.yield %r : vector<1x16x32xf32>
    }
    vector.transfer_write %m, %out[%n, %i, %c0] {in_bounds = [true, true, true]} : vector<1x16x32xf32>, memref<8x32x32xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 16, 0, 1, 1>, warps = array<i64: 2>, min_blocks = array<i64: 4>}}
  return
}

// -----

// Windows of three at each place have a column from either side. A row of 256 is two warps': where they meet, a lane
// loads by itself what the other warp has.
// CHECK: llvm.func @meeting(
// CHECK: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: nvvm.shfl.sync up
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK-NEXT: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: nvvm.shfl.sync down
// CHECK: scf.if
// CHECK-NEXT: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NOT: invariant
// CHECK: llvm.func @meeting_unaligned(
// CHECK: func.func private @meeting
func.func private @meeting(%x: memref<64x256xf32>, %out: memref<64x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x256xf32>
  scf.forall (%i) in (64) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x256xf32>) {
      %j = affine.apply affine_map<(d0) -> (d0 - 1)>(%k)
      %v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, false]} : memref<64x256xf32>, vector<1x256xf32>
      %y = arith.addf %a, %v : vector<1x256xf32>
      scf.yield %y : vector<1x256xf32>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x256xf32>, memref<64x256xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 1>, warps = array<i64: 2>, min_blocks = array<i64: 4>}}
  return
}

// -----

// Rows of 30 begin at no multiple of 16 bytes: nothing is exchanged.
// CHECK: llvm.func @odd_rows(
// CHECK-NOT: nvvm.shfl
// CHECK: func.func private @odd_rows
func.func private @odd_rows(%x: memref<64x30xf32>, %out: memref<64x30xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<4x30xf32>
  scf.forall (%i) = (0) to (64) step (4) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<4x30xf32>) {
      %j = affine.apply affine_map<(d0) -> (d0 - 1)>(%k)
      %v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, false]} : memref<64x30xf32>, vector<4x30xf32>
      %y = arith.addf %a, %v : vector<4x30xf32>
      scf.yield %y : vector<4x30xf32>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x30xf32>, memref<64x30xf32>
  } {mlopt.schedule = {tile = array<i64: 4, 0, 1>, warps = array<i64: 1>, min_blocks = array<i64: 4>}}
  return
}

// -----

// A window of five is a loop, in which its places are no numbers.
// CHECK: llvm.func @long(
// CHECK: scf.for %
// CHECK-NOT: nvvm.shfl
// CHECK: func.func private @long
func.func private @long(%x: memref<64x256xf32>, %out: memref<64x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x256xf32>
  scf.forall (%i) in (64) {
    %m = scf.for %k = %c0 to %c5 step %c1 iter_args(%a = %none) -> (vector<1x256xf32>) {
      %j = affine.apply affine_map<(d0) -> (d0 - 2)>(%k)
      %v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, false]} : memref<64x256xf32>, vector<1x256xf32>
      %y = arith.addf %a, %v : vector<1x256xf32>
      scf.yield %y : vector<1x256xf32>
    }
    vector.transfer_write %m, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x256xf32>, memref<64x256xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 1>, warps = array<i64: 2>, min_blocks = array<i64: 4>}}
  return
}

// -----

// What the kernel writes may change before a neighbour has it: each thread loads what it needs.
// CHECK: llvm.func @written(
// CHECK-NOT: nvvm.shfl
// CHECK: func.func private @written
func.func private @written(%x: memref<64x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x256xf32>
  scf.forall (%i) in (64) {
    %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %none) -> (vector<1x256xf32>) {
      %j = affine.apply affine_map<(d0) -> (d0 - 1)>(%k)
      %v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, false]} : memref<64x256xf32>, vector<1x256xf32>
      %y = arith.addf %a, %v : vector<1x256xf32>
      scf.yield %y : vector<1x256xf32>
    }
    vector.transfer_write %m, %x[%i, %c0] {in_bounds = [true, true]} : vector<1x256xf32>, memref<64x256xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 1>, warps = array<i64: 2>, min_blocks = array<i64: 4>}}
  return
}
