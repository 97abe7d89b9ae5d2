// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-expand-math)' | FileCheck %s

// Not ours: f64 and functions without a polynomial.
// CHECK-LABEL: func.func @stays
// CHECK: math.log %{{.*}} : f64
// CHECK: math.cbrt %{{.*}} : f32
func.func @stays(%x: f64, %y: f32) -> (f64, f32) {
  %a = math.log %x : f64
  %b = math.cbrt %y : f32
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

// A tanh that something else reads, too, is computed for itself, and the sum is a sum.
// CHECK-LABEL: func.func @tanh_read_twice
// CHECK: %[[T:[0-9]+]] = arith.select %{{.*}}, %arg0, %
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[T]], %
// CHECK-NEXT: return %[[T]], %[[S]]
func.func @tanh_read_twice(%x: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>) {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %t = math.tanh %x : vector<8xf32>
  %y = arith.addf %t, %one : vector<8xf32>
  return %t, %y : vector<8xf32>, vector<8xf32>
}

// So is an erf to which something else than 1 is added.
// CHECK-LABEL: func.func @erf_and_two
// CHECK: %[[TWO:.*]] = arith.constant dense<2.0
// CHECK: arith.mulf %arg0, %arg0
// CHECK: %[[S:.*]] = arith.addf %{{.*}}, %[[TWO]]
// CHECK-NEXT: return %[[S]]
func.func @erf_and_two(%x: vector<8xf32>) -> vector<8xf32> {
  %two = arith.constant dense<2.0> : vector<8xf32>
  %t = math.erf %x : vector<8xf32>
  %y = arith.addf %t, %two : vector<8xf32>
  return %y : vector<8xf32>
}
