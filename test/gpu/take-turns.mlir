// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-take-turns)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-take-turns{machine=h100})' | FileCheck %s --check-prefix=H100
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-take-turns,mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=CODE

// 16,384 rows, 8 blocks on each of 108 multiprocessors: 19 turns each. Or 132: 16.
// CHECK-LABEL: @scale
// CHECK: {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, turns = array<i64: 0, 863>, warps = array<i64: 4>}}
// H100-LABEL: @scale
// H100: turns = array<i64: 0, 1024>

// The weights and the first row are read before the loop, the next row in each turn before this one is used.
// CODE-LABEL: llvm.func @scale(
// CODE: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CODE-COUNT-4: llvm.load {{.*}} vector<4xf32>
// CODE-NOT: llvm.load
// CODE: scf.for %[[AT:.*]] = %[[BLOCK]] to %{{.*}} step %[[STEP:.*]] iter_args
// CODE:   %[[NEXT:.*]] = arith.addi %[[AT]], %[[STEP]]
// CODE:   %[[MORE:.*]] = arith.cmpi ult, %[[NEXT]]
// CODE:   scf.if %[[MORE]]
// CODE-COUNT-2: llvm.load {{.*}} vector<4xf32>
// CODE:   arith.mulf
// CODE-COUNT-2: llvm.store
// CODE:   scf.yield
// CODE: func.func private @scale
// CODE: %[[GRID:.*]] = arith.constant 863 : i64
// CODE: gpu.launch_func @kernels::@scale blocks in (%[[GRID]]
func.func private @scale(%x: memref<16384x1024xf32>, %w: memref<1024xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %w[%c0], %pad {in_bounds = [true]} : memref<1024xf32>, vector<1024xf32>
    %b = vector.broadcast %u : vector<1024xf32> to vector<1x1024xf32>
    %r = arith.mulf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<16384x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// Rows of 4096: a thread of four warps would hold 32 elements of three tiles; of 16, 8.
// CHECK-LABEL: @wide
// CHECK: {mlopt.schedule = {min_blocks = array<i64: 2>, {{.*}}, turns = array<i64: 0, {{[0-9]*}}>, warps = array<i64: 16>}}
func.func private @wide(%x: memref<16384x4096xf32>, %w: memref<4096xf32>, %out: memref<16384x4096xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x4096xf32>, vector<1x4096xf32>
    %u = vector.transfer_read %w[%c0], %pad {in_bounds = [true]} : memref<4096xf32>, vector<4096xf32>
    %b = vector.broadcast %u : vector<4096xf32> to vector<1x4096xf32>
    %r = arith.mulf %v, %b : vector<1x4096xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x4096xf32>, memref<16384x4096xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// 32 heads of 2048 positions share their angles: blocks take turns along the heads, which is the outer loop.
// CHECK-LABEL: @angles
// CHECK: turns = array<i64: 0, {{[0-9]*}}>
func.func private @angles(%x: memref<32x2048x64xf32>, %w: memref<2048x64xf32>, %out: memref<32x2048x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%h, %p) = (0, 0) to (32, 2048) step (1, 16) {
    %v = vector.transfer_read %x[%h, %p, %c0], %pad {in_bounds = [true, true, true]} : memref<32x2048x64xf32>, vector<1x16x64xf32>
    %u = vector.transfer_read %w[%p, %c0], %pad {in_bounds = [true, true]} : memref<2048x64xf32>, vector<16x64xf32>
    %b = vector.broadcast %u : vector<16x64xf32> to vector<1x16x64xf32>
    %r = arith.mulf %v, %b : vector<1x16x64xf32>
    vector.transfer_write %r, %out[%h, %p, %c0] {in_bounds = [true, true, true]} : vector<1x16x64xf32>, memref<32x2048x64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 16, 0>, warps = array<i64: 4>}}
  return
}
