// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads{shared=232448},mlopt-gpu-tma-loads,mlopt-gpu-warp-roles{shared=233472},mlopt-gpu-pair-blocks{machine=h100},mlopt-gpu-tma-stores{shared=232448},mlopt-gpu-persistent-grid{machine=h100 shared=233472})' | FileCheck %s --implicit-check-not=mlopt.turns

#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// As many tasks as multiprocessors hold at once: no block would have a second one.
// CHECK-LABEL: @one_wave
// CHECK: "mlopt.warp_roles"
// CHECK: roles = array<i64: 1, 1>
func.func private @one_wave(%a: memref<1408x512xbf16>, %b: memref<3072x512xbf16>, %out: memref<1408x3072xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%i, %j) = (0, 0) to (1408, 3072) step (128, 256) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<1408x512xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<3072x512xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xbf16>, vector<256x64xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    %h = arith.truncf %d : vector<128x256xf32> to vector<128x256xbf16>
    vector.transfer_write %h, %out[%i, %j] {in_bounds = [true, true]} : vector<128x256xbf16>, memref<1408x3072xbf16>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 4>}}
  return
}

// 200 KB of rings, and a tile of 32 KB, which comes in their place. It is not cut: each of two warpgroups side by
// side has columns of its own.
// CHECK-LABEL: @no_room
// CHECK: "mlopt.warp_roles"
// CHECK: "mlopt.tma_tile"
// CHECK: roles = array<i64: 1, 1>
func.func private @no_room(%a: memref<2048x1024xbf16>, %b: memref<4096x1024xbf16>, %out: memref<2048x4096xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x256xf32>
  scf.forall (%i, %j) = (0, 0) to (2048, 4096) step (64, 256) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x256xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<2048x1024xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<4096x1024xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<256x64xbf16> into vector<64x256xf32>
      scf.yield %t : vector<64x256xf32>
    }
    %h = arith.truncf %d : vector<64x256xf32> to vector<64x256xbf16>
    vector.transfer_write %h, %out[%i, %j] {in_bounds = [true, true]} : vector<64x256xbf16>, memref<2048x4096xbf16>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 5>}}
  return
}

// A row's largest number is one of all warps: where they meet for it nobody has counted.
// CHECK-LABEL: @rows
// CHECK: "mlopt.warp_roles"
// CHECK: vector.multi_reduction
func.func private @rows(%a: memref<2048x512xbf16>, %b: memref<4096x512xbf16>, %out: memref<2048x32xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  %least = arith.constant dense<0.0> : vector<64xf32>
  scf.forall (%i, %j) = (0, 0) to (2048, 4096) step (64, 128) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<4096x512xbf16>, vector<128x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<128x64xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    %r = vector.multi_reduction <maximumf>, %d, %least [1] : vector<64x128xf32> to vector<64xf32>
    %at = affine.apply affine_map<(d0) -> (d0 floordiv 128)>(%j)
    vector.transfer_write %r, %out[%i, %at] {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : vector<64xf32>, memref<2048x32xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// Blocks without warps that copy have nobody who runs ahead.
// CHECK-LABEL: @no_roles
// CHECK: "mlopt.tma_turn"
func.func private @no_roles(%a: memref<2048x512xbf16>, %b: memref<2048x512xbf16>, %out: memref<2048x2048xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i, %j) = (0, 0) to (2048, 2048) step (64, 128) {
    %d = scf.for %k = %c0 to %c512 step %c16 iter_args(%s = %zero) -> (vector<64x128xf32>) {
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

// A lower triangle's rows end where each task says: slots of the next one would not go on from the last.
// CHECK-LABEL: @own_steps
// CHECK: "mlopt.warp_roles"
// CHECK: roles = array<i64: 1, 1>
func.func private @own_steps(%a: memref<4096x4096xbf16>, %b: memref<4096x4096xbf16>, %out: memref<4096x4096xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%i, %j) = (0, 0) to (4096, 4096) step (128, 256) {
    %end = affine.apply affine_map<(d0) -> (d0 + 128)>(%i)
    %d = scf.for %k = %c0 to %end step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<4096x4096xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<4096x4096xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xbf16>, vector<256x64xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    %h = arith.truncf %d : vector<128x256xf32> to vector<128x256xbf16>
    vector.transfer_write %h, %out[%i, %j] {in_bounds = [true, true]} : vector<128x256xbf16>, memref<4096x4096xbf16>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 4>}}
  return
}
