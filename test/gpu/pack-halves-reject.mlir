// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-pack-halves)' | FileCheck %s

// Two kinds of half floats.
// CHECK-LABEL: llvm.func @two_kinds
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
// CHECK-NOT: vector<2x
llvm.func @two_kinds(%x: f32, %y: f32, %out: !llvm.ptr) {
  %a = arith.truncf %x : f32 to bf16
  %b = arith.truncf %y : f32 to f16
  llvm.store %a, %out : bf16, !llvm.ptr
  llvm.store %b, %out : f16, !llvm.ptr
  llvm.return
}

// f64 is rounded by another instruction, one at a time.
// CHECK-LABEL: llvm.func @from_doubles
// CHECK-COUNT-2: arith.truncf %{{.*}} : f64 to f16
// CHECK-NOT: vector<2x
llvm.func @from_doubles(%x: f64, %y: f64, %out: !llvm.ptr) {
  %a = arith.truncf %x : f64 to f16
  %b = arith.truncf %y : f64 to f16
  llvm.store %a, %out : f16, !llvm.ptr
  llvm.store %b, %out : f16, !llvm.ptr
  llvm.return
}

// They do not stand next to each other, and the last one stands alone.
// CHECK-LABEL: llvm.func @apart
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: llvm.store
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-NOT: vector<2x
llvm.func @apart(%x: f32, %y: f32, %out: !llvm.ptr) {
  %a = arith.truncf %x : f32 to bf16
  llvm.store %a, %out : bf16, !llvm.ptr
  %b = arith.truncf %y : f32 to bf16
  llvm.store %b, %out : bf16, !llvm.ptr
  llvm.return
}

// f16 has an instruction that widens either half of a word: nothing is taken apart for it.
// CHECK-LABEL: llvm.func @f16_widens
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK-NOT: vector.bitcast
llvm.func @f16_widens(%v: vector<2xf16>, %out: !llvm.ptr) {
  %a = vector.extract %v[1] : f16 from vector<2xf16>
  %b = arith.extf %a : f16 to f32
  llvm.store %b, %out : f32, !llvm.ptr
  llvm.return
}
