// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-warp-roles,mlopt-gpu-pair-blocks{machine=h100})' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-warp-roles,mlopt-gpu-pair-blocks{machine=h100},mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREAD
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// The columns are the same for two neighbouring blocks; each slot is empty when eight warps have read it.
// CHECK-LABEL: @product
// CHECK: "mlopt.tma_barriers"() {arrivals = array<i64: 2, 8>}
// CHECK: vector.transfer_read %arg0
// CHECK-NEXT: "mlopt.tma_load"({{.*}}) {alone} :
// CHECK-NEXT: vector.transfer_read %arg1
// CHECK-NEXT: "mlopt.tma_load"({{.*}}) {alone, both} :
// CHECK: } else {
// CHECK-NOT: both
// CHECK: vector.transfer_write
// CHECK: "mlopt.pair_wait"()
// CHECK-NEXT: } {mlopt.schedule = {cluster = array<i64: 2>, group = array<i64: 0, 1, 2>

// Half of the rows of each tile of columns: a box of 64 rows, from the block's rank on; a map of such boxes alone.
// THREAD-LABEL: llvm.func @product(
// THREAD-SAME: %[[MA:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// THREAD-SAME: %[[MB:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}) attributes {{.*}}nvvm.cluster_dim = array<i32: 2, 1, 1>
// THREAD-DAG: %[[ALL:[a-z0-9_]+]] = arith.constant 16384 : i32
// THREAD-DAG: %[[BOTH:[a-z0-9_]+]] = arith.constant 3 : i16
// THREAD: nvvm.barrier0
// THREAD-NEXT: nvvm.cluster.arrive {aligned}
// THREAD-NEXT: nvvm.cluster.wait {aligned}
// THREAD: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{[0-9]+}}, %[[MA]], %{{[0-9]+}}, box[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] : !llvm.ptr<7>, !llvm.ptr
// THREAD: nvvm.mbarrier.arrive.expect_tx %{{[0-9]+}}, %[[ALL]]
// THREAD: %[[RANK:[0-9]+]] = nvvm.read.ptx.sreg.cluster.ctarank
// THREAD: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{[0-9]+}}, %[[MB]], %{{[0-9]+}}, box[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] multicast_mask = %[[BOTH]]
// THREAD: } else {
// THREAD: mapa.shared::cluster.u32 remote, $0, $1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];
// THREAD: nvvm.cluster.arrive {aligned}
// THREAD-NEXT: nvvm.cluster.wait {aligned}
// THREAD-NEXT: llvm.return
// THREAD-LABEL: llvm.func @product_unaligned
// THREAD-NOT: cluster
// THREAD-LABEL: llvm.func @turned
func.func private @product(%a: memref<2048x512xbf16>, %b: memref<2048x512xbf16>, %out: memref<2048x2048xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i, %j) = (0, 0) to (2048, 2048) step (64, 128) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<128x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<128x64xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    vector.transfer_write %d, %out[%i, %j] {in_bounds = [true, true]} : vector<64x128xf32>, memref<2048x2048xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// Rows along the columns, of 256 bytes: of two whole boxes each block copies one. A band of 16 stays.
// CHECK-LABEL: @turned
// CHECK: {alone, both}
// CHECK: group = array<i64: 0, 1, 16>
// THREAD: nvvm.read.ptx.sreg.cluster.ctarank
// THREAD: multicast_mask
// THREAD-NOT: multicast_mask
// THREAD-LABEL: llvm.func @turned_unaligned
func.func private @turned(%a: memref<2048x512xf16>, %b: memref<512x2048xf16>, %out: memref<2048x2048xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i, %j) = (0, 0) to (2048, 2048) step (64, 128) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<2048x512xf16>, vector<64x64xf16>
      %y = vector.transfer_read %b[%k, %j], %pad {in_bounds = [true, true]} : memref<512x2048xf16>, vector<64x128xf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xf16>, vector<64x128xf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    vector.transfer_write %d, %out[%i, %j] {in_bounds = [true, true]} : vector<64x128xf32>, memref<2048x2048xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>, group = array<i64: 0, 1, 16>}}
  return
}
