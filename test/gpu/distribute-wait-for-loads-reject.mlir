// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s

// Unless the schedule says so, nothing is waited for: ptxas orders loads and what is computed.
// CHECK-LABEL: llvm.func @gated(
// CHECK-NOT: inline_asm
// CHECK-COUNT-8: math.erf
func.func private @gated(%a: memref<128x2048xbf16>, %b: memref<128x2048xbf16>, %out: memref<128x2048xbf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : bf16
  scf.forall (%i, %j) = (0, 0) to (128, 2048) step (1, 1024) {
    %x = vector.transfer_read %a[%i, %j], %pad {in_bounds = [true, true]} : memref<128x2048xbf16>, vector<1x1024xbf16>
    %e = math.erf %x : vector<1x1024xbf16>
    %y = vector.transfer_read %b[%i, %j], %pad {in_bounds = [true, true]} : memref<128x2048xbf16>, vector<1x1024xbf16>
    %z = arith.mulf %e, %y : vector<1x1024xbf16>
    vector.transfer_write %z, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1024xbf16>, memref<128x2048xbf16>
  } {mlopt.schedule = {tile = array<i64: 1, 1024>, warps = array<i64: 4>, min_blocks = array<i64: 16>}}
  return
}
