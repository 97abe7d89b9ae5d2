// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-expand-math)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-expand-math{vector-bits=512})' | FileCheck %s --check-prefix=SCALEF

// CHECK-LABEL: func.func @exp
// SCALEF-LABEL: func.func @exp
func.func @exp(%x: vector<32xf32>) -> vector<32xf32> {
  // The integer comes from the low bits of a float, not from a conversion, which is undefined for NaN.
  // CHECK-NOT: math.exp
  // CHECK-NOT: fptosi
  // CHECK: arith.bitcast %{{.*}} : vector<32xf32> to vector<32xi32>
  // CHECK: math.fma
  // CHECK: arith.shli
  // CHECK: return
  // SCALEF: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
  // SCALEF: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
  // SCALEF-NOT: arith.shli
  // SCALEF: return
  %y = math.exp %x : vector<32xf32>
  return %y : vector<32xf32>
}

// CHECK-LABEL: func.func @scalar
// CHECK-NOT: math.tanh
// CHECK: arith.divf %{{.*}} : f32
func.func @scalar(%x: f32) -> f32 {
  %y = math.tanh %x : f32
  return %y : f32
}

// Lanes too large for an exact reduction go to libm.
// CHECK-LABEL: func.func @sin
// CHECK: %[[ANY:.*]] = vector.reduction <or>
// CHECK: scf.if %[[ANY]]
// CHECK:   scf.for
// CHECK:     math.sin %{{.*}} : f32
func.func @sin(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.sin %x : vector<8xf32>
  return %y : vector<8xf32>
}

// One maxps: its second operand is what it returns for NaN.
// CHECK-LABEL: func.func @relu
// CHECK: %[[C:.*]] = arith.constant dense<0.0
// CHECK-NEXT: %[[L:.*]] = arith.cmpf olt, %arg0, %[[C]]
// CHECK-NEXT: %[[R:.*]] = arith.select %[[L]], %[[C]], %arg0
// CHECK-NEXT: return %[[R]]
func.func @relu(%x: vector<8xf32>) -> vector<8xf32> {
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %y = arith.maximumf %x, %zero : vector<8xf32>
  return %y : vector<8xf32>
}

// CHECK-LABEL: func.func @max
// CHECK: arith.cmpf olt, %arg1, %arg0 : f64
// CHECK: arith.cmpf uno, %arg0, %arg0 : f64
func.func @max(%x: f64, %y: f64) -> f64 {
  %z = arith.maximumf %x, %y : f64
  return %z : f64
}

// CHECK-LABEL: func.func @square
// CHECK: arith.mulf %arg0, %arg0 : vector<8xf32>
// CHECK-NEXT: return
func.func @square(%x: vector<8xf32>) -> vector<8xf32> {
  %two = arith.constant dense<2.0> : vector<8xf32>
  %y = math.powf %x, %two : vector<8xf32>
  return %y : vector<8xf32>
}
