// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-prepare-loops)' | FileCheck %s --implicit-check-not=annotation

// Each call runs what @main calls, also where @prepare does, too.
// CHECK-LABEL: llvm.func @both
llvm.func @both(%n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %i1 = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %i1, %n : i64
  llvm.cond_br %more, ^bb1(%i1 : i64), ^bb2
^bb2:
  llvm.return
}

// Branches forward are no loops.
// CHECK-LABEL: llvm.func @no_loop
llvm.func @no_loop(%n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %more = llvm.icmp "slt" %zero, %n : i64
  llvm.cond_br %more, ^bb1, ^bb2
^bb1:
  llvm.br ^bb2
^bb2:
  llvm.return
}

llvm.func @prepare(%n: i64) {
  llvm.call @both(%n) : (i64) -> ()
  llvm.call @no_loop(%n) : (i64) -> ()
  llvm.return
}

llvm.func @main(%n: i64) {
  llvm.call @both(%n) : (i64) -> ()
  llvm.return
}
