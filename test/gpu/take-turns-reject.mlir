// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-take-turns)' | FileCheck %s
// CHECK-NOT: turns =

// Nothing is shared.
func.func private @own(%x: memref<16384x1024xf32>, %w: memref<16384x1024xf32>, %s: memref<1024xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %w[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    %b = vector.broadcast %u : vector<1x1024xf32> to vector<1x1024xf32>
    %r = arith.mulf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<16384x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// A number is shared: no tile.
func.func private @number(%x: memref<16384x1024xf32>, %w: memref<16384x1024xf32>, %s: memref<1024xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %s[%c0], %pad {in_bounds = [true]} : memref<1024xf32>, vector<1xf32>
    %b = vector.broadcast %u : vector<1xf32> to vector<1x1024xf32>
    %r = arith.mulf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<16384x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// All blocks run at once as it is.
func.func private @few(%x: memref<800x1024xf32>, %w: memref<800x1024xf32>, %s: memref<1024xf32>, %out: memref<800x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (800) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<800x1024xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %s[%c0], %pad {in_bounds = [true]} : memref<1024xf32>, vector<1024xf32>
    %b = vector.broadcast %u : vector<1024xf32> to vector<1x1024xf32>
    %r = arith.mulf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<800x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// What is shared is written, too.
func.func private @written(%x: memref<16384x1024xf32>, %w: memref<16384x1024xf32>, %s: memref<1024xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %s[%c0], %pad {in_bounds = [true]} : memref<1024xf32>, vector<1024xf32>
    %b = vector.broadcast %u : vector<1024xf32> to vector<1x1024xf32>
    %r = arith.mulf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<16384x1024xf32>
    vector.transfer_write %u, %s[%c0] {in_bounds = [true]} : vector<1024xf32>, memref<1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// No row can be read ahead of what is written to the same buffer.
func.func private @in_place(%x: memref<16384x1024xf32>, %w: memref<16384x1024xf32>, %s: memref<1024xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %s[%c0], %pad {in_bounds = [true]} : memref<1024xf32>, vector<1024xf32>
    %b = vector.broadcast %u : vector<1024xf32> to vector<1x1024xf32>
    %r = arith.mulf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %x[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<16384x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// Tasks of threads have nothing in common.
func.func private @threads(%x: memref<16384x1024xf32>, %w: memref<16384x1024xf32>, %s: memref<1024xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %s[%c0], %pad {in_bounds = [true]} : memref<1024xf32>, vector<1024xf32>
    %b = vector.broadcast %u : vector<1024xf32> to vector<1x1024xf32>
    %r = arith.mulf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<16384x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tasks = array<i64: 128>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// A row in shared memory: a warp would write the next one while others still read this one.
func.func private @kept(%x: memref<16384x1024xf32>, %s: memref<1024xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %row = memref.alloca() : memref<1x1024xf32, #gpu.address_space<workgroup>>
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    vector.transfer_write %v, %row[%c0, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<1x1024xf32, #gpu.address_space<workgroup>>
    %u = vector.transfer_read %s[%c0], %pad {in_bounds = [true]} : memref<1024xf32>, vector<1024xf32>
    %b = vector.broadcast %u : vector<1024xf32> to vector<1x1024xf32>
    gpu.barrier
    %k = vector.transfer_read %row[%c0, %c0], %pad {in_bounds = [true, true]} : memref<1x1024xf32, #gpu.address_space<workgroup>>, vector<1x1024xf32>
    %r = arith.mulf %k, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<16384x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// What five tables would take of a thread's registers is too much, and with more warps than four some of them
// would have nothing of their own to load.
func.func private @tables(%x: memref<16384x1024xbf16>, %w: memref<5x1024xf32>, %out: memref<16384x1024xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : bf16
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %none {in_bounds = [true, true]} : memref<16384x1024xbf16>, vector<1x1024xbf16>
    %a = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : memref<5x1024xf32>, vector<1x1024xf32>
    %b = vector.transfer_read %w[%c1, %c0], %pad {in_bounds = [true, true]} : memref<5x1024xf32>, vector<1x1024xf32>
    %c = vector.transfer_read %w[%c2, %c0], %pad {in_bounds = [true, true]} : memref<5x1024xf32>, vector<1x1024xf32>
    %d = vector.transfer_read %w[%c3, %c0], %pad {in_bounds = [true, true]} : memref<5x1024xf32>, vector<1x1024xf32>
    %f = vector.transfer_read %w[%c4, %c0], %pad {in_bounds = [true, true]} : memref<5x1024xf32>, vector<1x1024xf32>
    %e = arith.extf %v : vector<1x1024xbf16> to vector<1x1024xf32>
    %p = arith.mulf %e, %a : vector<1x1024xf32>
    %q = arith.addf %p, %b : vector<1x1024xf32>
    %r = arith.mulf %q, %c : vector<1x1024xf32>
    %s = arith.addf %r, %d : vector<1x1024xf32>
    %t = arith.maximumf %s, %f : vector<1x1024xf32>
    %h = arith.truncf %t : vector<1x1024xf32> to vector<1x1024xbf16>
    vector.transfer_write %h, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xbf16>, memref<16384x1024xbf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}
