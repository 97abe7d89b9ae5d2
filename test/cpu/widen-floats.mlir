// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-widen-floats,cse)' | FileCheck %s

// One rounding for a chain; constants become f32.
// CHECK-LABEL: func.func @chain
func.func @chain(%a: memref<16xbf16>, %b: memref<16xbf16>, %o: memref<16xbf16>) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : vector<16xf32>
  %half = arith.constant dense<0.5> : vector<16xbf16>
  // CHECK: %[[A:.*]] = vector.load %arg0
  // CHECK-NEXT: %[[A32:.*]] = arith.extf %[[A]] : vector<16xbf16> to vector<16xf32>
  %x = vector.load %a[%c0] : memref<16xbf16>, vector<16xbf16>
  %y = vector.load %b[%c0] : memref<16xbf16>, vector<16xbf16>
  // CHECK: %[[S:.*]] = arith.addf %[[A32]], %{{.*}} : vector<16xf32>
  // CHECK-NEXT: %[[M:.*]] = arith.mulf %[[S]], %[[HALF]] : vector<16xf32>
  // CHECK-NEXT: %[[E:.*]] = math.exp %[[M]] : vector<16xf32>
  // CHECK-NEXT: %[[R:.*]] = arith.truncf %[[E]] : vector<16xf32> to vector<16xbf16>
  // CHECK-NEXT: vector.store %[[R]]
  %s = arith.addf %x, %y : vector<16xbf16>
  %m = arith.mulf %s, %half : vector<16xbf16>
  %e = math.exp %m : vector<16xbf16>
  vector.store %e, %o[%c0] : memref<16xbf16>, vector<16xbf16>
  return
}

// Loops carry f32.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32)
// CHECK: arith.addf %[[ACC]], %{{.*}} : f32
// CHECK: scf.yield %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT: return
func.func @loop(%a: memref<16xf16>) -> f16 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f16
  %sum = scf.for %i = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> f16 {
    %x = memref.load %a[%i] : memref<16xf16>
    %n = arith.addf %acc, %x : f16
    scf.yield %n : f16
  }
  return %sum : f16
}

// The program's own conversions and comparisons see rounded values.
// CHECK-LABEL: func.func @rounded
func.func @rounded(%x: f32, %y: bf16) -> (f32, i1, i32) {
  // CHECK: %[[Y:.*]] = arith.extf %arg1 : bf16 to f32
  // CHECK: %[[T:.*]] = arith.truncf %arg0 : f32 to bf16
  // CHECK: %[[B:.*]] = arith.extf %[[T]] : bf16 to f32
  // CHECK: %[[S:.*]] = arith.addf %[[Y]], %[[Y]] : f32
  // CHECK: %[[SR:.*]] = arith.truncf %[[S]] : f32 to bf16
  // CHECK: %[[SE:.*]] = arith.extf %[[SR]] : bf16 to f32
  // CHECK: arith.cmpf oeq, %[[SE]], %[[Y]] : f32
  // CHECK: arith.fptosi %[[SE]] : f32 to i32
  %t = arith.truncf %x : f32 to bf16
  %b = arith.extf %t : bf16 to f32
  %s = arith.addf %y, %y : bf16
  %c = arith.cmpf oeq, %s, %y : bf16
  %i = arith.fptosi %s : bf16 to i32
  return %b, %c, %i : f32, i1, i32
}

// From and to f64 and integers by way of f32, as eager does it.
// CHECK-LABEL: func.func @conversions
// CHECK: arith.extf %arg2 : f16 to f32
// CHECK: arith.sitofp %arg0 : i64 to f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.truncf %arg1 : f64 to f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.extf %{{.*}} : f32 to f64
func.func @conversions(%i: i64, %d: f64, %h: f16) -> (f16, f16, f64) {
  %a = arith.sitofp %i : i64 to f16
  %b = arith.truncf %d : f64 to f16
  %c = arith.extf %h : f16 to f64
  return %a, %b, %c : f16, f16, f64
}

// What is chosen from half numbers is one: it is compared as it is, in each turn of a loop and behind it. What
// the other loop adds up is not.
// CHECK-LABEL: func.func @chosen
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[MOST:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (f32, f32) {
// CHECK:   %[[ROUNDED:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK:   %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK:   %[[C:.*]] = arith.cmpf ogt, %[[X]], %[[MOST]] : f32
// CHECK:   %[[M:.*]] = arith.select %[[C]], %[[X]], %[[MOST]] : f32
// CHECK:   %[[S:.*]] = arith.addf %[[SUM]], %[[X]] : f32
// CHECK:   arith.cmpf olt, %[[ROUNDED]], %[[X]]
// CHECK: arith.cmpf uno, %[[LOOP]]#0, %[[LOOP]]#0 : f32
func.func @chosen(%a: memref<16xbf16>, %o: memref<16xi1>) -> i1 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %least = arith.constant 0xFF80 : bf16
  %zero = arith.constant 0.0 : bf16
  %most:2 = scf.for %i = %c0 to %c16 step %c1 iter_args(%m = %least, %s = %zero) -> (bf16, bf16) {
    %x = memref.load %a[%i] : memref<16xbf16>
    %c = arith.cmpf ogt, %x, %m : bf16
    %n = arith.select %c, %x, %m : bf16
    %t = arith.addf %s, %x : bf16
    %d = arith.cmpf olt, %s, %x : bf16
    memref.store %d, %o[%i] : memref<16xi1>
    scf.yield %n, %t : bf16, bf16
  }
  %u = arith.cmpf uno, %most#0, %most#0 : bf16
  return %u : i1
}
