// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-distribute)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREADS
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// f32 whose last bits warpgroups would cut off: boxes round it on its way, by their maps; the twin's threads do.
// CHECK-LABEL: llvm.func @tf32(
// CHECK-NOT: tf32 %
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK: wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {{.*}}, a, b, p, 1, 1;
// CHECK-LABEL: llvm.func @tf32_unaligned(
// CHECK-NOT: nvvm.cp.async.shared
// CHECK: %[[X:.*]] = llvm.load
// CHECK: %[[R:.*]] = nvvm.convert.float.to.tf32 %{{.*}} {rnd = #nvvm.fp_rnd_mode<rn>}
// CHECK-NEXT: arith.bitcast %[[R]] : i32 to f32
// CHECK: wgmma.mma_async
// CHECK-LABEL: func.func private @tf32(
// CHECK-COUNT-2: "mlopt.tensor_map"({{.*}} {box = array<i64: 64, 32>, element_bytes = 4 : i64, rounds, sizes = array<i64: 64, 512>, span = 128 : i64}

// Without boxes threads round, also what a cp.async could copy.
// THREADS-LABEL: llvm.func @tf32(
// THREADS-NOT: nvvm.cp.async.shared
// THREADS: nvvm.convert.float.to.tf32
// THREADS: wgmma.mma_async
// THREADS-LABEL: llvm.func @tf32_unaligned(
// THREADS-NOT: nvvm.cp.async.shared
func.func private @tf32(%a: memref<64x512xf32>, %b: memref<64x512xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<64x32xf32>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<64x32xf32>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xf32>, vector<64x32xf32> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tf32 = array<i64: 1>, stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}
