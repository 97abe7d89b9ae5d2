// RUN: mlopt-opt %s --load-pass-plugin=%S/double_negation.py --double-negation | FileCheck %s

// CHECK-LABEL: func.func @twice(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-NEXT: return %[[X]]
func.func @twice(%x: f32) -> f32 {
  %a = arith.negf %x : f32
  %b = arith.negf %a : f32
  return %b : f32
}

// CHECK-LABEL: func.func @thrice(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = arith.negf %[[X]]
// CHECK-NEXT: return %[[A]]
func.func @thrice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = arith.negf %x : tensor<4xf32>
  %b = arith.negf %a : tensor<4xf32>
  %c = arith.negf %b : tensor<4xf32>
  return %c : tensor<4xf32>
}

// What is negated once, or by a subtraction, stays (0 - x is not -x where x is 0).
// CHECK-LABEL: func.func @once(
// CHECK: arith.negf
// CHECK: arith.subf
// CHECK: arith.negf
func.func @once(%x: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %a = arith.negf %x : f32
  %b = arith.subf %zero, %a : f32
  %c = arith.negf %b : f32
  return %c : f32
}
