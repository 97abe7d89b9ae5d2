// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-warp-roles,mlopt-gpu-pair-blocks{machine=h100})' | FileCheck %s

// What each block goes on copying for itself.
// CHECK-NOT: mlopt.pair_wait
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// 33 rows of blocks: the last one would have no other.
// CHECK-LABEL: @odd
// CHECK: "mlopt.warp_roles"
func.func private @odd(%a: memref<2112x512xbf16>, %b: memref<2048x512xbf16>, %out: memref<2112x2048xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i, %j) = (0, 0) to (2112, 2048) step (64, 128) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<2112x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<128x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<128x64xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    vector.transfer_write %d, %out[%i, %j] {in_bounds = [true, true]} : vector<64x128xf32>, memref<2112x2048xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// Nobody knows if there will be an even number of them.
// CHECK-LABEL: @dynamic
// CHECK: "mlopt.warp_roles"
func.func private @dynamic(%a: memref<?x512xbf16>, %b: memref<2048x512xbf16>, %out: memref<?x2048xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  %rows = memref.dim %a, %c0 : memref<?x512xbf16>
  scf.forall (%i, %j) = (0, 0) to (%rows, 2048) step (64, 128) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [false, true]} : memref<?x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<128x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<128x64xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    vector.transfer_write %d, %out[%i, %j] {in_bounds = [false, true]} : vector<64x128xf32>, memref<?x2048xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// 64 blocks leave multiprocessors without one: the cache has little to do.
// CHECK-LABEL: @few
// CHECK: "mlopt.warp_roles"
func.func private @few(%a: memref<256x512xbf16>, %b: memref<2048x512xbf16>, %out: memref<256x2048xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i, %j) = (0, 0) to (256, 2048) step (64, 128) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<256x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<128x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<128x64xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    vector.transfer_write %d, %out[%i, %j] {in_bounds = [true, true]} : vector<64x128xf32>, memref<256x2048xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// Neighbours in a band of one row have other columns.
// CHECK-LABEL: @band
// CHECK: "mlopt.warp_roles"
func.func private @band(%a: memref<2048x512xbf16>, %b: memref<2048x512xbf16>, %out: memref<2048x2048xf32>) attributes {mlopt.kernel} {
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
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>, group = array<i64: 0, 1, 1>}}
  return
}

// Many blocks on a multiprocessor have no warps that copy.
// CHECK-LABEL: @no_roles
// CHECK: "mlopt.tma_turn"
func.func private @no_roles(%a: memref<2048x512xbf16>, %b: memref<2048x512xbf16>, %out: memref<2048x2048xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i, %j) = (0, 0) to (2048, 2048) step (64, 128) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<64x16xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<128x16xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x16xbf16>, vector<128x16xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    vector.transfer_write %d, %out[%i, %j] {in_bounds = [true, true]} : vector<64x128xf32>, memref<2048x2048xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 2>, min_blocks = array<i64: 6>}}
  return
}
