// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s

// Four wide loads of a step fill an eighth of 128 registers: LLVM is to write out four of 32 steps.
// CHECK: #[[UNROLL:.*]] = #llvm.loop_unroll<count = 4 : i32>
// CHECK: #[[STEPS:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>
// CHECK-LABEL: llvm.func @columns
// CHECK: scf.for %
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xf32>
// CHECK: } {llvm.loop_annotation = #[[STEPS]]}
func.func private @columns(%x: memref<2048x1024xf32>, %out: memref<1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 2048 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x32xf32>
  %none = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%j) = (0) to (1024) step (32) {
    %p = scf.for %k = %c0 to %end step %c64 iter_args(%a = %zero) -> (vector<64x32xf32>) {
      %v = vector.transfer_read %x[%k, %j], %pad {in_bounds = [true, true]} : memref<2048x1024xf32>, vector<64x32xf32>
      %s = arith.addf %a, %v : vector<64x32xf32>
      scf.yield %s : vector<64x32xf32>
    }
    %r = vector.multi_reduction <add>, %p, %none [0] : vector<64x32xf32> to vector<32xf32>
    vector.transfer_write %r, %out[%j] {in_bounds = [true]} : vector<32xf32>, memref<1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 32, 64>, warps = array<i64: 4>}}
  return
}

// -----

// Two of ten, so that none are left over.
// CHECK: #llvm.loop_unroll<count = 2 : i32>
// CHECK-LABEL: llvm.func @ten
// CHECK-LABEL: func.func private @ten
func.func private @ten(%x: memref<640x1024xf32>, %out: memref<1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 640 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x32xf32>
  %none = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%j) = (0) to (1024) step (32) {
    %p = scf.for %k = %c0 to %end step %c64 iter_args(%a = %zero) -> (vector<64x32xf32>) {
      %v = vector.transfer_read %x[%k, %j], %pad {in_bounds = [true, true]} : memref<640x1024xf32>, vector<64x32xf32>
      %s = arith.addf %a, %v : vector<64x32xf32>
      scf.yield %s : vector<64x32xf32>
    }
    %r = vector.multi_reduction <add>, %p, %none [0] : vector<64x32xf32> to vector<32xf32>
    vector.transfer_write %r, %out[%j] {in_bounds = [true]} : vector<32xf32>, memref<1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 32, 64>, warps = array<i64: 4>}}
  return
}

// -----

// With exponentials between loads it may do as it likes, and so where the last step may reach beyond the end.
// CHECK-NOT: loop_annotation
// CHECK-LABEL: llvm.func @exponentials
// CHECK-NOT: loop_annotation
// CHECK-LABEL: func.func private @exponentials
func.func private @exponentials(%x: memref<2048x1024xf32>, %out: memref<1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 2048 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x32xf32>
  %none = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%j) = (0) to (1024) step (32) {
    %p = scf.for %k = %c0 to %end step %c64 iter_args(%a = %zero) -> (vector<64x32xf32>) {
      %v = vector.transfer_read %x[%k, %j], %pad {in_bounds = [true, true]} : memref<2048x1024xf32>, vector<64x32xf32>
      %e = math.exp %v : vector<64x32xf32>
      %s = arith.addf %a, %e : vector<64x32xf32>
      scf.yield %s : vector<64x32xf32>
    }
    %r = vector.multi_reduction <add>, %p, %none [0] : vector<64x32xf32> to vector<32xf32>
    vector.transfer_write %r, %out[%j] {in_bounds = [true]} : vector<32xf32>, memref<1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 32, 64>, warps = array<i64: 4>}}
  return
}

// -----

// CHECK-NOT: loop_annotation
// CHECK-LABEL: llvm.func @ragged
// CHECK-NOT: loop_annotation
// CHECK-LABEL: func.func private @ragged
func.func private @ragged(%x: memref<2000x1024xf32>, %out: memref<1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 2000 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x32xf32>
  %none = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%j) = (0) to (1024) step (32) {
    %p = scf.for %k = %c0 to %end step %c64 iter_args(%a = %zero) -> (vector<64x32xf32>) {
      %v = vector.transfer_read %x[%k, %j], %pad {in_bounds = [false, true]} : memref<2000x1024xf32>, vector<64x32xf32>
      %s = arith.addf %a, %v : vector<64x32xf32>
      scf.yield %s : vector<64x32xf32>
    }
    %r = vector.multi_reduction <add>, %p, %none [0] : vector<64x32xf32> to vector<32xf32>
    vector.transfer_write %r, %out[%j] {in_bounds = [true]} : vector<32xf32>, memref<1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 32, 64>, warps = array<i64: 4>}}
  return
}

// -----

// Of a size that nobody knows no step is written out; what its whole steps leave is one step, or none.
// CHECK: #[[ASIS:.*]] = #llvm.loop_unroll<disable = true>
// CHECK: #[[NONE:.*]] = #llvm.loop_annotation<unroll = #[[ASIS]]>
// CHECK-LABEL: llvm.func @rest
// CHECK: %[[WHOLE:.*]]:16 = scf.for
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xf32>
// CHECK: } {llvm.loop_annotation = #[[NONE]]}
// CHECK: %[[ALL:.*]]:16 = scf.if
// CHECK-NOT: scf.for
// CHECK: scf.yield %[[WHOLE]]#0
// CHECK-LABEL: func.func private @rest
func.func private @rest(%x: memref<?x1024xf32>, %out: memref<1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x32xf32>
  %none = arith.constant dense<0.0> : vector<32xf32>
  %n = memref.dim %x, %c0 : memref<?x1024xf32>
  %whole = affine.apply affine_map<(d0) -> ((d0 floordiv 64) * 64)>(%n)
  scf.forall (%j) = (0) to (1024) step (32) {
    %p = scf.for %k = %c0 to %whole step %c64 iter_args(%a = %zero) -> (vector<64x32xf32>) {
      %v = vector.transfer_read %x[%k, %j], %pad {in_bounds = [true, true]} : memref<?x1024xf32>, vector<64x32xf32>
      %s = arith.addf %a, %v : vector<64x32xf32>
      scf.yield %s : vector<64x32xf32>
    }
    %q = scf.for %k = %whole to %n step %c64 iter_args(%a = %p) -> (vector<64x32xf32>) {
      %v = vector.transfer_read %x[%k, %j], %pad {in_bounds = [false, true]} : memref<?x1024xf32>, vector<64x32xf32>
      %s = arith.addf %a, %v : vector<64x32xf32>
      scf.yield %s : vector<64x32xf32>
    }
    %r = vector.multi_reduction <add>, %q, %none [0] : vector<64x32xf32> to vector<32xf32>
    vector.transfer_write %r, %out[%j] {in_bounds = [true]} : vector<32xf32>, memref<1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 32, 64>, warps = array<i64: 4>}}
  return
}

// -----

// Products: no step is written out, so that each one's factors leave their registers before the next step's come.
// CHECK: #[[ALONE:.*]] = #llvm.loop_unroll<disable = true>
// CHECK: #[[STEP:.*]] = #llvm.loop_annotation<unroll = #[[ALONE]]>
// CHECK-LABEL: llvm.func @product
// CHECK: scf.for %
// CHECK: nvvm.barrier0
// CHECK: math.fma
// CHECK: } {llvm.loop_annotation = #[[STEP]]}
#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#both = affine_map<(m, n, k) -> (m, n)>
func.func private @product(%a: memref<5x32xf64>, %b: memref<32x32xf64>, %out: memref<5x32xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %pad = arith.constant 0.0 : f64
  %zero = arith.constant dense<0.0> : vector<5x32xf64>
  scf.forall (%i) in (1) {
    %sum = scf.for %k = %c0 to %c32 step %c8 iter_args(%acc = %zero) -> (vector<5x32xf64>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<5x32xf64>, vector<5x8xf64>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<32x32xf64>, vector<8x32xf64>
      %next = vector.contract {indexing_maps = [#rows, #columns, #both], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %acc : vector<5x8xf64>, vector<8x32xf64> into vector<5x32xf64>
      scf.yield %next : vector<5x32xf64>
    }
    vector.transfer_write %sum, %out[%c0, %c0] {in_bounds = [true, true]} : vector<5x32xf64>, memref<5x32xf64>
  } {mlopt.schedule = {tile = array<i64: 0, 0, 8>, warps = array<i64: 4>}}
  return
}
