// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-verify)' | FileCheck %s
// What mlopt-tile makes passes, before and after bufferization.
// RUN: mlopt-opt %S/tile.mlir --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse,mlopt-verify)' -o /dev/null
// RUN: mlopt-opt %S/tile-contraction.mlir --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse,mlopt-verify,eliminate-empty-tensors,one-shot-bufferize{bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map},drop-equivalent-buffer-results,canonicalize,cse,mlopt-verify)' -o /dev/null

// A kernel with scratch, a loop and an epilogue, and a host function that owes the rules nothing.
// CHECK-LABEL: func.func private @kernel
// CHECK: vector.contract
func.func private @kernel(%a: memref<64x16xf32>, %b: memref<16x64xf32>, %out: memref<64x64xf32>)
    attributes {mlopt.kernel, mlopt.ops = ["matmul", "tanh"], mlopt.bytes = 24576 : i64, mlopt.flops = 131072 : i64,
                mlopt.schedule = {tile = array<i64: 32, 0, 4>}} {
  %zero = arith.constant 0.0 : f32
  %init = arith.constant dense<0.0> : vector<32x64xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %scratch = memref.alloca() : memref<64xf32>
  scf.forall (%i) = (0) to (64) step (32) {
    %acc = scf.for %k = %c0 to %c16 step %c4 iter_args(%c = %init) -> (vector<32x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %zero {in_bounds = [true, true]} : memref<64x16xf32>, vector<32x4xf32>
      %y = vector.transfer_read %b[%k, %c0], %zero {in_bounds = [true, true]} : memref<16x64xf32>, vector<4x64xf32>
      %d = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %c : vector<32x4xf32>, vector<4x64xf32> into vector<32x64xf32>
      scf.yield %d : vector<32x64xf32>
    }
    %t = math.tanh %acc : vector<32x64xf32>
    vector.transfer_write %t, %out[%i, %c0] {in_bounds = [true, true]} : vector<32x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 32, 0, 4>}}
  return
}

// A kernel on the slow path is left alone.
// CHECK-LABEL: func.func private @slow
func.func private @slow(%a: memref<4xf32>) attributes {mlopt.kernel, mlopt.slow = "no rule for this"} {
  %x = memref.alloc() : memref<4xf32>
  memref.copy %a, %x : memref<4xf32> to memref<4xf32>
  memref.dealloc %x : memref<4xf32>
  return
}

// CHECK-LABEL: func.func @main
func.func @main(%x: memref<64x16xf32>, %w: memref<16x64xf32> {mlopt.weight}, %out: memref<64x64xf32> {mlopt.result = 0 : i64}) {
  %0 = memref.alloc() : memref<64x64xf32>
  call @kernel(%x, %w, %0) : (memref<64x16xf32>, memref<16x64xf32>, memref<64x64xf32>) -> ()
  memref.copy %0, %out : memref<64x64xf32> to memref<64x64xf32>
  return
}
