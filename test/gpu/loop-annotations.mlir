// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-loop-annotations)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(convert-scf-to-cf,gpu.module(convert-to-llvm),mlopt-gpu-loop-annotations)' | FileCheck %s --check-prefix=DOWN

#four = #llvm.loop_annotation<unroll = <count = 4 : i32>>

gpu.module @kernels {
  // The branch back says it, as the translation to LLVM IR reads it; a branch that says nothing stays.
  // CHECK-LABEL: llvm.func @branches
  // CHECK: llvm.br ^bb1
  // CHECK-NOT: annotation
  // CHECK: llvm.cond_br %{{.*}}, ^bb1(%{{.*}} : i32), ^bb2 {loop_annotation = #[[A:.*]]}
  llvm.func @branches(%n: i32) {
    %zero = llvm.mlir.constant(0 : i32) : i32
    llvm.br ^bb1(%zero : i32)
  ^bb1(%i: i32):
    %next = llvm.add %i, %n : i32
    %more = llvm.icmp "slt" %next, %n : i32
    llvm.cond_br %more, ^bb1(%next : i32), ^bb2 {llvm.loop_annotation = #four}
  ^bb2:
    llvm.return
  }

  // What upstream's conversions make of a loop.
  // DOWN-LABEL: llvm.func @loop
  // DOWN-NOT: llvm.loop_annotation =
  // DOWN: llvm.br ^bb1{{.*}} {loop_annotation = #{{.*}}}
  // DOWN: llvm.return
  llvm.func @loop(%x: !llvm.ptr) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    scf.for %i = %c0 to %c8 step %c1 : i32 {
      llvm.store %i, %x : i32, !llvm.ptr
    } {llvm.loop_annotation = #four}
    llvm.return
  }
}
