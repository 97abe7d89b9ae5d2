// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads{shared=232448},mlopt-gpu-tma-loads,mlopt-gpu-warp-roles{shared=233472},mlopt-gpu-pair-blocks{machine=h100},mlopt-gpu-tma-stores{shared=232448},mlopt-gpu-persistent-grid{machine=h100 shared=233472},mlopt-gpu-ping-pong{shared=233472})' | FileCheck %s --implicit-check-not=mlopt.consumer --implicit-check-not=mlopt.pass_on
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A block of one warpgroup that is predicted to be as fast alone.
// CHECK-LABEL: @not_wanted
// CHECK: persistent = array<i64: 132>
func.func private @not_wanted(%a: memref<2048x512xbf16>, %b: memref<4096x512xbf16>, %out: memref<2048x4096xbf16>) attributes {mlopt.kernel} {
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
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// As many tiles as multiprocessors: each block has one.
// CHECK-LABEL: @one_wave
// CHECK: "mlopt.warp_roles"
// CHECK-NOT: persistent
func.func private @one_wave(%a: memref<704x512xbf16>, %b: memref<3072x512xbf16>, %out: memref<704x3072xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x256xf32>
  scf.forall (%i, %j) = (0, 0) to (704, 3072) step (64, 256) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x256xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<704x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<3072x512xbf16>, vector<256x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<256x64xbf16> into vector<64x256xf32>
      scf.yield %t : vector<64x256xf32>
    }
    %h = arith.truncf %d : vector<64x256xf32> to vector<64x256xbf16>
    vector.transfer_write %h, %out[%i, %j] {in_bounds = [true, true]} : vector<64x256xbf16>, memref<704x3072xbf16>
  } {mlopt.schedule = {ping_pong = array<i64: 2>, warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// 160 KB of rings leave room for a residual's tile that changes hands, not for two.
// CHECK-LABEL: @no_room
// CHECK: persistent = array<i64: 132>
func.func private @no_room(%a: memref<2048x512xbf16>, %b: memref<4096x512xbf16>, %r: memref<2048x4096xbf16>, %out: memref<2048x4096xbf16>) attributes {mlopt.kernel} {
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
    %z = vector.transfer_read %r[%i, %j], %pad {in_bounds = [true, true]} : memref<2048x4096xbf16>, vector<64x256xbf16>
    %w = arith.extf %z : vector<64x256xbf16> to vector<64x256xf32>
    %q = arith.addf %d, %w : vector<64x256xf32>
    %h = arith.truncf %q : vector<64x256xf32> to vector<64x256xbf16>
    vector.transfer_write %h, %out[%i, %j] {in_bounds = [true, true]} : vector<64x256xbf16>, memref<2048x4096xbf16>
  } {mlopt.schedule = {ping_pong = array<i64: 2>, warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// Three blocks of a multiprocessor have registers for a warpgroup each, not for two.
// CHECK-LABEL: @no_registers
// CHECK: persistent = array<i64: 396>
func.func private @no_registers(%a: memref<2048x512xbf16>, %b: memref<4096x512xbf16>, %out: memref<2048x4096xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i, %j) = (0, 0) to (2048, 4096) step (64, 128) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<2048x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<4096x512xbf16>, vector<128x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<128x64xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    %h = arith.truncf %d : vector<64x128xf32> to vector<64x128xbf16>
    vector.transfer_write %h, %out[%i, %j] {in_bounds = [true, true]} : vector<64x128xbf16>, memref<2048x4096xbf16>
  } {mlopt.schedule = {min_blocks = array<i64: 3>, ping_pong = array<i64: 2>, warps = array<i64: 4>, stages = array<i64: 2>}}
  return
}
