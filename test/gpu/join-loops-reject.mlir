// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-join-loops)' | FileCheck %s
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// The sums are doubled between the loops.
// CHECK-LABEL: @between
// CHECK-COUNT-2: scf.for %
func.func private @between(%x: memref<3x64x128xbf16>, %w: memref<128x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %r = scf.for %l = %c0 to %c3 step %c1 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %t = scf.for %c = %c0 to %c128 step %c64 iter_args(%u = %s) -> (vector<64x64xf32>) {
        %f = vector.transfer_read %x[%l, %i, %c], %pad {in_bounds = [true, true]} : memref<3x64x128xbf16>, vector<64x64xbf16>
        %g = vector.transfer_read %w[%c, %c0], %pad {in_bounds = [true, true]} : memref<128x64xbf16>, vector<64x64xbf16>
        %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
            %f, %g, %u : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
        scf.yield %d : vector<64x64xf32>
      }
      %v = arith.addf %t, %t : vector<64x64xf32>
      scf.yield %v : vector<64x64xf32>
    }
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 1, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// The inner loop begins anew with zeros.
// CHECK-LABEL: @anew
// CHECK-COUNT-2: scf.for %
func.func private @anew(%x: memref<3x64x128xbf16>, %w: memref<128x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %r = scf.for %l = %c0 to %c3 step %c1 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %t = scf.for %c = %c0 to %c128 step %c64 iter_args(%u = %zero) -> (vector<64x64xf32>) {
        %f = vector.transfer_read %x[%l, %i, %c], %pad {in_bounds = [true, true]} : memref<3x64x128xbf16>, vector<64x64xbf16>
        %g = vector.transfer_read %w[%c, %c0], %pad {in_bounds = [true, true]} : memref<128x64xbf16>, vector<64x64xbf16>
        %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
            %f, %g, %u : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
        scf.yield %d : vector<64x64xf32>
      }
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 1, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// Each step of the inner loop adds what the outer one's step began with, too.
// CHECK-LABEL: @again
// CHECK-COUNT-2: scf.for %
func.func private @again(%x: memref<3x64x128xbf16>, %w: memref<128x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %r = scf.for %l = %c0 to %c3 step %c1 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %t = scf.for %c = %c0 to %c128 step %c64 iter_args(%u = %s) -> (vector<64x64xf32>) {
        %f = vector.transfer_read %x[%l, %i, %c], %pad {in_bounds = [true, true]} : memref<3x64x128xbf16>, vector<64x64xbf16>
        %g = vector.transfer_read %w[%c, %c0], %pad {in_bounds = [true, true]} : memref<128x64xbf16>, vector<64x64xbf16>
        %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
            %f, %g, %u : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
        %e = arith.addf %d, %s : vector<64x64xf32>
        scf.yield %e : vector<64x64xf32>
      }
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 1, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// Nobody knows how many steps the inner loop has.
// CHECK-LABEL: @unknown
// CHECK-COUNT-2: scf.for %
func.func private @unknown(%x: memref<3x64x?xbf16>, %w: memref<?x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %w, %c0 : memref<?x64xbf16>
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %r = scf.for %l = %c0 to %c3 step %c1 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %t = scf.for %c = %c0 to %n step %c64 iter_args(%u = %s) -> (vector<64x64xf32>) {
        %f = vector.transfer_read %x[%l, %i, %c], %pad {in_bounds = [true, false]} : memref<3x64x?xbf16>, vector<64x64xbf16>
        %g = vector.transfer_read %w[%c, %c0], %pad {in_bounds = [false, true]} : memref<?x64xbf16>, vector<64x64xbf16>
        %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
            %f, %g, %u : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
        scf.yield %d : vector<64x64xf32>
      }
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 1, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// It is for no tensor cores.
// CHECK-LABEL: @scalars
// CHECK-COUNT-2: scf.for %
func.func private @scalars(%x: memref<3x64x128xf32>, %w: memref<128x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %r = scf.for %l = %c0 to %c3 step %c1 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %t = scf.for %c = %c0 to %c128 step %c64 iter_args(%u = %s) -> (vector<64x64xf32>) {
        %f = vector.transfer_read %x[%l, %i, %c], %pad {in_bounds = [true, true]} : memref<3x64x128xf32>, vector<64x64xf32>
        %g = vector.transfer_read %w[%c, %c0], %pad {in_bounds = [true, true]} : memref<128x64xf32>, vector<64x64xf32>
        %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
            %f, %g, %u : vector<64x64xf32>, vector<64x64xf32> into vector<64x64xf32>
        scf.yield %d : vector<64x64xf32>
      }
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 1, 64>, stages = array<i64: 1>, warps = array<i64: 4>}}
  return
}
