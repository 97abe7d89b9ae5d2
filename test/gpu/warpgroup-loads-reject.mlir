// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads)' | FileCheck %s

// Products of mma.sync, which mlopt-gpu-pipeline-loads has for its own.
// CHECK-NOT: mlopt.warpgroup_mma
// CHECK: vector.contract {{.*}}m16n8k16.bf16
// CHECK-NOT: mlopt.warpgroup_mma
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @product(%a: memref<64x512xbf16>, %b: memref<512x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}
