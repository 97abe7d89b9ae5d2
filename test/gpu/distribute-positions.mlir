// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute,canonicalize,cse)' | FileCheck %s

// A loop over more than 2^31 columns, of which no buffer has any: 64 bits.
// CHECK-LABEL: llvm.func @long_loop
// CHECK: scf.for %{{.*}} = %c0_i64 to %c3000000000_i64 step %c128_i64
func.func private @long_loop(%out: memref<8xi64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %end = arith.constant 3000000000 : index
  %zero = arith.constant dense<0> : vector<128xi64>
  %none = arith.constant 0 : i64
  scf.forall (%i) in (8) {
    %sum = scf.for %j = %c0 to %end step %c128 iter_args(%sum = %zero) -> (vector<128xi64>) {
      %first = vector.broadcast %j : index to vector<128xindex>
      %step = vector.step : vector<128xindex>
      %at = arith.addi %step, %first : vector<128xindex>
      %number = arith.index_cast %at : vector<128xindex> to vector<128xi64>
      %next = arith.addi %sum, %number : vector<128xi64>
      scf.yield %next : vector<128xi64>
    }
    %total = vector.multi_reduction <add>, %sum, %none [0] : vector<128xi64> to i64
    %tile = vector.broadcast %total : i64 to vector<1xi64>
    vector.transfer_write %tile, %out[%i] {in_bounds = [true]} : vector<1xi64>, memref<8xi64>
  } {mlopt.schedule = {tile = array<i64: 1>, warps = array<i64: 4>}}
  return
}

// -----

// The last step of a loop ends below 2^31, the one behind it does not.
// CHECK-LABEL: llvm.func @step_behind
// CHECK: scf.for %{{.*}} = %c0_i64 to
func.func private @step_behind(%out: memref<8xi64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 40000000 : index
  %end = arith.constant 2140000001 : index
  %zero = arith.constant 0 : i64
  scf.forall (%i) in (8) {
    %sum = scf.for %j = %c0 to %end step %step iter_args(%sum = %zero) -> (i64) {
      %n = arith.index_cast %j : index to i64
      %m = arith.index_cast %i : index to i64
      %p = arith.muli %n, %m : i64
      %next = arith.xori %sum, %p : i64
      scf.yield %next : i64
    }
    %tile = vector.broadcast %sum : i64 to vector<1xi64>
    vector.transfer_write %tile, %out[%i] {in_bounds = [true]} : vector<1xi64>, memref<8xi64>
  } {mlopt.schedule = {tile = array<i64: 1>, warps = array<i64: 1>}}
  return
}

// -----

// A position times a number: up to 3 * 2^30, and up to 2^30 with a number that is smaller.
// CHECK-LABEL: llvm.func @great
// CHECK: arith.extui %{{.*}} : i32 to i64
// CHECK: arith.muli %{{.*}}, %c1073741824_i64
// CHECK-LABEL: llvm.func @small
// CHECK: arith.muli %{{.*}}, %c268435456_i32
func.func private @great(%out: memref<4xi64>) attributes {mlopt.kernel} {
  %by = arith.constant 1073741824 : index
  scf.forall (%i) in (4) {
    %at = arith.muli %i, %by : index
    %number = arith.index_cast %at : index to i64
    %tile = vector.broadcast %number : i64 to vector<1xi64>
    vector.transfer_write %tile, %out[%i] {in_bounds = [true]} : vector<1xi64>, memref<4xi64>
  } {mlopt.schedule = {tile = array<i64: 1>, warps = array<i64: 1>}}
  return
}
func.func private @small(%out: memref<4xi64>) attributes {mlopt.kernel} {
  %by = arith.constant 268435456 : index
  scf.forall (%i) in (4) {
    %at = arith.muli %i, %by : index
    %number = arith.index_cast %at : index to i64
    %tile = vector.broadcast %number : i64 to vector<1xi64>
    vector.transfer_write %tile, %out[%i] {in_bounds = [true]} : vector<1xi64>, memref<4xi64>
  } {mlopt.schedule = {tile = array<i64: 1>, warps = array<i64: 1>}}
  return
}

// -----

// An index from memory: any i32 fits, twice one does not, and one that is checked is below the limit.
// CHECK-LABEL: llvm.func @twice
// CHECK: arith.extsi %{{.*}} : i32 to i64
// CHECK-LABEL: llvm.func @checked
// CHECK: arith.select {{.*}} : i32
// CHECK-NOT: i64
// CHECK: arith.muli %{{.*}}, %c2_i32
func.func private @twice(%x: memref<i32>, %table: memref<200xi8>, %out: memref<4xi8>) attributes {mlopt.kernel} {
  %c2 = arith.constant 2 : index
  scf.forall (%i) in (4) {
    %n = memref.load %x[] : memref<i32>
    %row = arith.index_cast %n : i32 to index
    %at = arith.muli %row, %c2 : index
    %v = memref.load %table[%at] : memref<200xi8>
    %tile = vector.broadcast %v : i8 to vector<1xi8>
    vector.transfer_write %tile, %out[%i] {in_bounds = [true]} : vector<1xi8>, memref<4xi8>
  } {mlopt.schedule = {tile = array<i64: 1>, warps = array<i64: 1>}}
  return
}
func.func private @checked(%x: memref<i32>, %table: memref<200xi8>, %out: memref<4xi8>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c100 = arith.constant 100 : index
  scf.forall (%i) in (4) {
    %n = memref.load %x[] : memref<i32>
    %row = arith.index_cast %n : i32 to index
    %there = arith.cmpi ult, %row, %c100 : index
    %safe = arith.select %there, %row, %c0 : index
    %at = arith.muli %safe, %c2 : index
    %v = memref.load %table[%at] : memref<200xi8>
    %tile = vector.broadcast %v : i8 to vector<1xi8>
    vector.transfer_write %tile, %out[%i] {in_bounds = [true]} : vector<1xi8>, memref<4xi8>
  } {mlopt.schedule = {tile = array<i64: 1>, warps = array<i64: 1>}}
  return
}

// -----

// What a loop carries is known where it stays in its interval; a number that grows is not.
// CHECK-LABEL: llvm.func @last_place
// CHECK: scf.for %{{.*}} = %c0_i32 to
// CHECK-LABEL: llvm.func @growing
// CHECK: scf.for %{{.*}} = %c0_i64 to
func.func private @last_place(%x: memref<100xf32>, %out: memref<4xi64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    %last = scf.for %j = %c0 to %end step %c1 iter_args(%last = %c0) -> (index) {
      %v = memref.load %x[%j] : memref<100xf32>
      %there = arith.cmpf oeq, %v, %zero : f32
      %next = arith.select %there, %j, %last : index
      scf.yield %next : index
    }
    %number = arith.index_cast %last : index to i64
    %tile = vector.broadcast %number : i64 to vector<1xi64>
    vector.transfer_write %tile, %out[%i] {in_bounds = [true]} : vector<1xi64>, memref<4xi64>
  } {mlopt.schedule = {tile = array<i64: 1>, warps = array<i64: 1>}}
  return
}
func.func private @growing(%x: memref<100xf32>, %out: memref<4xi64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    %last = scf.for %j = %c0 to %end step %c1 iter_args(%last = %c1) -> (index) {
      %v = memref.load %x[%j] : memref<100xf32>
      %there = arith.cmpf oeq, %v, %zero : f32
      %twice = arith.addi %last, %last : index
      %next = arith.select %there, %twice, %last : index
      scf.yield %next : index
    }
    %number = arith.index_cast %last : index to i64
    %tile = vector.broadcast %number : i64 to vector<1xi64>
    vector.transfer_write %tile, %out[%i] {in_bounds = [true]} : vector<1xi64>, memref<4xi64>
  } {mlopt.schedule = {tile = array<i64: 1>, warps = array<i64: 1>}}
  return
}

// -----

// More tasks than 2^31 of one element, though the buffer has 2^30 elements: each is written three times.
// CHECK-LABEL: llvm.func @tasks
// CHECK: arith.extui %{{.*}} : i32 to i64
func.func private @tasks(%x: memref<1073741824xi8>, %out: memref<1073741824xi8>) attributes {mlopt.kernel} {
  %zero = arith.constant 0 : i8
  scf.forall (%i, %j) in (1073741824, 3) {
    %v = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<1073741824xi8>, vector<1xi8>
    vector.transfer_write %v, %out[%i] {in_bounds = [true]} : vector<1xi8>, memref<1073741824xi8>
  } {mlopt.schedule = {tile = array<i64: 1, 1>, warps = array<i64: 1>}}
  return
}
