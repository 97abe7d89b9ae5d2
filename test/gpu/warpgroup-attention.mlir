// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-warpgroup-attention)' | FileCheck %s
#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>

// Both products of each loop: 64 rows of a warpgroup, of two below each other, by a step's keys and a head's
// elements. The second loop goes on where the first one has ended.
// CHECK-LABEL: @attention
// CHECK-NOT: mlopt.by_warps
// CHECK: vector.contract {{.*}}mlopt.mma = "m64n32k16.bf16"
// CHECK: vector.contract {{.*}}mlopt.mma = "m64n64k16.bf16"
// CHECK: vector.contract {{.*}}mlopt.mma = "m64n32k16.bf16"
// CHECK: vector.contract {{.*}}mlopt.mma = "m64n64k16.bf16"
func.func private @attention(%q: memref<512x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<128x32xf32>
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
    %whole = arith.minsi %i, %end : index
    %p = scf.for %n = %c0 to %whole step %step iter_args(%acc = %zero) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<32x64xbf16> into vector<128x32xf32>
      %e = math.exp2 %d : vector<128x32xf32>
      %w = arith.truncf %e : vector<128x32xf32> to vector<128x32xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x32xbf16>, vector<32x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    %r = scf.for %n = %whole to %end step %step iter_args(%acc = %p) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<32x64xbf16> into vector<128x32xf32>
      %e = math.exp2 %d : vector<128x32xf32>
      %w = arith.truncf %e : vector<128x32xf32> to vector<128x32xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x32xbf16>, vector<32x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 8>}}
  return
}
