// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s

// A word of each access is waited for before anything is computed, and the second load not moved to where it is
// used; the twin for what is not aligned has too many accesses for that.
// CHECK-LABEL: llvm.func @gated(
// CHECK: %[[A:.*]] = llvm.load {{.*}} -> vector<8xbf16>
// CHECK: %[[B:.*]] = llvm.load {{.*}} -> vector<8xbf16>
// CHECK-NOT: math.erf
// CHECK: llvm.inline_asm has_side_effects "{ .reg .pred p; .reg .b32 z; mov.u32 z, %ctaid.z; setp.eq.u32 p, z, 1; setp.eq.and.b32 p, $0, 1, p; setp.eq.and.b32 p, $1, 1, p; @p exit; }", "r,r"
// CHECK-COUNT-8: math.erf
// CHECK-LABEL: llvm.func @gated_unaligned(
// CHECK-NOT: inline_asm
func.func private @gated(%a: memref<128x2048xbf16>, %b: memref<128x2048xbf16>, %out: memref<128x2048xbf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : bf16
  scf.forall (%i, %j) = (0, 0) to (128, 2048) step (1, 1024) {
    %x = vector.transfer_read %a[%i, %j], %pad {in_bounds = [true, true]} : memref<128x2048xbf16>, vector<1x1024xbf16>
    %e = math.erf %x : vector<1x1024xbf16>
    %y = vector.transfer_read %b[%i, %j], %pad {in_bounds = [true, true]} : memref<128x2048xbf16>, vector<1x1024xbf16>
    %z = arith.mulf %e, %y : vector<1x1024xbf16>
    vector.transfer_write %z, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1024xbf16>, memref<128x2048xbf16>
  } {mlopt.schedule = {tile = array<i64: 1, 1024>, warps = array<i64: 4>, min_blocks = array<i64: 16>, wait_for_loads = array<i64: 1>}}
  return
}
