// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-split-keys)' --verify-diagnostics

// A schedule asks for parts of what is no attention.
func.func private @no_loop(%o: memref<8xf32>) attributes {mlopt.kernel, mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 2>, tile = array<i64: 8>, warps = array<i64: 1>}} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  // expected-error @+1 {{split-keys: its tasks do not have one loop, over keys; leave parts out of its schedule}}
  scf.forall (%i) in (1) {
    vector.transfer_write %zero, %o[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 2>, tile = array<i64: 8>, warps = array<i64: 1>}}
  return
}

// -----

// The workspace has a size that is known.
func.func private @tasks(%x: memref<?x512xf32>, %o: memref<?xf32>) attributes {mlopt.kernel, mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 2>, tile = array<i64: 1, 64>, warps = array<i64: 1>}} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %size = memref.dim %x, %c0 : memref<?x512xf32>
  %zero = arith.constant dense<0.0> : vector<1xf32>
  // expected-error @+1 {{split-keys: the number of its tasks is not known; leave parts out of its schedule}}
  scf.forall (%i) in (%size) {
    %r = scf.for %n = %c0 to %c512 step %c64 iter_args(%acc = %zero) -> (vector<1xf32>) {
      %v = vector.transfer_read %x[%i, %n], %pad {in_bounds = [true, true]} : memref<?x512xf32>, vector<1x64xf32>
      %s = vector.multi_reduction <add>, %v, %acc [1] : vector<1x64xf32> to vector<1xf32>
      scf.yield %s : vector<1xf32>
    }
    vector.transfer_write %r, %o[%i] {in_bounds = [true]} : vector<1xf32>, memref<?xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 2>, tile = array<i64: 1, 64>, warps = array<i64: 1>}}
  return
}

// -----

// Keys before the first are no part's.
func.func private @keys(%x: memref<8x?xf32>, %o: memref<8xf32>) attributes {mlopt.kernel, mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 2>, tile = array<i64: 1, 64>, warps = array<i64: 1>}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %size = memref.dim %x, %c1 : memref<8x?xf32>
  %zero = arith.constant dense<0.0> : vector<1xf32>
  // expected-error @+1 {{split-keys: its loop does not run over keys from 0 on, in steps of a known length; leave parts}}
  scf.forall (%i) in (8) {
    %r = scf.for %n = %c64 to %size step %c64 iter_args(%acc = %zero) -> (vector<1xf32>) {
      %v = vector.transfer_read %x[%i, %n], %pad {in_bounds = [true, false]} : memref<8x?xf32>, vector<1x64xf32>
      %s = vector.multi_reduction <add>, %v, %acc [1] : vector<1x64xf32> to vector<1xf32>
      scf.yield %s : vector<1xf32>
    }
    vector.transfer_write %r, %o[%i] {in_bounds = [true]} : vector<1xf32>, memref<8xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 2>, tile = array<i64: 1, 64>, warps = array<i64: 1>}}
  return
}

// -----

// A sum of rows has no running maximum.
func.func private @sum(%x: memref<8x512xf32>, %o: memref<8xf32>) attributes {mlopt.kernel, mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 2>, tile = array<i64: 1, 64>, warps = array<i64: 1>}} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  // expected-error @+1 {{split-keys: its loop carries no running maximum with sums that its exponential scales; leave parts}}
  scf.forall (%i) in (8) {
    %r = scf.for %n = %c0 to %c512 step %c64 iter_args(%acc = %zero) -> (vector<1xf32>) {
      %v = vector.transfer_read %x[%i, %n], %pad {in_bounds = [true, true]} : memref<8x512xf32>, vector<1x64xf32>
      %s = vector.multi_reduction <add>, %v, %acc [1] : vector<1x64xf32> to vector<1xf32>
      scf.yield %s : vector<1xf32>
    }
    vector.transfer_write %r, %o[%i] {in_bounds = [true]} : vector<1xf32>, memref<8xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 2>, tile = array<i64: 1, 64>, warps = array<i64: 1>}}
  return
}
