// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREAD
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Rounds of four slots, 64 of the depth each.
// CHECK-DAG: #[[SLOT:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 64) mod 4)>
// CHECK-DAG: #[[ROUND:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 256) mod 2)>
// CHECK-LABEL: @product
// CHECK-NOT: mlopt.async
// CHECK-DAG: %[[A:[a-z0-9_]+]] = "mlopt.shared_ring"() : () -> memref<4x64x64xbf16
// CHECK-DAG: %[[B:[a-z0-9_]+]] = "mlopt.shared_ring"() : () -> memref<4x64x128xbf16
// CHECK: %[[FULL:[a-z0-9_]+]] = "mlopt.tma_barriers"() {arrivals = array<i64: 2>} : () -> memref<4xi64, #gpu.address_space<workgroup>>
// CHECK-COUNT-4: "mlopt.tma_load"
// CHECK: %[[D:[a-z0-9_]+]] = scf.for %[[K:[a-z0-9_]+]] =
// CHECK-NEXT: "mlopt.tma_turn"() {pending = 1 : i64, proxy = 1 : i64}
// CHECK: %[[X:[0-9]+]] = vector.transfer_read %arg0
// CHECK-NEXT: "mlopt.tma_load"(%[[X]], %[[A]], %{{.*}}, %{{.*}}, %c512{{.*}}, %[[FULL]])
// CHECK: "mlopt.tma_load"(%{{.*}}, %[[B]],
// CHECK-NEXT: "mlopt.tma_commit"()
// CHECK-NEXT: %[[SLOT0:[0-9]+]] = affine.apply #[[SLOT]](%[[K]])
// CHECK-NEXT: %[[ROUND0:[0-9]+]] = affine.apply #[[ROUND]](%[[K]])
// CHECK-NEXT: "mlopt.tma_wait"(%[[FULL]], %[[SLOT0]], %[[ROUND0]])
// CHECK-NEXT: "mlopt.warpgroup_mma"(%[[A]], %[[SLOT0]], %[[B]], %[[SLOT0]],
// CHECK-NOT: mlopt.async

// Behind the arguments of the aligned function are maps of its boxes. One thread makes an mbarrier for each slot, for
// two copies; each says how many bytes it brings. Two boxes for rows of 256 bytes, one behind the other.
// THREAD-LABEL: llvm.func @product(
// THREAD-SAME: %[[MA:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// THREAD-SAME: %[[MB:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant})
// THREAD-NOT: cp.async.shared
// THREAD-DAG: %[[TWO:[a-z0-9_]+]] = arith.constant 2 : i32
// THREAD-DAG: %[[LEFT:[a-z0-9_]+]] = arith.constant 8192 : i32
// THREAD-DAG: %[[RIGHT:[a-z0-9_]+]] = arith.constant 16384 : i32
// THREAD-COUNT-4: nvvm.mbarrier.init %{{[a-z0-9_]+}}, %[[TWO]]
// THREAD-NEXT: nvvm.fence.mbarrier.init
// THREAD: nvvm.fence.proxy
// THREAD-NEXT: nvvm.barrier0
// THREAD: scf.for
// THREAD-NEXT: nvvm.barrier0
// THREAD: scf.if
// THREAD: nvvm.mbarrier.arrive.expect_tx %[[BAR:[a-z0-9_]+]], %[[LEFT]]
// THREAD: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{[a-z0-9_]+}}, %[[MA]], %[[BAR]], box[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}]
// THREAD: scf.if
// THREAD: nvvm.mbarrier.arrive.expect_tx %[[BAR:[a-z0-9_]+]], %[[RIGHT]]
// THREAD: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{[a-z0-9_]+}}, %[[MB]], %[[BAR]], box[%{{[a-z0-9_]+}}, %[[ROW:[a-z0-9_]+]]]
// THREAD: llvm.getelementptr %{{[a-z0-9_]+}}[8192]
// THREAD: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{[a-z0-9_]+}}, %[[MB]], %[[BAR]], box[%{{[a-z0-9_]+}}, %[[ROW]]]
// THREAD: nvvm.mbarrier.try_wait.parity
// THREAD-NOT: nvvm.barrier0
// THREAD: wgmma.mma_async
// The twin has none of that: its threads copy, and wait for each other's copies.
// THREAD-LABEL: llvm.func @product_unaligned
// THREAD-NOT: tensor
// THREAD-NOT: mbarrier
// THREAD: nvvm.cp.async.commit.group
// THREAD: scf.for
// THREAD-NEXT: nvvm.cp.async.wait.group 1
// THREAD-NEXT: nvvm.fence.proxy
// THREAD-NEXT: nvvm.barrier0
func.func private @product(%a: memref<64x512xbf16>, %b: memref<512x128xbf16>, %out: memref<64x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x128xbf16>, vector<64x128xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x128xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x128xf32>, memref<64x128xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// Sizes that the call gives: the aligned function runs if there is a map of them, with 64 bytes a row of the box.
// THREAD-LABEL: func.func private @dynamic(
// THREAD: %[[FEW:[0-9]+]] = arith.subi
// THREAD: %{{[0-9]+}} = arith.cmpi ult, %[[FEW]], %c1073741824
// THREAD: scf.if
// THREAD: %[[MAP:[a-z0-9]+]]:2 = "mlopt.tensor_map"(%{{[0-9]+}}, %[[ROWS:[0-9]+]], %[[DEPTH:[0-9]+]])
// THREAD-SAME: box = array<i64: 64, 32>, element_bytes = 2 : i64, sizes = array<i64: -9223372036854775808, -9223372036854775808>, span = 64 : i64
// THREAD-NEXT: cf.assert %[[MAP]]#1, "RuntimeError: kernel 'dynamic' got no tensor map
// THREAD: gpu.launch_func @kernels::@dynamic {{.*}} %[[MAP]]#0 : !llvm.ptr
// THREAD: gpu.launch_func @kernels::@dynamic_unaligned
func.func private @dynamic(%a: memref<?x?xf16>, %b: memref<64x?xf16>, %out: memref<?x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %rows = memref.dim %a, %c0 : memref<?x?xf16>
  %depth = memref.dim %a, %c1 : memref<?x?xf16>
  %pad = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) = (0) to (%rows) step (64) {
    %d = scf.for %k = %c0 to %depth step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad : memref<?x?xf16>, vector<64x32xf16>
      %y = vector.transfer_read %b[%c0, %k], %pad : memref<64x?xf16>, vector<64x32xf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xf16>, vector<64x32xf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %c0] : vector<64x64xf32>, memref<?x64xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 2>}}
  return
}
