// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-loop-annotations)' | FileCheck %s

// Before the loop is branches the attribute is where convert-scf-to-cf looks for it.
// CHECK: scf.for %
// CHECK: } {llvm.loop_annotation = #{{.*}}}
#four = #llvm.loop_annotation<unroll = <count = 4 : i32>>
func.func private @loop(%x: memref<8xi32>, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %v, %x[%i] : memref<8xi32>
  } {llvm.loop_annotation = #four}
  return
}
