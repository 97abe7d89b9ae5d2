// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-distribute)' | FileCheck %s

// Two warps, two neighbours a thread: ballots of both, each warp's total to the others, places from what comes before.
// CHECK-LABEL: llvm.func @list(
// CHECK: %[[BEFORE:.*]] = nvvm.read.ptx.sreg.lanemask.lt
// CHECK: %[[ONE:.*]] = nvvm.vote.sync ballot
// CHECK: %[[OTHER:.*]] = nvvm.vote.sync ballot
// CHECK: llvm.intr.ctpop(%[[ONE]])
// CHECK: llvm.intr.ctpop(%[[OTHER]])
// CHECK: llvm.store {{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: arith.andi %[[ONE]], %[[BEFORE]]
// CHECK: scf.if
// CHECK-NEXT: llvm.store {{.*}} : i32, !llvm.ptr<3>
// CHECK: scf.if
// CHECK-NEXT: llvm.store {{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
func.func private @list(%x: memref<128xi32>, %out: memref<8xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i32
  %limit = arith.constant dense<7> : vector<128xi32>
  scf.forall (%i) = (0) to (8) step (8) {
    %list = memref.alloca() : memref<128xi32>
    %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true], mlopt.layout = "reg 2:(1) lane 32:(2) warp 2:(64)"} : memref<128xi32>, vector<128xi32>
    %m = arith.cmpi slt, %v, %limit {mlopt.layout = "reg 2:(1) lane 32:(2) warp 2:(64)"} : vector<128xi32>
    vector.compressstore %list[%c0], %m, %v : memref<128xi32>, vector<128xi1>, vector<128xi32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 0>, warps = array<i64: 2>}}
  return
}
