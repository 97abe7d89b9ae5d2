// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-expand-math)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-expand-math{vector-bits=512})' | FileCheck %s --check-prefix=WIDE

// CHECK-LABEL: func.func @exp
// WIDE-LABEL: func.func @exp
func.func @exp(%x: vector<32xf32>) -> vector<32xf32> {
  // The integer comes from the low bits of a float, not from a conversion, which is undefined for NaN.
  // CHECK-NOT: math.exp
  // CHECK-NOT: fptosi
  // CHECK: arith.bitcast %{{.*}} : vector<32xf32> to vector<32xi32>
  // CHECK: math.fma
  // CHECK: arith.shli
  // CHECK: return
  // WIDE: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
  // WIDE: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
  // WIDE-NOT: arith.shli
  // WIDE: return
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
// CHECK: llvm.intr.maximum(%arg0, %arg1) {fastmathFlags = #llvm.fastmath<nsz>} : (f64, f64) -> f64
// CHECK-NEXT: return
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

// GELU adds 1 to a tanh that nothing else reads.
// CHECK-LABEL: func.func @one_plus_tanh
// CHECK-NOT: math.tanh
// CHECK: %[[TWO:.*]] = arith.constant dense<2.0
// CHECK: %[[MINUS_TWO:.*]] = arith.constant dense<-2.0
// CHECK: arith.mulf %arg0, %[[MINUS_TWO]]
// CHECK: %[[Y:.*]] = arith.divf %[[TWO]],
// CHECK-NEXT: return %[[Y]]
func.func @one_plus_tanh(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %t = math.tanh %x : vector<8xf32>
  %y = arith.addf %one, %t : vector<8xf32>
  return %y : vector<8xf32>
}

// And 1 to an erf: what 1 lacks of erf(|x|), which is a power of two, or 2 less that.
// CHECK-LABEL: func.func @one_plus_erf
// CHECK-NOT: math.erf
// CHECK: math.absf %arg0
// CHECK: %[[POWER:.*]] = arith.bitcast %{{.*}} : vector<8xi32> to vector<8xf32>
// CHECK-NEXT: %[[REST:.*]] = arith.mulf %{{.*}}, %[[POWER]]
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %arg0, %
// CHECK: %[[ABOVE:.*]] = arith.subf %{{.*}}, %[[REST]]
// CHECK-NEXT: %[[Y:.*]] = arith.select %[[BELOW]], %[[REST]], %[[ABOVE]]
// CHECK-NEXT: return %[[Y]]
func.func @one_plus_erf(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %t = math.erf %x : vector<8xf32>
  %y = arith.addf %t, %one : vector<8xf32>
  return %y : vector<8xf32>
}

// To an exp: times one power of two and 2, since what is less than 2^-125 vanishes.
// CHECK-LABEL: func.func @one_plus_exp
// CHECK-NOT: math.exp
// CHECK-NOT: arith.shrsi
// CHECK: %[[POWER:.*]] = arith.bitcast %{{.*}} : vector<8xi32> to vector<8xf32>
// CHECK: %[[HALF:.*]] = arith.mulf %{{.*}}, %[[POWER]]
// CHECK: %[[E:.*]] = arith.mulf %[[HALF]], %{{.*}}
// CHECK: %[[Y:.*]] = arith.addf %[[E]], %
// CHECK-NEXT: return %[[Y]]
func.func @one_plus_exp(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %t = math.exp %x : vector<8xf32>
  %y = arith.addf %one, %t : vector<8xf32>
  return %y : vector<8xf32>
}

// An exp of 0 at most, of a softmax: times 2^(n + 32) and 2^-32, right into the denormals.
// CHECK-LABEL: func.func @not_positive
// CHECK-NOT: arith.shrsi
// CHECK: %[[POWER:.*]] = arith.bitcast %{{.*}} : vector<8xi32> to vector<8xf32>
// CHECK: %[[RAISED:.*]] = arith.mulf %{{.*}}, %[[POWER]]
// CHECK: %[[Y:.*]] = arith.mulf %[[RAISED]], %{{.*}}
// CHECK-NEXT: return %[[Y]]
func.func @not_positive(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x {mlopt.not_positive} : vector<8xf32>
  return %y : vector<8xf32>
}

// Of f64 there is exp, also where 1 is added to it.
// CHECK-LABEL: func.func @exp_of_doubles
// CHECK-NOT: math.exp
// CHECK-COUNT-12: math.fma %{{.*}} : vector<4xf64>
// CHECK: return
func.func @exp_of_doubles(%x: vector<4xf64>) -> vector<4xf64> {
  %one = arith.constant dense<1.0> : vector<4xf64>
  %t = math.exp %x : vector<4xf64>
  %y = arith.addf %t, %one : vector<4xf64>
  return %y : vector<4xf64>
}

// Registers of 16 lanes are tables of coefficients.
// CHECK-LABEL: func.func @erf
// CHECK-NOT: permvar
// CHECK: return
// WIDE-LABEL: func.func @erf
// WIDE-NOT: scalef
// WIDE-COUNT-6: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"
// WIDE-NOT: llvm.call_intrinsic
// WIDE: return
func.func @erf(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.erf %x : vector<16xf32>
  return %y : vector<16xf32>
}
