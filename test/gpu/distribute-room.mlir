// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute{shared=6000})' | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts{shared=4000},mlopt-gpu-distribute{shared=4000})' | FileCheck %s --check-prefixes=CHECK,NONE

// Two tiles change hands side by side, a barrier for both; one after the other where a block has no room for
// both; not at all where it has none for one: they are read as they are then.
// CHECK-LABEL: llvm.func @turned(
// WIDE: nvvm.barrier0
// WIDE-NOT: nvvm.barrier0
// NARROW-COUNT-3: nvvm.barrier0
// NARROW-NOT: nvvm.barrier0
// NONE-NOT: nvvm.barrier0
// CHECK-LABEL: llvm.func @turned_unaligned(
// WIDE: mlopt.shared = 10464
// NARROW: mlopt.shared = 5232
// NONE: mlopt.shared = 0
func.func private @turned(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %z: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i, %j) = (0, 0) to (64, 64) step (32, 32) {
    %u = vector.transfer_read %z[%i, %j], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<32x32xf32>
    %v = vector.transfer_read %x[%j, %i], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<64x64xf32>, vector<32x32xf32>
    %w = vector.transfer_read %y[%j, %i], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<64x64xf32>, vector<32x32xf32>
    %t = arith.mulf %v, %w : vector<32x32xf32>
    %s = arith.addf %t, %u : vector<32x32xf32>
    vector.transfer_write %s, %out[%i, %j] {in_bounds = [true, true]} : vector<32x32xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 32, 32>, warps = array<i64: 4>}}
  return
}
