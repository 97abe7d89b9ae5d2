// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-prepare-loops)' | FileCheck %s

// Packing is called when weights change: both of its loops stay loops.
// CHECK-LABEL: llvm.func @pack
// CHECK: llvm.cond_br %{{.*}}, ^bb3, ^bb4{{$}}
// CHECK: llvm.br ^bb2(%{{.*}} : i64) {loop_annotation = #[[KEPT:.*]]}
// CHECK: llvm.cond_br %{{.*}}, ^bb1(%{{.*}} : i64), ^bb5 {loop_annotation = #[[KEPT]]}
llvm.func @pack(%n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  llvm.br ^bb2(%zero : i64)
^bb2(%j: i64):
  %inside = llvm.icmp "slt" %j, %n : i64
  llvm.cond_br %inside, ^bb3, ^bb4
^bb3:
  %j1 = llvm.add %j, %one : i64
  llvm.br ^bb2(%j1 : i64)
^bb4:
  %i1 = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %i1, %n : i64
  llvm.cond_br %more, ^bb1(%i1 : i64), ^bb5
^bb5:
  llvm.return
}

// Threads call it.
// CHECK-LABEL: llvm.func @transpose_thread
// CHECK: llvm.cond_br {{.*}} {loop_annotation =
llvm.func @transpose_thread(%args: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %n = llvm.load %args : !llvm.ptr -> i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %i1 = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %i1, %n : i64
  llvm.cond_br %more, ^bb1(%i1 : i64), ^bb2
^bb2:
  llvm.return
}

llvm.func @fork(!llvm.ptr, !llvm.ptr)

llvm.func @prepare(%n: i64, %args: !llvm.ptr) {
  llvm.call @pack(%n) : (i64) -> ()
  %thread = llvm.mlir.addressof @transpose_thread : !llvm.ptr
  llvm.call @fork(%thread, %args) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}
