// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-pack-halves)' | FileCheck %s

// Two are rounded at once, and widened out of their word.
// CHECK-LABEL: llvm.func @rounded
// CHECK-SAME: (%[[X:.*]]: f32, %[[Y:.*]]: f32,
// CHECK: %[[V:.*]] = vector.from_elements %[[X]], %[[Y]] : vector<2xf32>
// CHECK: %[[H:.*]] = arith.truncf %[[V]] : vector<2xf32> to vector<2xbf16>
// CHECK: %[[W:.*]] = vector.bitcast %[[H]] : vector<2xbf16> to vector<1xi32>
// CHECK: %[[A:.*]] = vector.extract %[[W]][0]
// CHECK: arith.shli %[[A]], %c16_i32
// CHECK: arith.andi %{{.*}}, %c-65536_i32
// CHECK-NOT: arith.extf
llvm.func @rounded(%x: f32, %y: f32, %out: !llvm.ptr) {
  %a = arith.truncf %x : f32 to bf16
  %b = arith.truncf %y : f32 to bf16
  %c = arith.extf %a : bf16 to f32
  %d = arith.extf %b : bf16 to f32
  llvm.store %c, %out : f32, !llvm.ptr
  llvm.store %d, %out : f32, !llvm.ptr
  llvm.return
}

// relu(v) * 0.5, a product that is rounded: of both at once. 0.3 is no bf16.
// CHECK-LABEL: llvm.func @arithmetic
// CHECK-SAME: (%[[V:.*]]: vector<4xbf16>,
// CHECK: %[[P:.*]] = vector.shuffle %[[V]], %[[V]] [2, 3]
// CHECK: %[[M:.*]] = arith.maximumf %[[P]], %{{.*}} : vector<2xbf16>
// CHECK: arith.mulf %[[M]], %{{.*}} : vector<2xbf16>
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
llvm.func @arithmetic(%v: vector<4xbf16>, %out: !llvm.ptr) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %other = arith.constant 0.3 : f32
  %a = vector.extract %v[2] : bf16 from vector<4xbf16>
  %b = vector.extract %v[3] : bf16 from vector<4xbf16>
  %c = arith.extf %a : bf16 to f32
  %d = arith.extf %b : bf16 to f32
  %e = arith.maximumf %c, %zero : f32
  %f = arith.maximumf %d, %zero : f32
  %g = arith.mulf %e, %half : f32
  %h = arith.mulf %f, %half : f32
  %i = arith.truncf %g : f32 to bf16
  %j = arith.truncf %h : f32 to bf16
  llvm.store %i, %out : bf16, !llvm.ptr
  llvm.store %j, %out : bf16, !llvm.ptr
  %k = arith.mulf %e, %other : f32
  %l = arith.mulf %f, %other : f32
  %m = arith.truncf %k : f32 to bf16
  %n = arith.truncf %l : f32 to bf16
  llvm.store %m, %out : bf16, !llvm.ptr
  llvm.store %n, %out : bf16, !llvm.ptr
  llvm.return
}

// Alone, of two kinds, of elements that are not neighbours, or rounded twice in f32: as before. f16 is only paired.
// CHECK-LABEL: llvm.func @left
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.addf %{{.*}} : f32
// CHECK: arith.addf %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xf16>
// CHECK: arith.extf %{{.*}} : f16 to f32
llvm.func @left(%x: f32, %v: vector<4xf16>, %out: !llvm.ptr) {
  %a = arith.truncf %x : f32 to bf16
  %b = arith.truncf %x : f32 to f16
  llvm.store %a, %out : bf16, !llvm.ptr
  llvm.store %b, %out : f16, !llvm.ptr
  %c = vector.extract %v[1] : f16 from vector<4xf16>
  %d = vector.extract %v[2] : f16 from vector<4xf16>
  %e = arith.extf %c : f16 to f32
  %f = arith.extf %d : f16 to f32
  %g = arith.addf %e, %e : f32
  %h = arith.addf %f, %f : f32
  %i = arith.truncf %g : f32 to f16
  %j = arith.truncf %h : f32 to f16
  llvm.store %i, %out : f16, !llvm.ptr
  llvm.store %j, %out : f16, !llvm.ptr
  %k = arith.extf %j : f16 to f32
  llvm.store %k, %out : f32, !llvm.ptr
  llvm.return
}
