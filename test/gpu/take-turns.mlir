// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-take-turns)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-take-turns{machine=h100})' | FileCheck %s --check-prefix=H100
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-take-turns,mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=CODE

// 16,384 rows, 12 blocks of 40 registers a thread on each of 108 multiprocessors: 13 turns each. Or 132: 11.
// The limit to registers is one of blocks without turns.
// CHECK-LABEL: @scale
// CHECK: {mlopt.schedule = {min_blocks = array<i64: 12>, tile = array<i64: 1, 0>, turns = array<i64: 0, 1261>, warps = array<i64: 4>}}
// H100-LABEL: @scale
// H100: turns = array<i64: 0, 1490>

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
func.func private @scale(%x: memref<16384x1024xf32>, %w: memref<1024xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %w[%c0], %pad {in_bounds = [true]} : memref<1024xf32>, vector<1024xf32>
    %b = vector.broadcast %u : vector<1024xf32> to vector<1x1024xf32>
    %r = arith.mulf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<16384x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, most_registers = array<i64: 40>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// Rows of 4096: a thread of four warps would hold 32 elements of three tiles; of 8, 16.
// CHECK-LABEL: @wide
// CHECK: {mlopt.schedule = {min_blocks = array<i64: 4>, {{.*}}, turns = array<i64: 0, 432>, warps = array<i64: 8>}}
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
// On more multiprocessors 12 blocks on each would have fewer than four turns; 8 have.
// CHECK-LABEL: @angles
// CHECK: min_blocks = array<i64: 12>, {{.*}}turns = array<i64: 0, 8>
// H100-LABEL: @angles
// H100: min_blocks = array<i64: 8>, {{.*}}turns = array<i64: 0, 8>
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

// Parts of a sum: they are added up once, before the loop, behind the first task's reads.
// CODE-LABEL: llvm.func @share(
// CODE: llvm.intr.assume
// CODE-COUNT-2: llvm.load {{.*}} vector<4xf32>
// CODE: nvvm.barrier0
// CODE: scf.for
// CODE-NOT: nvvm.barrier0
// CODE: arith.divf
// CODE-NOT: nvvm.shfl.sync
// CODE: scf.yield
func.func private @share(%x: memref<16384x1024xf32>, %parts: memref<512xf32>, %out: memref<16384x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xf32>, vector<1x1024xf32>
    %u = vector.transfer_read %parts[%c0], %pad {in_bounds = [true]} : memref<512xf32>, vector<512xf32>
    %s = vector.multi_reduction <add>, %u, %pad [0] : vector<512xf32> to f32
    %b = vector.broadcast %s : f32 to vector<1x1024xf32>
    %r = arith.divf %v, %b : vector<1x1024xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xf32>, memref<16384x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// Half floats that wait for their turn are in the words that they were loaded to, two in each.
// CODE-LABEL: llvm.func @halves(
// CODE: scf.for {{.*}} -> (vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>)
// CODE:   scf.if {{.*}} -> (vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>)
// CODE:     %[[LOADED:.*]] = llvm.load {{.*}} vector<8xbf16>
// CODE:     vector.from_elements {{.*}} : vector<2xbf16>
// CODE:   } else {
// CODE:     vector.broadcast {{.*}} : bf16 to vector<2xbf16>
// CODE: func.func private @scale
// CODE: %[[GRID:.*]] = arith.constant 1261 : i64
// CODE: gpu.launch_func @kernels::@scale blocks in (%[[GRID]]
// CHECK-LABEL: @halves
// CHECK: min_blocks = array<i64: 16>
func.func private @halves(%x: memref<16384x1024xbf16>, %w: memref<1024xbf16>, %out: memref<16384x1024xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : bf16
  scf.forall (%i) = (0) to (16384) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x1024xbf16>, vector<1x1024xbf16>
    %u = vector.transfer_read %w[%c0], %pad {in_bounds = [true]} : memref<1024xbf16>, vector<1024xbf16>
    %b = vector.broadcast %u : vector<1024xbf16> to vector<1x1024xbf16>
    %r = arith.maximumf %v, %b : vector<1x1024xbf16>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1024xbf16>, memref<16384x1024xbf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}
