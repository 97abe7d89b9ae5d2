// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads{shared=232448},mlopt-gpu-tma-loads,mlopt-gpu-warp-roles{shared=233472},mlopt-gpu-pair-blocks{machine=h100},mlopt-gpu-tma-stores{shared=232448},mlopt-gpu-persistent-grid{machine=h100 shared=233472},mlopt-gpu-ping-pong{shared=233472})' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads{shared=232448},mlopt-gpu-tma-loads,mlopt-gpu-warp-roles{shared=233472},mlopt-gpu-pair-blocks{machine=h100},mlopt-gpu-tma-stores{shared=232448},mlopt-gpu-persistent-grid{machine=h100 shared=233472},mlopt-gpu-ping-pong{shared=233472},mlopt-gpu-distribute{shared=232448})' | FileCheck %s --check-prefix=THREAD
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Two warpgroups begin with the first and the second of the block's tiles, and go on by two. Each waits until the other
// one has waited for all of its steps, and lets it go on before its own product is there. What they read is given back
// by the four warps of one, in both blocks of a cluster.
// CHECK-DAG: #[[OTHER:[a-z0-9]+]] = affine_map<(d0) -> (-d0 + 1)>
// CHECK-DAG: #[[BEFORE:[a-z0-9]+]] = affine_map<(d0)[s0] -> (d0 * s0)>
// CHECK-DAG: #[[ROUND:[a-z0-9]+]] = affine_map<(d0) -> ((d0 ceildiv 2 + 1) mod 2)>
// CHECK-LABEL: @product
// CHECK: "mlopt.tma_barriers"() {arrivals = array<i64: 2, 8>}
// CHECK: %[[ORDER:[0-9]+]] = "mlopt.tma_barriers"() {arrivals = array<i64: 4>} : () -> memref<2xi64
// CHECK-NEXT: %[[ROLE:[0-9]+]]:3 = "mlopt.warp_roles"
// CHECK-NEXT: %[[TURNS:[0-9]+]] = "mlopt.turns"
// CHECK: %[[OWN:[0-9]+]] = "mlopt.consumer"
// CHECK-NEXT: %[[NEXT:[0-9]+]] = affine.apply #[[OTHER]](%[[OWN]])
// CHECK-NEXT: %[[TWO:c2[_0-9]*]] = arith.constant 2
// CHECK-NEXT: scf.if %[[ROLE]]#0 {
// CHECK-NEXT: scf.if %[[ROLE]]#1 {
// CHECK-NOT: mlopt.pass_on
// CHECK: scf.for %{{[a-z0-9]+}} = %c0{{[_0-9]*}} to %[[TURNS]] step %c1{{[_0-9]*}} {
// CHECK: } else {
// CHECK: scf.for %[[TURN:[a-z0-9]+]] = %[[OWN]] to %[[TURNS]] step %[[TWO]] {
// CHECK-NEXT: "mlopt.task"(%[[TURN]])
// CHECK-NEXT: affine.apply #[[BEFORE]](%[[TURN]])
// CHECK: %[[NUMBER:[0-9]+]] = affine.apply #[[ROUND]](%[[TURN]])
// CHECK-NEXT: "mlopt.tma_wait"(%[[ORDER]], %[[OWN]], %[[NUMBER]])
// CHECK-NEXT: scf.for %
// CHECK: "mlopt.warpgroup_mma"
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: "mlopt.pass_on"(%[[ORDER]], %[[NEXT]])
// CHECK-NEXT: "mlopt.warpgroup_result"
// CHECK: consumers = array<i64: 2>
// CHECK-NOT: ping_pong
// CHECK-SAME: roles = array<i64: 1, 1>

// 288 threads, of which 128 share a tile, and one warp copies. What both store is 32 KB apart; each meets at a barrier
// of its own.
// THREAD-LABEL: llvm.func @product(
// THREAD-SAME: nvvm.maxntid = array<i32: 288, 1, 1>
// THREAD: %[[THREAD:[0-9]+]] = nvvm.read.ptx.sreg.tid.x
// THREAD: arith.andi %[[THREAD]], %{{c127[_a-z0-9]*}}
// THREAD: %[[WARP:[0-9]+]] = nvvm.shfl.sync idx
// THREAD: %[[PART:[0-9]+]] = arith.shrui %[[WARP]], %c2
// THREAD: %[[APART:[a-z0-9_]+]] = arith.constant 32768 : i32
// THREAD: arith.muli %[[PART]], %[[APART]]
// THREAD: %[[METAT:[0-9]+]] = arith.addi %[[PART]], %c1
// THREAD: scf.for %{{[a-z0-9]+}} = %[[PART]] to
// THREAD: nvvm.mbarrier.try_wait.parity
// THREAD: wgmma.mma_async
// THREAD: nvvm.mbarrier.arrive
// THREAD: wgmma.wait_group.sync.aligned 0
// THREAD: nvvm.barrier id = %[[METAT]] number_of_threads = %c128
// The twin has one warpgroup.
// THREAD-LABEL: llvm.func @product_unaligned
// THREAD-SAME: nvvm.maxntid = array<i32: 128, 1, 1>
func.func private @product(%a: memref<2048x512xbf16>, %b: memref<4096x512xbf16>, %out: memref<2048x4096xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x256xf32>
  scf.forall (%i, %j) = (0, 0) to (2048, 4096) step (64, 256) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x256xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<4096x512xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<256x64xbf16> into vector<64x256xf32>
      scf.yield %t : vector<64x256xf32>
    }
    %h = arith.truncf %d : vector<64x256xf32> to vector<64x256xbf16>
    vector.transfer_write %h, %out[%i, %j] {in_bounds = [true, true]} : vector<64x256xbf16>, memref<2048x4096xbf16>
  } {mlopt.schedule = {ping_pong = array<i64: 2>, warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}
