// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s

// A row of 500 on four warps: four neighbours one after the other, then lanes, in five steps, then warps through
// shared memory: each thread chooses those before its own. What is before an element is added once.
// CHECK-LABEL: llvm.func @row(
// CHECK-COUNT-3: arith.addf
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-COUNT-4: arith.select
// CHECK-COUNT-9: arith.addf
// CHECK-NOT: arith.addf
// CHECK: llvm.func @row_unaligned(
// CHECK: func.func private @row
// CHECK-SAME: mlopt.shared = 16
func.func private @row(%x: memref<10x500xf32>, %out: memref<10x500xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<10x500xf32>, vector<1x500xf32>
    %s, %all = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 1 : i64} : vector<1x500xf32>, vector<1xf32>
    vector.transfer_write %s, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x500xf32>, memref<10x500xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// Rows of warps: nothing goes through shared memory.
// CHECK-LABEL: llvm.func @rows(
// CHECK-NOT: nvvm.barrier0
// CHECK: func.func private @rows
func.func private @rows(%x: memref<40x128xi32>, %out: memref<40x128xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i32
  %one = arith.constant dense<1> : vector<4xi32>
  scf.forall (%i) = (0) to (40) step (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<40x128xi32>, vector<4x128xi32>
    %s, %all = vector.scan <mul>, %v, %one {inclusive = true, reduction_dim = 1 : i64} : vector<4x128xi32>, vector<4xi32>
    vector.transfer_write %s, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x128xi32>, memref<40x128xi32>
  } {mlopt.schedule = {tile = array<i64: 4, 0>, warps = array<i64: 4>}}
  return
}

// -----

// Totals of whole rows, which a loop carries: what lies beyond 100 does not count.
// CHECK-LABEL: llvm.func @carried(
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32)
// CHECK:   arith.cmpi ult
// CHECK:   %[[BEFORE:.*]] = arith.addf %[[ACC]], %{{.*}} : f32
// CHECK-COUNT-4: arith.addf %[[BEFORE]]
// CHECK:   %[[ALL:.*]] = arith.addf %[[ACC]], %{{.*}} : f32
// CHECK:   scf.yield %[[ALL]]
func.func private @carried(%x: memref<1x1000xf32>, %out: memref<1x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %r = scf.for %k = %c0 to %c1000 step %c100 iter_args(%acc = %zero) -> (vector<1xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<1x1000xf32>, vector<1x100xf32>
      %s, %all = vector.scan <add>, %v, %acc {inclusive = true, reduction_dim = 1 : i64} : vector<1x100xf32>, vector<1xf32>
      vector.transfer_write %s, %out[%i, %k] {in_bounds = [true, true]} : vector<1x100xf32>, memref<1x1000xf32>
      scf.yield %all : vector<1xf32>
    }
  } {mlopt.schedule = {tile = array<i64: 0, 0>, warps = array<i64: 1>}}
  return
}

// -----

// By logarithms: of two equal ones, which may be infinite, none is subtracted; what lies beyond 100 is -inf.
// CHECK-LABEL: llvm.func @logarithms(
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[NONE]] : f32
// CHECK: %[[HIGH:.*]] = arith.maximumf %[[A:.*]], %[[B:.*]] : f32
// CHECK: %[[LOW:.*]] = arith.minimumf %[[A]], %[[B]] : f32
// CHECK: %[[SAME:.*]] = arith.cmpf oeq, %[[HIGH]], %[[LOW]] : f32
// CHECK: %[[APART:.*]] = arith.subf %[[LOW]], %[[HIGH]] : f32
// CHECK: %[[POWER:.*]] = arith.select %[[SAME]], %{{.*}}, %[[APART]] : f32
// CHECK: %[[SHARE:.*]] = math.exp %[[POWER]] : f32
// CHECK: %[[MORE:.*]] = math.log1p %[[SHARE]] : f32
// CHECK: arith.addf %[[HIGH]], %[[MORE]] : f32
func.func private @logarithms(%x: memref<1x1000xf32>, %out: memref<1x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0xFF800000> : vector<1xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %r = scf.for %k = %c0 to %c1000 step %c100 iter_args(%acc = %none) -> (vector<1xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<1x1000xf32>, vector<1x100xf32>
      %s, %all = vector.scan <add>, %v, %acc {inclusive = true, mlopt.by_logarithms, reduction_dim = 1 : i64} : vector<1x100xf32>, vector<1xf32>
      vector.transfer_write %s, %out[%i, %k] {in_bounds = [true, true]} : vector<1x100xf32>, memref<1x1000xf32>
      scf.yield %all : vector<1xf32>
    }
  } {mlopt.schedule = {tile = array<i64: 0, 0>, warps = array<i64: 1>}}
  return
}
