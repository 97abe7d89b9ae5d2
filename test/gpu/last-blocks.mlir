// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-last-blocks)' | FileCheck %s

// The block that comes last of a tile's four runs the four tasks that lie in it; columns are the block's own.
// CHECK-DAG: #[[TILE:.*]] = affine_map<(d0, d1) -> ((d0 floordiv 64) * 12 + d1 floordiv 64)>
// CHECK-DAG: #[[PLACE:.*]] = affine_map<(d0, d1) -> (d0 + d1)>
// CHECK-DAG: #[[LEFT:.*]] = affine_map<(d0) -> (64, -d0 + 100)>
// CHECK-LABEL: @whole
// CHECK: scf.forall (%[[S:.*]], %[[M:.*]], %[[N:.*]]) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
// CHECK: vector.transfer_write %{{.*}}, %arg2[%[[S]], %[[M]], %[[N]]]
// CHECK: %[[NUMBER:.*]] = affine.apply #[[TILE]](%[[M]], %[[N]])
// CHECK: %[[LAST:.*]] = "mlopt.last_arrival"(%[[NUMBER]]) {parts = 4 : i64, tiles = 24 : i64} : (index) -> i1
// CHECK: scf.if %[[LAST]] {
// CHECK-DAG: %[[C0:.*]] = arith.constant 0
// CHECK-DAG: %[[C64:.*]] = arith.constant 64
// CHECK-DAG: %[[C16:.*]] = arith.constant 16
// CHECK: scf.for %[[AT:.*]] = %[[C0]] to %[[C64]] step %[[C16]] {
// CHECK: %[[I:.*]] = affine.apply #[[PLACE]](%[[M]], %[[AT]])
// CHECK: vector.transfer_read %arg2[%{{.*}}, %[[I]], %[[N]]]
// CHECK: vector.multi_reduction
// CHECK: vector.transfer_read %arg1[%[[N]]]
// CHECK: vector.transfer_write %{{.*}}, %arg3[%[[I]], %[[N]]]
// CHECK-NOT: scf.forall
// CHECK: return
func.func private @whole(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  scf.forall (%i, %j) = (0, 0) to (128, 768) step (16, 64) {
    %x = vector.transfer_read %p[%c0, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<4x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<4x16x64xf32> to vector<16x64xf32>
    %y = vector.transfer_read %bias[%j], %zero {in_bounds = [true]} : memref<768xf32>, vector<64xf32>
    %z = vector.broadcast %y : vector<64xf32> to vector<16x64xf32>
    %o = arith.addf %r, %z : vector<16x64xf32>
    vector.transfer_write %o, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}

// The last tile has fewer rows: tasks beyond them are nobody's.
// CHECK-LABEL: @ragged
// CHECK: scf.if
// CHECK: %[[MOST:.*]] = affine.min #[[LEFT]](%[[M:.*]])
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[MOST]] step
func.func private @ragged(%a: memref<100x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x100x768xf32>, %out: memref<100x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 100, 768) step (1, 64, 64) {
    vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x100x768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  scf.forall (%i, %j) = (0, 0) to (100, 768) step (16, 64) {
    %x = vector.transfer_read %p[%c0, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x100x768xf32>, vector<4x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<4x16x64xf32> to vector<16x64xf32>
    %y = vector.transfer_read %bias[%j], %zero {in_bounds = [true]} : memref<768xf32>, vector<64xf32>
    %z = vector.broadcast %y : vector<64xf32> to vector<16x64xf32>
    %o = arith.addf %r, %z : vector<16x64xf32>
    vector.transfer_write %o, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<100x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}

// Two tasks of other kernels stay two.
// CHECK-LABEL: @other
// CHECK: scf.forall
// CHECK-NOT: mlopt.last_arrival
// CHECK: return
func.func private @other(%out: memref<128xf32>) attributes {mlopt.kernel} {
  %t = arith.constant dense<1.0> : vector<64xf32>
  scf.forall (%i) = (0) to (128) step (64) {
    vector.transfer_write %t, %out[%i] {in_bounds = [true]} : vector<64xf32>, memref<128xf32>
  }
  return
}

// A task that runs through the parts in steps (mlopt-gpu-chunk-rows) has all of them, too.
// CHECK-LABEL: @stepped
// CHECK: scf.if
// CHECK: scf.for %[[STEP:.*]] = %c0{{.*}} to %c16{{.*}} step %c2
// CHECK: vector.transfer_read %arg1[%{{.*}}, %{{.*}}, %{{.*}}]
// CHECK: vector.transfer_write %{{.*}}, %arg2
// CHECK-NOT: scf.forall
// CHECK: return
func.func private @stepped(%a: memref<3x16x512xbf16>, %p: memref<16x3x512xf32>, %out: memref<3x512xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 0, 128, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 0, 128, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %begun = arith.constant dense<0.0> : vector<2x3x128xf32>
  %sums = arith.constant dense<0.0> : vector<3x128xf32>
  %t = arith.constant dense<1.0> : vector<1x3x128xf32>
  scf.forall (%s, %n) = (0, 0) to (16, 512) step (1, 128) {
    vector.transfer_write %t, %p[%s, %c0, %n] {in_bounds = [true, true, true]} : vector<1x3x128xf32>, memref<16x3x512xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0, 128, 64>, warps = array<i64: 4>}}
  scf.forall (%j) = (0) to (512) step (128) {
    %r = scf.for %k = %c0 to %c16 step %c2 iter_args(%acc = %begun) -> (vector<2x3x128xf32>) {
      %at = arith.addi %c0, %k : index
      %x = vector.transfer_read %p[%at, %c0, %j], %zero {in_bounds = [true, true, true]} : memref<16x3x512xf32>, vector<2x3x128xf32>
      %next = arith.addf %acc, %x : vector<2x3x128xf32>
      scf.yield %next : vector<2x3x128xf32>
    }
    %all = vector.multi_reduction <add>, %r, %sums [0] : vector<2x3x128xf32> to vector<3x128xf32>
    vector.transfer_write %all, %out[%c0, %j] {in_bounds = [true, true]} : vector<3x128xf32>, memref<3x512xf32>
  } {mlopt.schedule = {tile = array<i64: 0, 128, 0>, warps = array<i64: 4>}}
  return
}

// Some of the block's warps write the tile: in a branch, behind which all of them wait for the block's turn.
// CHECK-LABEL: @branch
// CHECK: scf.if
// CHECK: vector.transfer_write
// CHECK: mlopt.last_arrival
func.func private @branch(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    scf.if %yes {
      vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
    }
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  scf.forall (%i, %j) = (0, 0) to (128, 768) step (16, 64) {
    %x = vector.transfer_read %p[%c0, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<4x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<4x16x64xf32> to vector<16x64xf32>
    vector.transfer_write %r, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}
