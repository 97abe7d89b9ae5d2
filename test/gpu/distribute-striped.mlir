// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute,canonicalize,cse)' | FileCheck %s

// Eight neighbours a lane, at once; in the twin a lane's elements are 32 apart, and the lanes beside have those between.
// CHECK-LABEL: llvm.func @half(
// CHECK: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<8xf16>
// CHECK-LABEL: llvm.func @half_unaligned(
// CHECK: %[[LANE:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[OWN:.*]] = llvm.getelementptr %{{.*}}[%[[LANE]]] : (!llvm.ptr, i32) -> !llvm.ptr, f16
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[OWN]]
// CHECK: llvm.getelementptr %[[FIRST]][32] : (!llvm.ptr) -> !llvm.ptr, f16
// CHECK: llvm.getelementptr %[[FIRST]][224] : (!llvm.ptr) -> !llvm.ptr, f16
// CHECK-COUNT-8: llvm.load %{{.*}} invariant {alignment = 2 : i64} : !llvm.ptr -> f16
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 2 : i64} : f16, !llvm.ptr
func.func private @half(%x: memref<64x256xf16>, %out: memref<64x256xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f16
  scf.forall (%i) = (0) to (64) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x256xf16>, vector<1x256xf16>
    %w = arith.addf %v, %v : vector<1x256xf16>
    vector.transfer_write %w, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x256xf16>, memref<64x256xf16>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 1>}}
  return
}

// -----

// Of a row of 100 elements only the last of a lane's four may be beside it. What is reduced, and what is of the
// columns alone, has its elements with the same lanes.
// CHECK-LABEL: llvm.func @norm_unaligned(
// CHECK: %[[LANE:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[LAST:.*]] = arith.addi %[[LANE]], %c96_i32
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[LAST]], %c100_i32
// CHECK-COUNT-3: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: scf.if %[[INSIDE]] -> (f32)
// CHECK: arith.select %[[INSIDE]]
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: llvm.getelementptr %{{.*}}[%[[LANE]]]
func.func private @norm(%x: memref<64x100xf32>, %w: memref<100xf32>, %out: memref<64x100xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (64) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x100xf32>, vector<1x100xf32>
    %s = vector.multi_reduction <add>, %v, %zero [1] : vector<1x100xf32> to vector<1xf32>
    %c = vector.transfer_read %w[%c0], %pad {in_bounds = [true]} : memref<100xf32>, vector<100xf32>
    %d = vector.broadcast %s : vector<1xf32> to vector<100x1xf32>
    %e = vector.transpose %d, [1, 0] : vector<100x1xf32> to vector<1x100xf32>
    %f = vector.broadcast %c : vector<100xf32> to vector<1x100xf32>
    %g = arith.mulf %e, %f : vector<1x100xf32>
    %h = arith.addf %g, %v : vector<1x100xf32>
    vector.transfer_write %h, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x100xf32>, memref<64x100xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 1>}}
  return
}

// -----

// On their way through shared memory elements take more room than in pieces of 16 bytes: the twin's launch says so.
// CHECK-LABEL: llvm.func @turned_unaligned(
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK: func.func private @turned(
// CHECK-SAME: mlopt.shared = 5232
// CHECK: gpu.launch_func @kernels::@turned blocks
// CHECK-SAME: dynamic_shared_memory_size %c4208_i32
// CHECK: gpu.launch_func @kernels::@turned_unaligned blocks
// CHECK-SAME: dynamic_shared_memory_size %c5232_i32
func.func private @turned(%x: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i, %j) = (0, 0) to (64, 64) step (32, 32) {
    %v = vector.transfer_read %x[%j, %i], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<64x64xf32>, vector<32x32xf32>
    vector.transfer_write %v, %out[%i, %j] {in_bounds = [true, true]} : vector<32x32xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 32, 32>, warps = array<i64: 4>}}
  return
}
