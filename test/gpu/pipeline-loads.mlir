// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-assign-layouts,mlopt-gpu-pipeline-loads)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-assign-layouts,mlopt-gpu-pipeline-loads,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREAD

// Four slots for each factor. The first three steps are on their way before the loop; a step waits for the
// oldest, takes its factors, and begins the copies of three steps later.
// CHECK-LABEL: @product
// CHECK-DAG: %[[A:[a-z0-9_]+]] = "mlopt.shared_ring"() : () -> memref<4x64x32xbf16, #gpu.address_space<workgroup>>
// CHECK-DAG: %[[B:[a-z0-9_]+]] = "mlopt.shared_ring"() : () -> memref<4x32x64xbf16, #gpu.address_space<workgroup>>
// CHECK: "mlopt.async_copy"(%{{.*}}, %[[A]], %c0{{.*}}
// CHECK: "mlopt.async_copy"(%{{.*}}, %[[B]], %c0{{.*}}
// CHECK-NEXT: "mlopt.async_commit"
// CHECK-COUNT-2: "mlopt.async_copy"
// CHECK-NEXT: "mlopt.async_commit"
// CHECK-COUNT-2: "mlopt.async_copy"
// CHECK-NEXT: "mlopt.async_commit"
// CHECK: scf.for %[[K:[a-z0-9_]+]] =
// CHECK: "mlopt.async_wait"() {pending = 2 : i64}
// CHECK: %[[SLOT:[a-z0-9_]+]] = affine.apply #{{.*}}(%[[K]])
// CHECK: %[[FREE:[a-z0-9_]+]] = affine.apply #{{.*}}(%[[K]])
// CHECK: %[[LATER:[a-z0-9_]+]] = affine.apply #{{.*}}(%[[K]])
// CHECK: %[[X:[a-z0-9_]+]] = "mlopt.shared_tile"(%[[A]], %[[SLOT]]) {mlopt.layout
// CHECK: %[[Y:[a-z0-9_]+]] = "mlopt.shared_tile"(%[[B]], %[[SLOT]]) {mlopt.layout
// CHECK: %[[NEXT:[a-z0-9_]+]] = vector.transfer_read %arg0[%c0{{.*}}, %[[LATER]]]
// CHECK: "mlopt.async_copy"(%[[NEXT]], %[[A]], %[[FREE]], %[[LATER]], %c512
// CHECK: "mlopt.async_commit"
// CHECK: vector.contract {{.*}} %[[X]], %[[Y]]
// CHECK: "mlopt.release"(%[[A]])
// CHECK: "mlopt.release"(%[[B]])

// Two copies of 16 bytes a thread and factor, and one barrier a step. Factors are loaded where they are multiplied.
// THREAD-LABEL: llvm.func @product(
// THREAD-COUNT-12: nvvm.cp.async.shared.global {{.*}}, 16, cache =  cg
// THREAD: scf.for
// THREAD-NEXT: nvvm.cp.async.wait.group 2
// THREAD-NEXT: nvvm.barrier0
// THREAD: scf.if
// THREAD-COUNT-4: nvvm.cp.async.shared.global
// THREAD-NOT: nvvm.cp.async.shared.global
// THREAD: nvvm.cp.async.commit.group
// THREAD-COUNT-8: nvvm.ldmatrix
// THREAD-NOT: nvvm.barrier0
// THREAD: scf.yield
// THREAD-LABEL: llvm.func @product_unaligned
// THREAD-NOT: nvvm.cp.async.shared
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
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// What all steps multiply, 256 bytes a thread, is copied once, before the loop's own first copies.
// CHECK-LABEL: @stays
// CHECK: %[[A:[a-z0-9_]+]] = "mlopt.shared_ring"() : () -> memref<1x64x256xbf16, #gpu.address_space<workgroup>>
// CHECK: "mlopt.async_copy"(%{{.*}}, %[[A]],
// CHECK: "mlopt.async_commit"
// CHECK-NOT: mlopt.convert_layout
// CHECK: scf.for %
// CHECK: mlopt.async_wait
// CHECK: %[[X:[a-z0-9_]+]] = "mlopt.shared_tile"(%[[A]],
// CHECK: vector.contract {{.*}} %[[X]],
// CHECK: "mlopt.async_wait"() {pending = 0 : i64}
// CHECK: "mlopt.release"(%[[A]])
// THREAD-LABEL: llvm.func @stays(
func.func private @stays(%a: memref<64x256xbf16>, %b: memref<512x256xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x256xbf16>, vector<64x256xbf16>
    %d = scf.for %n = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %y = vector.transfer_read %b[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x256xbf16>, vector<64x256xbf16>
      %t = vector.contract {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k)>, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x256xbf16>, vector<64x256xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 256>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// 128 bytes stay in registers.
// CHECK-LABEL: @held
// CHECK-NOT: memref<1x
// CHECK: "mlopt.convert_layout"
// CHECK: scf.for %
func.func private @held(%a: memref<64x64xbf16>, %b: memref<512x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xbf16>, vector<64x64xbf16>
    %d = scf.for %n = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %y = vector.transfer_read %b[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k)>, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// What a step adds to a product comes with its factors: no thread waits for it, and there is one barrier.
// CHECK-LABEL: @masked
// CHECK: %[[A:[a-z0-9_]+]] = "mlopt.shared_ring"() : () -> memref<2x64x64xbf16, #gpu.address_space<workgroup>>
// CHECK: %[[M:[a-z0-9_]+]] = "mlopt.shared_ring"() : () -> memref<2x64x64xbf16, #gpu.address_space<workgroup>>
// CHECK: scf.for %
// CHECK: %[[Y:[a-z0-9_]+]] = "mlopt.shared_tile"(%[[A]],
// CHECK: "mlopt.async_copy"(%{{.*}}, %[[A]],
// CHECK: "mlopt.async_copy"(%{{.*}}, %[[M]],
// CHECK: vector.contract {{.*}} %[[Y]],
// CHECK: %[[X:[a-z0-9_]+]] = "mlopt.shared_tile"(%[[M]],
// CHECK: arith.extf %[[X]]
// THREAD-LABEL: llvm.func @masked(
// THREAD: scf.for
// THREAD: nvvm.barrier0
// THREAD-NOT: nvvm.barrier0
// THREAD: scf.yield
func.func private @masked(%a: memref<64x64xbf16>, %b: memref<512x64xbf16>, %mask: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xbf16>, vector<64x64xbf16>
    %d = scf.for %n = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %y = vector.transfer_read %b[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %m = vector.transfer_read %mask[%c0, %n], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k)>, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      %w = arith.extf %m : vector<64x64xbf16> to vector<64x64xf32>
      %u = arith.addf %t, %w : vector<64x64xf32>
      scf.yield %u : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// In the twin eight neighbours that two edges bound share a branch.
// THREAD-LABEL: llvm.func @ragged_unaligned
// THREAD: scf.if %{{.*}} -> (bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16) {
// THREAD-COUNT-8: llvm.load %{{.*}} invariant {alignment = 2 : i64} : !llvm.ptr -> bf16
// THREAD-NEXT: scf.yield
func.func private @ragged(%a: memref<60x520xbf16>, %b: memref<520x56xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c520 = arith.constant 520 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c520 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [false, false]} : memref<60x520xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [false, false]} : memref<520x56xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}
