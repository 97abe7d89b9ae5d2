// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s

// Two totals over warps, one after the other, in different bytes: a barrier each, none between them.
// CHECK-LABEL: llvm.func @twice
// CHECK: llvm.store %{{.*}} !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.getelementptr %{{.*}}[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK: llvm.store %{{.*}} !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: nvvm.barrier0
// CHECK: mlopt.shared = 32
func.func private @twice(%x: memref<10x515xf32>, %out: memref<10x515xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<10x515xf32>, vector<1x515xf32>
    %m = vector.multi_reduction <maximumf>, %v, %zero [1] : vector<1x515xf32> to vector<1xf32>
    %c = vector.shape_cast %m : vector<1xf32> to vector<1x1xf32>
    %b = vector.broadcast %c : vector<1x1xf32> to vector<1x515xf32>
    %d = arith.subf %v, %b : vector<1x515xf32>
    %s = vector.multi_reduction <add>, %d, %zero [1] : vector<1x515xf32> to vector<1xf32>
    %t = vector.shape_cast %s : vector<1xf32> to vector<1x1xf32>
    %e = vector.broadcast %t : vector<1x1xf32> to vector<1x515xf32>
    %f = arith.divf %d, %e : vector<1x515xf32>
    vector.transfer_write %f, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x515xf32>, memref<10x515xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// In a loop: before a step writes, all must have read what the last one wrote.
// CHECK-LABEL: llvm.func @loop
// CHECK: scf.for %
// CHECK: nvvm.barrier0
// CHECK: llvm.store %{{.*}} !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} !llvm.ptr<3>
// CHECK: scf.yield
// CHECK-NOT: nvvm.barrier0
// CHECK: mlopt.shared = 16
func.func private @loop(%x: memref<10x515xf32>, %out: memref<1xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %pad = arith.constant 0.0 : f32
  %half = arith.constant dense<0.5> : vector<1xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %s = scf.for %k = %c0 to %c10 step %c1 iter_args(%acc = %half) -> (vector<1xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [true, true]} : memref<10x515xf32>, vector<1x515xf32>
      %h = arith.mulf %acc, %half : vector<1xf32>
      %t = vector.multi_reduction <add>, %v, %h [1] : vector<1x515xf32> to vector<1xf32>
      scf.yield %t : vector<1xf32>
    }
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<1xf32>, memref<1xf32>
  } {mlopt.schedule = {tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}

// -----

// More than 2^31 elements, or positions from memory: 64 bits.
// CHECK-LABEL: llvm.func @large
// CHECK: arith.extui %{{.*}} : i32 to i64
// CHECK: arith.muli %{{.*}}, %c65536_i64
// CHECK: llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
func.func private @large(%x: memref<65536x65536xf32>, %out: memref<65536x65536xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i, %j) = (0, 0) to (65536, 65536) step (1, 512) {
    %v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, true]} : memref<65536x65536xf32>, vector<1x512xf32>
    vector.transfer_write %v, %out[%i, %j] {in_bounds = [true, true]} : vector<1x512xf32>, memref<65536x65536xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 512>, warps = array<i64: 4>}}
  return
}

// -----

// Two tiles are turned at once: loads, stores, one barrier.
// CHECK-LABEL: llvm.func @two
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 16 : i64}
// CHECK: llvm.store %{{.*}} !llvm.ptr<3>
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.getelementptr %{{.*}}[{{[0-9]+}}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK: llvm.store %{{.*}} !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} !llvm.ptr<3>
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
#turned = affine_map<(d0, d1) -> (d1, d0)>
func.func private @two(%x: memref<64x96xf32>, %y: memref<64x96xf32>, %z: memref<96x64xf32>, %out: memref<96x64xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i, %j) = (0, 0) to (96, 64) step (32, 32) {
    %w = vector.transfer_read %z[%i, %j], %pad {in_bounds = [true, true]} : memref<96x64xf32>, vector<32x32xf32>
    %v = vector.transfer_read %x[%j, %i], %pad {in_bounds = [true, true], permutation_map = #turned} : memref<64x96xf32>, vector<32x32xf32>
    %u = vector.transfer_read %y[%j, %i], %pad {in_bounds = [true, true], permutation_map = #turned} : memref<64x96xf32>, vector<32x32xf32>
    %s = arith.addf %v, %u : vector<32x32xf32>
    %t = arith.addf %s, %w : vector<32x32xf32>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<32x32xf32>, memref<96x64xf32>
  } {mlopt.schedule = {tile = array<i64: 32, 32>, warps = array<i64: 4>}}
  return
}

// -----

// A tile is turned before a total is made, and another one after it: in the same 33,008 bytes, with barriers between.
// CHECK-LABEL: llvm.func @again
// CHECK: llvm.store %{{.*}} !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.store %{{.*}} !llvm.ptr<3>
// CHECK: dynamic_shared_memory_size %c33008_i32
func.func private @again(%x: memref<64x128xf32>, %one: memref<128x64xf32>, %other: memref<128x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (1) step (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x128xf32>, vector<64x128xf32>
    %t = vector.transpose %v, [1, 0] : vector<64x128xf32> to vector<128x64xf32>
    vector.transfer_write %t, %one[%c0, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<128x64xf32>
    %s = vector.multi_reduction <add>, %v, %pad [0, 1] : vector<64x128xf32> to f32
    %b = vector.broadcast %s : f32 to vector<128x64xf32>
    %w = arith.mulf %t, %b : vector<128x64xf32>
    vector.transfer_write %w, %other[%c0, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<128x64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 0, 0>, warps = array<i64: 8>}}
  return
}

// -----

// A row that is kept: four elements at once, and one barrier, though loops come between.
// CHECK-LABEL: llvm.func @kept
// CHECK: scf.for %
// CHECK:   llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: scf.for %
// CHECK:   llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.func @kept_unaligned
// CHECK:   llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK: mlopt.shared = 16384
func.func private @kept(%x: memref<4096xf32>, %out: memref<4096xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<512xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %row = memref.alloca() : memref<4096xf32, #gpu.address_space<workgroup>>
    %m = scf.for %k = %c0 to %c4096 step %c512 iter_args(%a = %low) -> (vector<512xf32>) {
      %v = vector.transfer_read %x[%k], %pad {in_bounds = [true]} : memref<4096xf32>, vector<512xf32>
      vector.transfer_write %v, %row[%k] {in_bounds = [true]} : vector<512xf32>, memref<4096xf32, #gpu.address_space<workgroup>>
      %n = arith.maximumf %a, %v : vector<512xf32>
      scf.yield %n : vector<512xf32>
    }
    gpu.barrier
    scf.for %k = %c0 to %c4096 step %c512 {
      %v = vector.transfer_read %row[%k], %pad {in_bounds = [true]} : memref<4096xf32, #gpu.address_space<workgroup>>, vector<512xf32>
      %s = arith.subf %v, %m : vector<512xf32>
      vector.transfer_write %s, %out[%k] {in_bounds = [true]} : vector<512xf32>, memref<4096xf32>
    }
  } {mlopt.schedule = {tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}
