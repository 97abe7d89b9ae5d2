// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-expand-math)' | FileCheck %s

// A function each, ahead of those that call it, without branches or divisions; LLVM may move calls.
// CHECK-LABEL: llvm.func internal @mlopt_logistic
// CHECK-SAME: (%[[Y:.*]]: f32) -> f32 attributes {always_inline, memory_effects = #llvm.memory_effects<other = none,
// CHECK: %[[S:.*]] = llvm.call_intrinsic "llvm.fma.f32"(%[[Y]]
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[S]])
// CHECK: %[[D:.*]] = llvm.call_intrinsic "llvm.fma.f32"(%[[R]], %[[R]], %[[Q:[a-z0-9_]+]])
// CHECK: %[[I:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[D]])
// CHECK: %[[L:.*]] = arith.mulf %[[I]], %[[Q]]
// CHECK: llvm.return %[[L]]

// CHECK-LABEL: llvm.func internal @mlopt_erf
// CHECK-NOT: math.erf
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: arith.select
// CHECK: arith.ori

// CHECK-LABEL: llvm.func internal @mlopt_tanh
// CHECK-NOT: math.tanh
// CHECK: llvm.call_intrinsic "llvm.fma.f32"
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: arith.select
// CHECK: arith.ori

// CHECK-LABEL: llvm.func @exponentials
// CHECK-SAME: (%[[X:.*]]: f32, %[[D:.*]]: f64,
llvm.func @exponentials(%x: f32, %d: f64, %out: !llvm.ptr) {
  // CHECK: %[[LOG2E:.*]] = arith.constant 1.442695
  // CHECK: %[[Y:.*]] = arith.subf %[[X]]
  // CHECK: %[[T:.*]] = arith.mulf %[[Y]], %[[LOG2E]] : f32
  // CHECK: %[[E:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[T]])
  // CHECK: llvm.store %[[E]]
  %one = arith.constant 1.0 : f32
  %y = arith.subf %x, %one : f32
  %e = math.exp %y : f32
  llvm.store %e, %out : f32, !llvm.ptr
  // CHECK: %[[P:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[X]])
  // CHECK: llvm.store %[[P]]
  %p = math.exp2 %x : f32
  llvm.store %p, %out : f32, !llvm.ptr
  // libdevice's are f64, exp of a number that was not computed, and other functions.
  // CHECK: math.exp %[[X]] : f32
  // CHECK: math.exp %[[D]] : f64
  // CHECK: math.log %[[X]] : f32
  %v = math.exp %x : f32
  llvm.store %v, %out : f32, !llvm.ptr
  %w = math.exp %d : f64
  llvm.store %w, %out : f64, !llvm.ptr
  %l = math.log %x : f32
  llvm.store %l, %out : f32, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @tanh
// CHECK-SAME: (%[[X:.*]]: f32,
// CHECK-NEXT: %[[Y:.*]] = llvm.call @mlopt_tanh(%[[X]]) : (f32) -> f32
// CHECK-NEXT: %[[Z:.*]] = llvm.call @mlopt_tanh(%[[Y]]) : (f32) -> f32
// CHECK-NEXT: llvm.store %[[Z]]
llvm.func @tanh(%x: f32, %out: !llvm.ptr) {
  %y = math.tanh %x : f32
  %z = math.tanh %y : f32
  llvm.store %z, %out : f32, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @erf
// CHECK-SAME: (%[[X:.*]]: f32,
// CHECK-NEXT: llvm.call @mlopt_erf(%[[X]]) : (f32) -> f32
llvm.func @erf(%x: f32, %out: !llvm.ptr) {
  %y = math.erf %x : f32
  llvm.store %y, %out : f32, !llvm.ptr
  llvm.return
}

// What is one instruction, and exact, is no call of libdevice's.
// CHECK-LABEL: llvm.func @exact
// CHECK-SAME: (%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[D:.*]]: f64,
llvm.func @exact(%x: f32, %y: f32, %d: f64, %out: !llvm.ptr) {
  // CHECK: %[[A:.*]] = llvm.call_intrinsic "llvm.fabs.f32"(%[[X]]) : (f32) -> f32
  // CHECK: %[[F:.*]] = llvm.call_intrinsic "llvm.fma.f32"(%[[A]], %[[X]], %[[Y]]) : (f32, f32, f32) -> f32
  // CHECK: %[[M:.*]] = llvm.call_intrinsic "llvm.maxnum.f32"(%[[F]], %[[Y]]) : (f32, f32) -> f32
  // CHECK: llvm.call_intrinsic "llvm.minnum.f32"(%[[M]], %[[X]]) : (f32, f32) -> f32
  // CHECK: math.absf %[[D]] : f64
  %a = math.absf %x : f32
  %f = math.fma %a, %x, %y : f32
  %m = arith.maxnumf %f, %y : f32
  %n = arith.minnumf %m, %x : f32
  llvm.store %n, %out : f32, !llvm.ptr
  %w = math.absf %d : f64
  llvm.store %w, %out : f64, !llvm.ptr
  llvm.return
}

// 1 / (1 + exp(-x)), with the operands of the sum either way; nothing of the exponential is left.
// CHECK-LABEL: llvm.func @logistic
// CHECK-SAME: (%[[X:.*]]: f32,
llvm.func @logistic(%x: f32, %out: !llvm.ptr) {
  %one = arith.constant 1.0 : f32
  // CHECK: %[[N:.*]] = arith.negf %[[X]]
  // CHECK-NOT: ex2.approx.f32
  // CHECK-NOT: arith.divf
  // CHECK: llvm.call @mlopt_logistic(%[[N]]) : (f32) -> f32
  %n = arith.negf %x : f32
  %e = math.exp %n : f32
  %s = arith.addf %one, %e : f32
  %y = arith.divf %one, %s : f32
  llvm.store %y, %out : f32, !llvm.ptr
  llvm.return
}

// The root of a sum with a norm's epsilon, which is no denormal.
// CHECK-LABEL: llvm.func @reciprocal_root
// CHECK: %[[S:.*]] = arith.addf
// CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[S]])
llvm.func @reciprocal_root(%x: f32, %out: !llvm.ptr) {
  %epsilon = arith.constant 1.0e-5 : f32
  %s = arith.addf %x, %epsilon : f32
  %r = math.rsqrt %s : f32
  llvm.store %r, %out : f32, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @alone
// CHECK-COUNT-3: arith.divf
// CHECK-NOT: arith.divf
// CHECK-NOT: rcp
llvm.func @alone(%x: f32, %y: f32, %z: f64, %out: !llvm.ptr) {
  %one = arith.constant 1.0 : f32
  %e = math.exp %x : f32
  %s = arith.addf %y, %e : f32
  %a = arith.divf %one, %s : f32
  llvm.store %a, %out : f32, !llvm.ptr
  %b = arith.divf %z, %z : f64
  %c = arith.divf %b, %z : f64
  llvm.store %c, %out : f64, !llvm.ptr
  llvm.return
}

// The reciprocal is found where its number is.
// CHECK-LABEL: llvm.func @by_one_number
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: llvm.call_intrinsic "llvm.fabs.f32"(%[[SUM]])
// CHECK: arith.select
// CHECK: %[[SCALE:.*]] = arith.select
// CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: %[[R:.*]] = arith.mulf
// CHECK: %[[REST:.*]] = llvm.call_intrinsic "llvm.fma.f32"
// CHECK: %[[LEAST:.*]] = llvm.call_intrinsic "llvm.maxnum.f32"(%[[REST]]
// CHECK: %[[S:.*]] = arith.mulf %[[R]], %[[LEAST]]
// CHECK: scf.if
// CHECK:   %[[X:.*]] = arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:   %[[T:.*]] = arith.mulf %[[X]], %[[S]]
// CHECK:   llvm.call_intrinsic "llvm.fma.f32"(%[[X]], %[[R]], %[[T]])
// CHECK:   llvm.call_intrinsic "llvm.fma.f32"
// CHECK-NOT: arith.divf
llvm.func @by_one_number(%x: f32, %y: f32, %c: i1, %out: !llvm.ptr) {
  %s = arith.addf %x, %y : f32
  scf.if %c {
    %a = arith.divf %x, %s : f32
    %b = arith.divf %y, %s : f32
    llvm.store %a, %out : f32, !llvm.ptr
    llvm.store %b, %out : f32, !llvm.ptr
  }
  llvm.return
}

// A softmax's sum is 1 at least: neither it nor what is divided by it is scaled.
// CHECK-LABEL: llvm.func @by_softmax_sum
// CHECK-SAME: (%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[D:.*]]: f32,
// CHECK-NOT: arith.select
// CHECK: %[[ABOUT:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[D]])
// CHECK: %[[R:.*]] = arith.mulf %[[ABOUT]]
// CHECK: %[[REST:.*]] = llvm.call_intrinsic "llvm.fma.f32"
// CHECK: %[[S:.*]] = arith.mulf %[[R]], %[[REST]]
// CHECK: %[[T:.*]] = arith.mulf %[[X]], %[[S]]
// CHECK: llvm.call_intrinsic "llvm.fma.f32"(%[[X]], %[[R]], %[[T]])
// CHECK: %[[U:.*]] = arith.mulf %[[Y]], %[[S]]
// CHECK: llvm.call_intrinsic "llvm.fma.f32"(%[[Y]], %[[R]], %[[U]])
llvm.func @by_softmax_sum(%x: f32, %y: f32, %d: f32, %out: !llvm.ptr) {
  %a = arith.divf %x, %d {mlopt.by_softmax_sum} : f32
  %b = arith.divf %y, %d {mlopt.by_softmax_sum} : f32
  llvm.store %a, %out : f32, !llvm.ptr
  llvm.store %b, %out : f32, !llvm.ptr
  llvm.return
}

// Divisors that are quotients themselves, by one number: what comes of them is divided by.
// CHECK-LABEL: llvm.func @by_quotients
// CHECK-SAME: (%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[D:.*]]: f32,
// CHECK: llvm.call_intrinsic "llvm.fabs.f32"(%[[D]])
// CHECK: %[[P:.*]] = llvm.call_intrinsic "llvm.fma.f32"
// CHECK: llvm.call_intrinsic "llvm.fabs.f32"
// CHECK-NOT: arith.divf
// CHECK: llvm.return
llvm.func @by_quotients(%x: f32, %y: f32, %d: f32, %out: !llvm.ptr) {
  %p = arith.divf %x, %d : f32
  %q = arith.divf %y, %d : f32
  %a = arith.divf %x, %p : f32
  %b = arith.divf %y, %p : f32
  %c = arith.divf %x, %q : f32
  %e = arith.divf %y, %q : f32
  llvm.store %a, %out : f32, !llvm.ptr
  llvm.store %b, %out : f32, !llvm.ptr
  llvm.store %c, %out : f32, !llvm.ptr
  llvm.store %e, %out : f32, !llvm.ptr
  llvm.return
}

// relu: of the zero's sign nothing is left in x * 0.5 + 1 and in exp(-x), but a store shows it.
// CHECK-LABEL: llvm.func @relu
// CHECK: arith.maximumf
// CHECK: arith.maximumf
// CHECK: arith.select
llvm.func @relu(%x: f32, %y: f32, %z: f32, %out: !llvm.ptr) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %a = arith.cmpf uge, %x, %zero : f32
  %b = arith.select %a, %x, %zero : f32
  %c = arith.mulf %b, %half : f32
  %d = arith.addf %c, %half : f32
  llvm.store %d, %out : f32, !llvm.ptr
  %e = arith.cmpf uge, %y, %zero : f32
  %f = arith.select %e, %y, %zero : f32
  %g = arith.negf %f : f32
  %h = math.exp %g : f32
  llvm.store %h, %out : f32, !llvm.ptr
  %i = arith.cmpf uge, %z, %zero : f32
  %j = arith.select %i, %z, %zero : f32
  %k = arith.mulf %j, %half : f32
  llvm.store %k, %out : f32, !llvm.ptr
  llvm.return
}

// The larger of two f64: NaN is neither above nor below, and of two zeros the bits that both have are +0's.
// CHECK-LABEL: llvm.func @larger
// CHECK-SAME: (%[[A:.*]]: f64, %[[B:.*]]: f64,
// CHECK-NOT: arith.maximumf
// CHECK-DAG: %[[ABOVE:.*]] = arith.cmpf ogt, %[[A]], %[[B]] : f64
// CHECK-DAG: %[[NAN:.*]] = arith.cmpf uno, %[[A]], %[[A]] : f64
// CHECK-DAG: %[[TAKES:.*]] = arith.ori %[[ABOVE]], %[[NAN]]
// CHECK-DAG: %[[BITS:.*]] = arith.andi
// CHECK-DAG: %[[BOTH:.*]] = arith.bitcast %[[BITS]] : i64 to f64
// CHECK-DAG: %[[ALIKE:.*]] = arith.cmpf oeq, %[[A]], %[[B]] : f64
// CHECK-DAG: %[[ONE:.*]] = arith.select %[[TAKES]], %[[A]], %[[B]] : f64
// CHECK: %[[M:.*]] = arith.select %[[ALIKE]], %[[BOTH]], %[[ONE]] : f64
// CHECK: llvm.store %[[M]]
llvm.func @larger(%a: f64, %b: f64, %out: !llvm.ptr) {
  %m = arith.maximumf %a, %b : f64
  llvm.store %m, %out : f64, !llvm.ptr
  llvm.return
}

// The smaller: the bits that either has are -0's.
// CHECK-LABEL: llvm.func @smaller
// CHECK-NOT: arith.minimumf
// CHECK: arith.cmpf olt
// CHECK: arith.ori %{{.*}} : i64
// CHECK: llvm.return
llvm.func @smaller(%a: f64, %b: f64, %out: !llvm.ptr) {
  %m = arith.minimumf %a, %b : f64
  llvm.store %m, %out : f64, !llvm.ptr
  llvm.return
}
