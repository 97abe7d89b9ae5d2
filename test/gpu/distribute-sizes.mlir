// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-distribute)' --split-input-file | FileCheck %s

// What is left of a row from the block's first element on is known in 64 bits, once; each bound is compared in 32.
// Sizes that are equal are that of the first argument: what may be loaded may be stored.
// CHECK-LABEL: llvm.func @relu(
// CHECK-SAME: noalias}, %[[SIZE:[^:]*]]: i64, %{{[^:]*}}: i64)
// CHECK: %[[START:.*]] = arith.muli %{{.*}}, %c512_i64
// CHECK: %[[LEFT:.*]] = arith.subi %[[SIZE]], %[[START]]
// CHECK: %[[LEAST:.*]] = arith.minsi %[[LEFT]], %c2147483647_i64
// CHECK: %[[WORD:.*]] = arith.trunci %[[LEAST]] : i64 to i32
// CHECK: %[[OWN:.*]] = arith.subi %[[WORD]], %{{.*}} : i32
// CHECK: %[[WHOLE:.*]] = arith.cmpi slt, %c3_i32, %[[OWN]] : i32
// CHECK: scf.if %[[WHOLE]] -> (f32, f32, f32, f32)
// CHECK-NOT: arith.cmpi ult
// CHECK: scf.if %[[WHOLE]] {
// CHECK: llvm.store
// CHECK-NOT: arith.cmpi ult
// CHECK: llvm.return
func.func private @relu(%x: memref<?xf32>, %out: memref<?xf32>) attributes {mlopt.kernel, mlopt.equal_sizes = ["a0_0 = a1_0"]} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.forall (%i) = (0) to (%n) step (512) {
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [false], mlopt.layout = "reg 4:(1) lane 32:(4) warp 4:(128)"} : memref<?xf32>, vector<512xf32>
    vector.transfer_write %v, %out[%i] {in_bounds = [false]} : vector<512xf32>, memref<?xf32>
  } {mlopt.schedule = {tile = array<i64: 512>, warps = array<i64: 4>}}
  return
}

// -----

// Nobody says that the sizes are equal: the write asks for its own, which the loop does not end at.
// CHECK-LABEL: llvm.func @unknown(
// CHECK-SAME: i64, %[[OWN:[^:]*]]: i64)
// CHECK: arith.cmpi slt
// CHECK: arith.cmpi ult, %{{.*}}, %[[OWN]] : i64
func.func private @unknown(%x: memref<?xf32>, %out: memref<?xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.forall (%i) = (0) to (%n) step (512) {
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [false], mlopt.layout = "reg 4:(1) lane 32:(4) warp 4:(128)"} : memref<?xf32>, vector<512xf32>
    vector.transfer_write %v, %out[%i] {in_bounds = [false]} : vector<512xf32>, memref<?xf32>
  } {mlopt.schedule = {tile = array<i64: 512>, warps = array<i64: 4>}}
  return
}
