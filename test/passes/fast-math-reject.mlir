// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fast-math)' | FileCheck %s

// 1e-40 has no normal reciprocal in f32, 0 none at all; 100000 is too much for f16.
// CHECK-LABEL: func.func @constants
// CHECK-COUNT-2: arith.divf
// CHECK-COUNT-2: arith.mulf
func.func @constants(%x: f32, %h: f16) -> (f32, f32, f16) {
  %zero = arith.constant 0.0 : f32
  %small = arith.constant 1.0e-40 : f32
  %large = arith.constant 400.0 : f16
  %0 = arith.divf %x, %zero : f32
  %1 = arith.divf %x, %small : f32
  %2 = arith.mulf %h, %large : f16
  %3 = arith.mulf %2, %large : f16
  return %0, %1, %3 : f32, f32, f16
}

// A product that is needed by itself, a sum that is rounded to bf16.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: math.fma
// CHECK: return
func.func @kept(%x: f32, %y: f32, %h: bf16) -> (f32, f32, bf16) {
  %0 = arith.mulf %x, %y : f32
  %1 = arith.addf %0, %x : f32
  %2 = arith.mulf %h, %h : bf16
  %3 = arith.addf %2, %h : bf16
  return %0, %1, %3 : f32, f32, bf16
}

// Integers, and different values.
// CHECK-LABEL: func.func @others
// CHECK: arith.subi
// CHECK: arith.subf
// CHECK: arith.divf
func.func @others(%n: i32, %x: f32, %y: f32) -> (i32, f32, f32) {
  %0 = arith.subi %n, %n : i32
  %1 = arith.subf %x, %y : f32
  %2 = arith.divf %x, %y : f32
  return %0, %1, %2 : i32, f32, f32
}
