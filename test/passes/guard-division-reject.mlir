// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-guard-division)' | FileCheck %s

// What cannot trap stays: constant divisors, of integers and of indices.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: cf.assert
// CHECK: return
func.func @stays(%x: i32, %i: index) -> (i32, index) {
  %c3 = arith.constant 3 : i32
  %r = arith.divsi %x, %c3 : i32
  %n = arith.constant 768 : index
  %s = arith.floordivsi %i, %n : index
  return %r, %s : i32, index
}

// A quotient that the text computes in floats stays in floats: of 2^53 + 1 and 1 in f64 it is 2^53.
// CHECK-LABEL: func.func @floats
// CHECK: arith.divf
// CHECK: math.floor
// CHECK: arith.fptosi
func.func @floats(%x: i64, %y: i64) -> i64 {
  %a = arith.sitofp %x : i64 to f64
  %b = arith.sitofp %y : i64 to f64
  %c = arith.divf %a, %b : f64
  %d = math.floor %c : f64
  %e = arith.fptosi %d : f64 to i64
  return %e : i64
}

// Vectors are for passes that come later, and a bit cannot be divided.
// CHECK-LABEL: func.func @vectors
// CHECK-NOT: cf.assert
// CHECK: arith.divsi
func.func @vectors(%x: vector<4xi32>, %y: vector<4xi32>, %p: i1, %q: i1) -> (vector<4xi32>, i1) {
  %r = arith.divsi %x, %y : vector<4xi32>
  %s = arith.divui %p, %q : i1
  return %r, %s : vector<4xi32>, i1
}
