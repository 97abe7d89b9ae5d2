// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads{shared=232448},mlopt-gpu-tma-loads,mlopt-gpu-warp-roles{shared=233472},mlopt-gpu-pair-blocks{machine=h100},mlopt-gpu-tma-stores{shared=232448},mlopt-gpu-persistent-grid{machine=h100 shared=233472})' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads{shared=232448},mlopt-gpu-tma-loads,mlopt-gpu-warp-roles{shared=233472},mlopt-gpu-pair-blocks{machine=h100},mlopt-gpu-tma-stores{shared=232448},mlopt-gpu-persistent-grid{machine=h100 shared=233472},mlopt-gpu-distribute{shared=232448})' | FileCheck %s --check-prefix=THREAD
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Eight steps of each task; slots and rounds count on.
// CHECK-DAG: #[[BEFORE:[a-z0-9]+]] = affine_map<(d0)[s0] -> (d0 * s0)>
// CHECK-DAG: #[[SLOT:[a-z0-9]+]] = affine_map<(d0, d1) -> ((d0 floordiv 64 + d1) mod 4)>
// CHECK-DAG: #[[ROUND:[a-z0-9]+]] = affine_map<(d0, d1) -> (((d0 floordiv 64 + d1) floordiv 4) mod 2)>
// CHECK-DAG: #[[EMPTY:[a-z0-9]+]] = affine_map<(d0, d1) -> (((d0 floordiv 64 + d1) floordiv 4 + 1) mod 2)>
// CHECK-DAG: #[[LAST:[a-z0-9]+]] = affine_map<(d0, d1) -> ((d0 floordiv 64 + d1 + 3) mod 4)>
// CHECK-LABEL: @product
// CHECK: %[[ROLE:[0-9]+]]:3 = "mlopt.warp_roles"
// CHECK-NEXT: %[[TURNS:[0-9]+]] = "mlopt.turns"
// CHECK-NEXT: %[[STEPS:c8[_0-9]*]] = arith.constant 8
// The thread that copies goes from task to task.
// CHECK-NEXT: scf.if %[[ROLE]]#0 {
// CHECK-NEXT: scf.if %[[ROLE]]#1 {
// CHECK: scf.for %[[TURN:[a-z0-9]+]] = %{{.*}} to %[[TURNS]]
// CHECK-NEXT: "mlopt.task"(%[[TURN]])
// CHECK-NEXT: %[[DONE:[0-9]+]] = affine.apply #[[BEFORE]](%[[TURN]])[%[[STEPS]]]
// CHECK-NEXT: scf.for %[[K:[a-z0-9]+]] =
// CHECK-NEXT: %[[S:[0-9]+]] = affine.apply #[[SLOT]](%[[K]], %[[DONE]])
// CHECK-NEXT: %[[R:[0-9]+]] = affine.apply #[[EMPTY]](%[[K]], %[[DONE]])
// CHECK-NEXT: "mlopt.tma_wait"(%{{[0-9]+}}#1, %[[S]], %[[R]])
// CHECK: "mlopt.tma_load"(%{{[0-9]+}}, %{{[0-9]+}}, %[[S]], %[[K]], {{.*}}) {alone}
// So do the others.
// CHECK: } else {
// CHECK: scf.for %[[TURN:[a-z0-9]+]] = %{{.*}} to %[[TURNS]]
// CHECK-NEXT: "mlopt.task"(%[[TURN]])
// CHECK-NEXT: %[[DONE:[0-9]+]] = affine.apply #[[BEFORE]](%[[TURN]])[%[[STEPS]]]
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK: %[[S:[0-9]+]] = affine.apply #[[SLOT]](%[[K]], %[[DONE]])
// CHECK-NEXT: %[[R:[0-9]+]] = affine.apply #[[ROUND]](%[[K]], %[[DONE]])
// CHECK-NEXT: "mlopt.tma_wait"(%{{[0-9]+}}#0, %[[S]], %[[R]])
// CHECK-NEXT: "mlopt.warpgroup_mma"(%{{[0-9]+}}, %[[S]], %{{[0-9]+}}, %[[S]],
// CHECK: %[[F:[0-9]+]] = affine.apply #[[LAST]](%[[K]], %[[DONE]])
// CHECK-NEXT: "mlopt.tma_free"(%{{[0-9]+}}#1, %[[F]],
// The last step's slot is free before what follows; rings stay, but in the twin, whose blocks have one task.
// CHECK: "mlopt.warpgroup_result"
// CHECK: %[[F:[0-9]+]] = affine.apply #[[SLOT]](%c511{{[_0-9]*}}, %[[DONE]])
// CHECK-NEXT: "mlopt.tma_free"(%{{[0-9]+}}#1, %[[F]], %c0{{[_0-9]*}}, %c512{{[_0-9]*}})
// CHECK-NEXT: scf.if %[[ROLE]]#2 {
// CHECK-COUNT-2: mlopt.release
// CHECK-NEXT: }
// 32 KB of 64 fit beside four stages: half of the columns at once.
// CHECK: "mlopt.tma_tile"({{.*}}) {cut = array<i64: 1, 2>
// CHECK-NEXT: vector.transfer_write {{.*}} memref<2048x4096xbf16>
// CHECK-NEXT: }
// CHECK-NEXT: "mlopt.tma_stored"()
// CHECK: persistent = array<i64: 132>

// Both loops run from the block's number on in steps of 132 tasks. Slots come at 0 and 64 KB, barriers behind
// them, then 32 KB for stores: of each half, when the one before has been read.
// THREAD-LABEL: llvm.func @product(
// THREAD-DAG: %[[BLOCK:[0-9]+]] = nvvm.read.ptx.sreg.ctaid.x
// THREAD-DAG: %[[MANY:c[a-z0-9_]+]] = arith.constant 132 : i32
// THREAD: arith.divui %{{[0-9]+}}, %[[MANY]]
// THREAD: scf.for %[[TURN:[a-z0-9]+]] =
// THREAD-NEXT: %[[PLACE:[0-9]+]] = arith.muli %[[TURN]], %[[MANY]]
// THREAD-NEXT: arith.addi %{{[0-9]+}}, %[[PLACE]]
// THREAD: nvvm.cp.async.bulk.tensor.shared.cluster.global
// THREAD: scf.for %[[TURN:[a-z0-9]+]] =
// THREAD-NEXT: %[[PLACE:[0-9]+]] = arith.muli %[[TURN]], %[[MANY]]
// THREAD: wgmma.mma_async
// THREAD: wgmma.wait_group.sync.aligned 0
// THREAD: nvvm.mbarrier.arrive
// THREAD: nvvm.cp.async.bulk.wait_group 0 {read}
// THREAD: nvvm.barrier
// THREAD-COUNT-8: nvvm.stmatrix
// THREAD-NOT: nvvm.stmatrix
// THREAD: nvvm.cp.async.bulk.commit.group
// THREAD-NOT: nvvm.stmatrix
// THREAD: nvvm.cp.async.bulk.wait_group 0 {read}
// THREAD: nvvm.barrier
// THREAD-COUNT-8: nvvm.stmatrix
// THREAD: nvvm.cp.async.bulk.commit.group
// THREAD: }
// THREAD: nvvm.cp.async.bulk.wait_group 0 {read}
// The twin has neither loop, and a block for each of its tasks.
// THREAD-LABEL: llvm.func @product_unaligned
// THREAD-NOT: arith.constant 132
// THREAD-LABEL: llvm.func @dynamic(
// THREAD-LABEL: func.func private @product(
// THREAD-DAG: %[[ALL:c[a-z0-9_]+]] = arith.constant 256 : i64
// THREAD-DAG: %[[MOST:c[a-z0-9_]+]] = arith.constant 132 : i64
// THREAD: %[[FEW:[0-9]+]] = arith.minui %[[ALL]], %[[MOST]]
// THREAD: gpu.launch_func @kernels::@product blocks in (%[[FEW]],
// THREAD: gpu.launch_func @kernels::@product_unaligned blocks in (%[[ALL]],
func.func private @product(%a: memref<2048x512xbf16>, %b: memref<4096x512xbf16>, %out: memref<2048x4096xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%i, %j) = (0, 0) to (2048, 4096) step (128, 256) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<4096x512xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xbf16>, vector<256x64xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    %h = arith.truncf %d : vector<128x256xf32> to vector<128x256xbf16>
    vector.transfer_write %h, %out[%i, %j] {in_bounds = [true, true]} : vector<128x256xbf16>, memref<2048x4096xbf16>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 4>, group = array<i64: 0, 1, 1>}}
  return
}

// Of unknown sizes there may be many tasks, and steps. With two stages each step frees its own slot. Sums of f32
// are stored by threads, from no shared memory.
// CHECK-LABEL: @dynamic
// CHECK: %[[TURNS:[0-9]+]] = "mlopt.turns"
// CHECK-NEXT: %[[STEPS:[0-9]+]] = affine.apply #{{[a-z0-9]+}}(%{{.*}}, %[[DEPTH:[a-z0-9_]+]])
// CHECK-NEXT: scf.if
// CHECK: affine.apply #[[BEFORE]](%{{[a-z0-9]+}})[%[[STEPS]]]
// CHECK: "mlopt.warpgroup_result"
// CHECK: "mlopt.tma_free"(%{{[0-9]+}}#1, %{{[0-9]+}}, %{{[a-z0-9]+}}, %[[DEPTH]])
// CHECK-NEXT: scf.yield
// CHECK-NOT: mlopt.tma_free
// CHECK: vector.transfer_write
// CHECK-NOT: mlopt.tma_stored
// CHECK: persistent = array<i64: 396>
func.func private @dynamic(%a: memref<?x?xf16>, %b: memref<1024x?xf16>, %out: memref<?x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  %rows = memref.dim %a, %c0 : memref<?x?xf16>
  %depth = memref.dim %a, %c1 : memref<?x?xf16>
  scf.forall (%i, %j) = (0, 0) to (%rows, 1024) step (64, 128) {
    %d = scf.for %k = %c0 to %depth step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [false, false]} : memref<?x?xf16>, vector<64x64xf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, false]} : memref<1024x?xf16>, vector<128x64xf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xf16>, vector<128x64xf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    vector.transfer_write %d, %out[%i, %j] {in_bounds = [false, true]} : vector<64x128xf32>, memref<?x1024xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 2>, min_blocks = array<i64: 3>}}
  return
}
