// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fast-math,canonicalize)' | FileCheck %s

// CHECK-LABEL: func.func @by_number
// CHECK: %[[C:.*]] = arith.constant dense<2.500000e-01> : vector<8xf32>
// CHECK: %[[R:.*]] = arith.mulf %{{.*}}, %[[C]]
// CHECK: return %[[R]]
func.func @by_number(%x: vector<8xf32>) -> vector<8xf32> {
  %c = arith.constant dense<4.0> : vector<8xf32>
  %0 = arith.divf %x, %c : vector<8xf32>
  return %0 : vector<8xf32>
}

// One division for a row.
// CHECK-LABEL: func.func @by_broadcast
// CHECK-SAME: %[[X:.*]]: vector<4x8xf32>, %[[S:.*]]: vector<4x1xf32>
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<4x1xf32>
// CHECK: %[[RECIPROCAL:.*]] = arith.divf %[[ONE]], %[[S]] : vector<4x1xf32>
// CHECK: %[[B:.*]] = vector.broadcast %[[RECIPROCAL]] : vector<4x1xf32> to vector<4x8xf32>
// CHECK: arith.mulf %[[X]], %[[B]]
func.func @by_broadcast(%x: vector<4x8xf32>, %s: vector<4x1xf32>) -> vector<4x8xf32> {
  %b = vector.broadcast %s : vector<4x1xf32> to vector<4x8xf32>
  %0 = arith.divf %x, %b : vector<4x8xf32>
  return %0 : vector<4x8xf32>
}

// CHECK-LABEL: func.func @by_root
// CHECK: %[[R:.*]] = math.rsqrt %arg1
// CHECK: arith.mulf %arg0, %[[R]]
func.func @by_root(%x: f64, %y: f64) -> f64 {
  %r = math.sqrt %y : f64
  %0 = arith.divf %x, %r : f64
  return %0 : f64
}

// Factors 2 and 3, terms 1 and -4; the first sum is that of a product.
// CHECK-LABEL: func.func @joined
// CHECK-DAG: %[[SIX:.*]] = arith.constant 6.000000e+00 : f32
// CHECK-DAG: %[[MINUS:.*]] = arith.constant -3.000000e+00 : f32
// CHECK: math.fma %arg0, %[[SIX]], %[[MINUS]] : f32
func.func @joined(%x: f32) -> f32 {
  %c1 = arith.constant 1.0 : f32
  %c2 = arith.constant 2.0 : f32
  %c3 = arith.constant 3.0 : f32
  %c4 = arith.constant 4.0 : f32
  %0 = arith.mulf %c2, %x : f32
  %1 = arith.mulf %0, %c3 : f32
  %2 = arith.subf %1, %c4 : f32
  %3 = arith.addf %2, %c1 : f32
  return %3 : f32
}

// CHECK-LABEL: func.func @nothing
// CHECK-SAME: %[[X:.*]]: bf16
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : bf16
// CHECK: return %[[X]], %[[X]], %[[X]], %[[X]], %[[ZERO]], %[[ZERO]], %[[ONE]]
func.func @nothing(%x: bf16) -> (bf16, bf16, bf16, bf16, bf16, bf16, bf16) {
  %zero = arith.constant 0.0 : bf16
  %0 = arith.addf %x, %zero : bf16
  %r = math.sqrt %x : bf16
  %1 = arith.mulf %r, %r : bf16
  %l = math.log %x : bf16
  %2 = math.exp %l : bf16
  %e = math.exp %x : bf16
  %3 = math.log %e : bf16
  %4 = arith.subf %x, %x : bf16
  %5 = arith.mulf %x, %zero : bf16
  %6 = arith.divf %x, %x : bf16
  return %0, %1, %2, %3, %4, %5, %6 : bf16, bf16, bf16, bf16, bf16, bf16, bf16
}
