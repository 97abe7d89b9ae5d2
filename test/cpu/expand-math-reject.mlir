// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-expand-math)' | FileCheck %s

// Not ours: f64 and functions without a polynomial.
// CHECK-LABEL: func.func @stays
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.atan %{{.*}} : f32
func.func @stays(%x: f64, %y: f32) -> (f64, f32) {
  %a = math.exp %x : f64
  %b = math.atan %y : f32
  return %a, %b : f64, f32
}

// Half floats are f32 by now, and tensors loops.
// CHECK-LABEL: func.func @too_early
// CHECK: math.exp %{{.*}} : f16
// CHECK: math.tanh %{{.*}} : tensor<4xf32>
func.func @too_early(%x: f16, %y: tensor<4xf32>) -> (f16, tensor<4xf32>) {
  %a = math.exp %x : f16
  %b = math.tanh %y : tensor<4xf32>
  return %a, %b : f16, tensor<4xf32>
}

// A power whose exponent is not one of the few known ones stays a power of both: no multiplication.
// CHECK-LABEL: func.func @power
// CHECK-NOT: arith.mulf %arg0, %arg0
// CHECK: math.powf %{{.*}} : f64
func.func @power(%x: f64, %y: f64) -> f64 {
  %a = math.powf %x, %y : f64
  return %a : f64
}
