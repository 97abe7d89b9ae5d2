// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-bf16-bits)' | FileCheck %s

// Other types stay: f16 LLVM knows.

// CHECK-NOT: llvm.bitcast
llvm.func @others(%p: !llvm.ptr, %mask: vector<16xi1>, %f: vector<16xf32>, %h: vector<16xf16>) -> vector<16xf32> {
  %v = llvm.intr.masked.load %p, %mask, %f {alignment = 4 : i32} : (!llvm.ptr, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
  llvm.intr.masked.store %h, %p, %mask {alignment = 2 : i32} : vector<16xf16>, vector<16xi1> into !llvm.ptr
  %w = llvm.load %p {alignment = 2 : i64} : !llvm.ptr -> vector<16xf16>
  llvm.store %w, %p {alignment = 2 : i64} : vector<16xf16>, !llvm.ptr
  llvm.return %v : vector<16xf32>
}
