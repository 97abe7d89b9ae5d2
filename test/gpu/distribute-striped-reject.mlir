// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute,canonicalize,cse)' | FileCheck %s

// A scan adds up neighbours in a thread first: they stay where they are, in the twin, too.
// CHECK-LABEL: llvm.func @scanned_unaligned(
// CHECK: %[[LANE:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[FIRST:.*]] = arith.muli %[[LANE]], %c4_i32
// CHECK: llvm.getelementptr %{{.*}}[%[[FIRST]]]
func.func private @scanned(%x: memref<64x128xi32>, %out: memref<64x128xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i32
  %zero = arith.constant dense<0> : vector<1xi32>
  scf.forall (%i) = (0) to (64) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x128xi32>, vector<1x128xi32>
    %s, %all = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 1 : i64} : vector<1x128xi32>, vector<1xi32>
    vector.transfer_write %s, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x128xi32>, memref<64x128xi32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 1>}}
  return
}
