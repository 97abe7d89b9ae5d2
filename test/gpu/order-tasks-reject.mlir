// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-order-tasks)' | FileCheck %s

// All rows share the bias, but the parts of a row are neighbours in memory.
// CHECK-LABEL: @rows
// CHECK: scf.forall {{.*}} to (512, 4096) step (1, 1024)
func.func private @rows(%x: memref<512x4096xf32>, %w: memref<4096xf32>, %out: memref<512x4096xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i, %j) = (0, 0) to (512, 4096) step (1, 1024) {
    %v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, true]} : memref<512x4096xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %w[%j], %pad {in_bounds = [true]} : memref<4096xf32>, vector<1024xf32>
    %b = vector.broadcast %u : vector<1024xf32> to vector<1x1024xf32>
    %r = arith.addf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<512x4096xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1024>, warps = array<i64: 4>}}
  return
}

// A batch's images share the parameters of a channel: 4 bytes of 8 KB.
// CHECK-LABEL: @channels
// CHECK: scf.forall {{.*}} in (8, 32) {
func.func private @channels(%x: memref<8x32x1024xf32>, %w: memref<32xf32>, %out: memref<8x32x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%n, %c) = (0, 0) to (8, 32) step (1, 1) {
    %v = vector.transfer_read %x[%n, %c, %c0], %pad {in_bounds = [true, true, true]} : memref<8x32x1024xf32>, vector<1x1x1024xf32>
    %u = vector.transfer_read %w[%c], %pad {in_bounds = [true]} : memref<32xf32>, vector<1xf32>
    %b = vector.broadcast %u : vector<1xf32> to vector<1x1x1024xf32>
    %r = arith.mulf %v, %b : vector<1x1x1024xf32>
    vector.transfer_write %r, %out[%n, %c, %c0] {in_bounds = [true, true, true]} : vector<1x1x1024xf32>, memref<8x32x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 0>, warps = array<i64: 4>}}
  return
}

// Lanes are tasks of the last loop; turns name a loop.
// CHECK-LABEL: @lanes
// CHECK: scf.forall {{.*}} in (4, 256) {
// CHECK: scf.forall {{.*}} to (4, 256)
func.func private @lanes(%x: memref<4x256x64xf32>, %w: memref<256x64xf32>, %out: memref<4x256x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%h, %i) = (0, 0) to (4, 256) step (1, 1) {
    %v = vector.transfer_read %x[%h, %i, %c0], %pad {in_bounds = [true, true, true]} : memref<4x256x64xf32>, vector<1x1x1xf32>
    %u = vector.transfer_read %w[%i, %c0], %pad {in_bounds = [true, true]} : memref<256x64xf32>, vector<1x1xf32>
    %b = vector.broadcast %u : vector<1x1xf32> to vector<1x1x1xf32>
    %r = arith.mulf %v, %b : vector<1x1x1xf32>
    vector.transfer_write %r, %out[%h, %i, %c0] {in_bounds = [true, true, true]} : vector<1x1x1xf32>, memref<4x256x64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tasks = array<i64: 128>, tile = array<i64: 1, 1, 1>, warps = array<i64: 4>}}
  scf.forall (%h, %i) = (0, 0) to (4, 256) step (1, 16) {
    %v = vector.transfer_read %x[%h, %i, %c0], %pad {in_bounds = [true, true, true]} : memref<4x256x64xf32>, vector<1x16x64xf32>
    %u = vector.transfer_read %w[%i, %c0], %pad {in_bounds = [true, true]} : memref<256x64xf32>, vector<16x64xf32>
    %b = vector.broadcast %u : vector<16x64xf32> to vector<1x16x64xf32>
    %r = arith.mulf %v, %b : vector<1x16x64xf32>
    vector.transfer_write %r, %out[%h, %i, %c0] {in_bounds = [true, true, true]} : vector<1x16x64xf32>, memref<4x256x64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 16, 0>, turns = array<i64: 0, 2>, warps = array<i64: 4>}}
  return
}
