// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-warp-roles)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-warp-roles,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREAD
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Rounds of four slots, 64 of the depth each; in the first round all slots are empty.
// CHECK-DAG: #[[SLOT:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 64) mod 4)>
// CHECK-DAG: #[[ROUND:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 256) mod 2)>
// CHECK-DAG: #[[BEFORE:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 256 + 1) mod 2)>
// CHECK-DAG: #[[LAST:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 64 + 3) mod 4)>
// CHECK-LABEL: @product
// CHECK: scf.forall
// CHECK-NEXT: %[[A:[0-9]+]] = "mlopt.shared_ring"
// CHECK-NEXT: %[[B:[0-9]+]] = "mlopt.shared_ring"
// CHECK-NEXT: %[[BAR:[0-9]+]]:2 = "mlopt.tma_barriers"() {arrivals = array<i64: 2, 4>}
// CHECK-NEXT: %[[ROLE:[0-9]+]]:3 = "mlopt.warp_roles"()
// One thread copies all steps.
// CHECK-NEXT: scf.if %[[ROLE]]#0 {
// CHECK-NEXT: scf.if %[[ROLE]]#1 {
// CHECK-NEXT: scf.for %[[K:[a-z0-9]+]] = %c0{{.*}} to %[[END:c512[_0-9]*]]
// CHECK-NEXT: %[[SLOT0:[0-9]+]] = affine.apply #[[SLOT]](%[[K]])
// CHECK-NEXT: %[[ROUND0:[0-9]+]] = affine.apply #[[BEFORE]](%[[K]])
// CHECK-NEXT: "mlopt.tma_wait"(%[[BAR]]#1, %[[SLOT0]], %[[ROUND0]])
// CHECK-NEXT: %[[X:[0-9]+]] = vector.transfer_read %arg0[%{{.*}}, %[[K]]]
// CHECK-NEXT: "mlopt.tma_load"(%[[X]], %[[A]], %[[SLOT0]], %[[K]], %[[END]], %[[BAR]]#0) {alone}
// CHECK-NEXT: vector.transfer_read %arg1[%[[K]], %{{.*}}]
// CHECK-NEXT: "mlopt.tma_load"({{.*}}, %[[B]], {{.*}}) {alone}
// The others do all else; what copies by threads need is the twin's.
// CHECK: } else {
// CHECK: scf.if %[[ROLE]]#2 {
// CHECK-COUNT-4: "mlopt.tma_load"
// CHECK-NEXT: "mlopt.tma_commit"
// CHECK-NEXT: }
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK: scf.if %[[ROLE]]#2 {
// CHECK-NEXT: "mlopt.tma_turn"
// CHECK-COUNT-2: "mlopt.tma_load"
// CHECK-NEXT: "mlopt.tma_commit"
// CHECK-NEXT: }
// CHECK: "mlopt.tma_wait"(%[[BAR]]#0
// CHECK-NEXT: "mlopt.warpgroup_mma"
// CHECK-NEXT: "mlopt.warpgroup_wait"() {pending = 1 : i64}
// CHECK-NEXT: %[[FREE:[0-9]+]] = affine.apply #[[LAST]](%[[K]])
// CHECK-NEXT: "mlopt.tma_free"(%[[BAR]]#1, %[[FREE]], %c0{{.*}}, %[[K]])
// What is read behind the loop is on its way while the last product is made.
// CHECK: vector.transfer_read %arg2
// CHECK-NEXT: "mlopt.warpgroup_result"
// CHECK: vector.transfer_write
// CHECK: roles = array<i64: 1, 1>

// THREAD-LABEL: llvm.func @product(
// THREAD-SAME: nvvm.maxntid = array<i32: 160, 1, 1>, nvvm.minctasm = 1
// THREAD-DAG: %[[TWO:[a-z0-9_]+]] = arith.constant 2 : i32
// THREAD-DAG: %[[FOUR:[a-z0-9_]+]] = arith.constant 4 : i32
// THREAD-COUNT-4: nvvm.mbarrier.init %{{[a-z0-9_]+}}, %[[TWO]]
// THREAD-COUNT-4: nvvm.mbarrier.init %{{[a-z0-9_]+}}, %[[FOUR]]
// THREAD-NEXT: nvvm.fence.mbarrier.init
// THREAD: nvvm.barrier0
// THREAD: %[[WARP:[0-9]+]] = nvvm.shfl.sync
// THREAD: arith.cmpi uge, %[[WARP]], %[[FOUR]]
// THREAD: scf.if
// THREAD: scf.if
// THREAD: scf.for
// THREAD: nvvm.mbarrier.try_wait.parity
// THREAD: nvvm.mbarrier.arrive.expect_tx
// THREAD: nvvm.cp.async.bulk.tensor
// THREAD: } else {
// THREAD-NOT: cp.async
// THREAD: scf.for
// THREAD-NEXT: %{{[0-9]+}} = arith.divui
// THREAD-NOT: barrier
// THREAD: nvvm.mbarrier.try_wait.parity
// THREAD: wgmma.mma_async
// THREAD: wgmma.wait_group.sync.aligned 1
// THREAD: scf.if
// THREAD: nvvm.mbarrier.arrive
// THREAD: wgmma.wait_group.sync.aligned 0
// The twin has four warps.
// THREAD-LABEL: llvm.func @product_unaligned
// THREAD-SAME: nvvm.maxntid = array<i32: 128, 1, 1>
// THREAD-NOT: mbarrier
// THREAD: nvvm.cp.async.commit.group
func.func private @product(%a: memref<64x512xbf16>, %b: memref<512x128xbf16>, %bias: memref<128xf32>, %out: memref<64x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %none = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x128xbf16>, vector<64x128xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x128xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    %r = vector.transfer_read %bias[%c0], %none {in_bounds = [true]} : memref<128xf32>, vector<128xf32>
    %w = vector.broadcast %r : vector<128xf32> to vector<64x128xf32>
    %e = arith.addf %d, %w : vector<64x128xf32>
    vector.transfer_write %e, %out[%c0, %c0] : vector<64x128xf32>, memref<64x128xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// Two stages: a step waits for its own product, and frees its own slot.
// CHECK-LABEL: @two_stages
// CHECK: } else {
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK: "mlopt.warpgroup_result"
// CHECK-NEXT: %[[FREE:[0-9]+]] = affine.apply #{{[a-z0-9]+}}(%[[K]])
// CHECK-NEXT: "mlopt.tma_free"(%{{[0-9]+}}#1, %[[FREE]], %[[K]], %c512{{.*}})
func.func private @two_stages(%a: memref<64x512xf16>, %b: memref<64x512xf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf16>, vector<64x64xf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf16>, vector<64x64xf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xf16>, vector<64x64xf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 2>}}
  return
}

// 128 sums and 64 of the bias are too many for 168 registers: a warpgroup copies, and gives of its own.
// CHECK-LABEL: @with_bias
// CHECK: scf.if %{{[0-9]+}}#0 {
// CHECK-NEXT: "mlopt.set_registers"() {count = 40 : i64, more = 0 : i64}
// CHECK-NEXT: scf.if %{{[0-9]+}}#1 {
// CHECK: } else {
// CHECK-NEXT: "mlopt.set_registers"() {count = 232 : i64, more = 1 : i64}
// CHECK: roles = array<i64: 4, 1>
// THREAD-LABEL: llvm.func @with_bias(
// THREAD-SAME: nvvm.maxntid = array<i32: 384, 1, 1>
// THREAD: nvvm.setmaxregister decrease 40
// THREAD: nvvm.setmaxregister increase 232
// THREAD-LABEL: llvm.func @with_bias_unaligned
// THREAD-SAME: nvvm.maxntid = array<i32: 256, 1, 1>
// THREAD-NOT: setmaxregister
func.func private @with_bias(%a: memref<128x512xbf16>, %b: memref<256x512xbf16>, %bias: memref<256xf32>, %out: memref<128x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %none = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x512xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x512xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xbf16>, vector<256x64xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    %r = vector.transfer_read %bias[%c0], %none {in_bounds = [true]} : memref<256xf32>, vector<256xf32>
    %w = vector.broadcast %r : vector<256xf32> to vector<128x256xf32>
    %e = arith.addf %d, %w : vector<128x256xf32>
    vector.transfer_write %e, %out[%c0, %c0] : vector<128x256xf32>, memref<128x256xf32>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 3>}}
  return
}

// So are 128 sums and 64 of a residual, which is read behind the last product.
// CHECK-LABEL: @with_residual
// THREAD-LABEL: llvm.func @with_residual(
// CHECK: "mlopt.set_registers"() {count = 40 : i64, more = 0 : i64}
// CHECK: "mlopt.set_registers"() {count = 232 : i64, more = 1 : i64}
func.func private @with_residual(%a: memref<128x512xbf16>, %b: memref<256x512xbf16>, %more: memref<128x256xbf16>, %out: memref<128x256xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x512xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x512xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xbf16>, vector<256x64xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    %h = arith.truncf %d : vector<128x256xf32> to vector<128x256xbf16>
    %q = vector.transfer_read %more[%c0, %c0], %pad {in_bounds = [true, true]} : memref<128x256xbf16>, vector<128x256xbf16>
    %r = arith.addf %h, %q : vector<128x256xbf16>
    vector.transfer_write %r, %out[%c0, %c0] : vector<128x256xbf16>, memref<128x256xbf16>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 3>}}
  return
}

// A function of 128 sums spills in 168 registers, which would be enough for the sums alone.
// CHECK-LABEL: @with_function
// THREAD-LABEL: llvm.func @with_function(
// CHECK: "mlopt.set_registers"() {count = 40 : i64, more = 0 : i64}
// CHECK: "mlopt.set_registers"() {count = 232 : i64, more = 1 : i64}
func.func private @with_function(%a: memref<128x512xbf16>, %b: memref<256x512xbf16>, %out: memref<128x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x512xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x512xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xbf16>, vector<256x64xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    %e = math.erf %d : vector<128x256xf32>
    vector.transfer_write %e, %out[%c0, %c0] : vector<128x256xf32>, memref<128x256xf32>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 3>}}
  return
}

// The same sums as they are: one warp copies, and takes no registers from the others.
// CHECK-LABEL: @without_function
// THREAD-LABEL: llvm.func @without_function(
// CHECK-NOT: mlopt.set_registers
// CHECK: roles = array<i64: 1, 1>
func.func private @without_function(%a: memref<128x512xbf16>, %b: memref<256x512xbf16>, %out: memref<128x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x512xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x512xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xbf16>, vector<256x64xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<128x256xf32>, memref<128x256xf32>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 3>}}
  return
}

// THREAD-LABEL: func.func private @product(
// THREAD: %[[MORE:c160[_a-z0-9]*]] = arith.constant 160 : i64
// THREAD: gpu.launch_func @kernels::@product {{.*}} threads in (%[[MORE]],
// THREAD: %[[FEWER:c128[_a-z0-9]*]] = arith.constant 128 : i64
// THREAD: gpu.launch_func @kernels::@product_unaligned {{.*}} threads in (%[[FEWER]],
