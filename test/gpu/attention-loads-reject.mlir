// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-attention-loads)' | FileCheck %s

// Attention that mlopt-gpu-warpgroup-attention has not marked: mma.sync multiplies, mlopt-gpu-pipeline-loads copies.
// CHECK-LABEL: @attention
// CHECK-NOT: mlopt.shared_ring
// CHECK-NOT: mlopt.warpgroup_mma
// CHECK: vector.contract {{.*}}m16n8k16.bf16
// CHECK: vector.contract {{.*}}m16n8k16.bf16
// CHECK-NOT: mlopt.shared_ring
// CHECK-NOT: mlopt.warpgroup_mma
#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>
func.func private @attention(%q: memref<512x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
    %r = scf.for %n = %c0 to %end step %step iter_args(%acc = %zero) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 8>}}
  return
}
