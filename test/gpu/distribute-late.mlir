// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s

// The kernel for aligned buffers has registers enough: a residual is added to all sums at once, without a fence.
// CHECK-LABEL: llvm.func @product(
// CHECK-NOT: %ctaid.z;
// CHECK-LABEL: llvm.func @product_unaligned(
// The twin makes 8 registers where they are stored, and after 16 comes a branch that nobody takes.
// CHECK-COUNT-32: arith.truncf
// CHECK-NOT: llvm.store
// CHECK-COUNT-8: arith.addf
// CHECK-NOT: arith.addf
// CHECK-COUNT-4: llvm.store {{.*}}!llvm.ptr<3>
// CHECK-COUNT-8: arith.addf
// CHECK-COUNT-4: llvm.store {{.*}}!llvm.ptr<3>
// CHECK: llvm.inline_asm has_side_effects "{{.*}}mov.u32 z, %ctaid.z; setp.eq.u32 p, z, 1; @p exit; }"
// CHECK-COUNT-8: arith.addf
// CHECK-COUNT-4: llvm.store {{.*}}!llvm.ptr<3>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @product(%a: memref<64x512xbf16>, %b: memref<512x64xbf16>, %r: memref<64x64xbf16>, %out: memref<64x64xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    %e = vector.transfer_read %r[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xbf16>, vector<64x64xbf16>
    %f = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    %g = arith.addf %f, %e : vector<64x64xbf16>
    vector.transfer_write %g, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xbf16>, memref<64x64xbf16>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, warps = array<i64: 4>}}
  return
}
