// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-expand-math)' | FileCheck %s

// libdevice's: f64, half floats, exp of a number that was not computed, and functions without an instruction.
// CHECK-LABEL: llvm.func @stays
// CHECK-SAME: (%[[X:.*]]: f32, %[[D:.*]]: f64, %[[H:.*]]: f16,
// CHECK-DAG: math.exp %[[X]] : f32
// CHECK-DAG: math.exp %{{.*}} : f64
// CHECK-DAG: math.tanh %[[D]] : f64
// CHECK-DAG: math.erf %[[D]] : f64
// CHECK-DAG: math.exp2 %[[H]] : f16
// CHECK-DAG: math.log %[[X]] : f32
// CHECK-DAG: math.sqrt %[[X]] : f32
// CHECK-NOT: llvm.call_intrinsic
llvm.func @stays(%x: f32, %d: f64, %h: f16, %out: !llvm.ptr) {
  %a = math.exp %x : f32
  llvm.store %a, %out : f32, !llvm.ptr
  %two = arith.addf %d, %d : f64
  %b = math.exp %two : f64
  llvm.store %b, %out : f64, !llvm.ptr
  %c = math.tanh %d : f64
  llvm.store %c, %out : f64, !llvm.ptr
  %e = math.erf %d : f64
  llvm.store %e, %out : f64, !llvm.ptr
  %f = math.exp2 %h : f16
  llvm.store %f, %out : f16, !llvm.ptr
  %g = math.log %x : f32
  llvm.store %g, %out : f32, !llvm.ptr
  %i = math.sqrt %x : f32
  llvm.store %i, %out : f32, !llvm.ptr
  llvm.return
}

// What no thread of a kernel computes is not ours: host functions, and vectors.
// CHECK-LABEL: func.func @host
// CHECK: math.tanh %{{.*}} : f32
func.func @host(%x: f32) -> f32 {
  %a = math.tanh %x : f32
  return %a : f32
}

// CHECK-LABEL: llvm.func @vectors
// CHECK: math.tanh %{{.*}} : vector<4xf32>
llvm.func @vectors(%x: vector<4xf32>, %out: !llvm.ptr) {
  %a = math.tanh %x : vector<4xf32>
  llvm.store %a, %out : vector<4xf32>, !llvm.ptr
  llvm.return
}

// No logistic: the sum of another number, another one divided by the sum, a sum without an exponential.
// CHECK-LABEL: llvm.func @no_logistic
// CHECK-NOT: rcp
// CHECK-COUNT-3: arith.divf
// CHECK: llvm.return
llvm.func @no_logistic(%x: f32, %y: f32, %out: !llvm.ptr) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %e = math.exp %x : f32
  %s = arith.addf %y, %e : f32
  %a = arith.divf %one, %s : f32
  llvm.store %a, %out : f32, !llvm.ptr
  %t = arith.addf %one, %e : f32
  %b = arith.divf %two, %t : f32
  llvm.store %b, %out : f32, !llvm.ptr
  %u = arith.addf %one, %x : f32
  %c = arith.divf %one, %u : f32
  llvm.store %c, %out : f32, !llvm.ptr
  llvm.return
}

// What may be a denormal: a number itself, its sum with another one, or with a tiny one.
// CHECK-LABEL: llvm.func @no_root
// CHECK-NOT: llvm.call_intrinsic
// CHECK-COUNT-3: math.rsqrt
llvm.func @no_root(%x: f32, %y: f32, %out: !llvm.ptr) {
  %a = math.rsqrt %x : f32
  llvm.store %a, %out : f32, !llvm.ptr
  %s = arith.addf %x, %y : f32
  %b = math.rsqrt %s : f32
  llvm.store %b, %out : f32, !llvm.ptr
  %tiny = arith.constant 1.0e-35 : f32
  %t = arith.addf %x, %tiny : f32
  %c = math.rsqrt %t : f32
  llvm.store %c, %out : f32, !llvm.ptr
  llvm.return
}

// One division, two by two numbers, two of f64 by one, and two by a power of two, which LLVM multiplies by the
// reciprocal of: none of ours.
// CHECK-LABEL: llvm.func @no_reciprocal
// CHECK-NOT: rcp
// CHECK-COUNT-6: arith.divf
// CHECK: llvm.return
llvm.func @no_reciprocal(%x: f32, %y: f32, %z: f64, %out: !llvm.ptr) {
  %a = arith.divf %x, %y : f32
  llvm.store %a, %out : f32, !llvm.ptr
  %b = arith.divf %y, %x : f32
  llvm.store %b, %out : f32, !llvm.ptr
  %c = arith.divf %z, %z : f64
  %d = arith.divf %c, %z : f64
  llvm.store %d, %out : f64, !llvm.ptr
  %columns = arith.constant 1024.0 : f32
  %e = arith.divf %x, %columns : f32
  llvm.store %e, %out : f32, !llvm.ptr
  %f = arith.divf %y, %columns : f32
  llvm.store %f, %out : f32, !llvm.ptr
  llvm.return
}

// No relu: x > 0 would make 0 of NaN, 1 is another bound, y is not what is compared; in 1 / relu(z) the sign of
// a zero shows.
// CHECK-LABEL: llvm.func @no_relu
// CHECK-NOT: arith.maximumf
// CHECK-COUNT-4: arith.select
// CHECK-NOT: arith.maximumf
// CHECK: llvm.return
llvm.func @no_relu(%x: f32, %y: f32, %z: f32, %out: !llvm.ptr) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %a = arith.cmpf ogt, %x, %zero : f32
  %b = arith.select %a, %x, %zero : f32
  %c = arith.addf %b, %half : f32
  llvm.store %c, %out : f32, !llvm.ptr
  %d = arith.cmpf uge, %x, %one : f32
  %e = arith.select %d, %x, %one : f32
  %f = arith.addf %e, %half : f32
  llvm.store %f, %out : f32, !llvm.ptr
  %g = arith.cmpf uge, %x, %zero : f32
  %h = arith.select %g, %y, %zero : f32
  %i = arith.addf %h, %half : f32
  llvm.store %i, %out : f32, !llvm.ptr
  %j = arith.cmpf uge, %z, %zero : f32
  %k = arith.select %j, %z, %zero : f32
  %l = arith.divf %one, %k : f32
  llvm.store %l, %out : f32, !llvm.ptr
  llvm.return
}
