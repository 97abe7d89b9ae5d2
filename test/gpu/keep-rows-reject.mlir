// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-keep-rows)' | FileCheck %s

// Rows of 200 KB find no room.
// CHECK-LABEL: @long
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @long(%x: memref<100x50000xf32>, %out: memref<100x50000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  %end = arith.constant 50000 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x4096xf32>
  scf.forall (%i) = (0) to (100) step (1) {
    %m = scf.for %k = %c0 to %end step %c4096 iter_args(%a = %low) -> (vector<1x4096xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<100x50000xf32>, vector<1x4096xf32>
      %n = arith.maximumf %a, %v : vector<1x4096xf32>
      scf.yield %n : vector<1x4096xf32>
    }
    scf.for %k = %c0 to %end step %c4096 {
      %at = arith.addi %k, %c1024 : index
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<100x50000xf32>, vector<1x4096xf32>
      %s = arith.subf %v, %m : vector<1x4096xf32>
      vector.transfer_write %s, %out[%i, %k] {in_bounds = [true, false]} : vector<1x4096xf32>, memref<100x50000xf32>
    }
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 1, 0>, warps = array<i64: 16>}}
  return
}

// Four warps a block: four blocks have room for rows of 38 KB, not for these of 80.
// CHECK-LABEL: @few_warps
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @few_warps(%x: memref<100x20000xf32>, %out: memref<100x20000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  %end = arith.constant 20000 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x4096xf32>
  scf.forall (%i) = (0) to (100) step (1) {
    %m = scf.for %k = %c0 to %end step %c4096 iter_args(%a = %low) -> (vector<1x4096xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<100x20000xf32>, vector<1x4096xf32>
      %n = arith.maximumf %a, %v : vector<1x4096xf32>
      scf.yield %n : vector<1x4096xf32>
    }
    scf.for %k = %c0 to %end step %c4096 {
      %at = arith.addi %k, %c1024 : index
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<100x20000xf32>, vector<1x4096xf32>
      %s = arith.subf %v, %m : vector<1x4096xf32>
      vector.transfer_write %s, %out[%i, %k] {in_bounds = [true, false]} : vector<1x4096xf32>, memref<100x20000xf32>
    }
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// The kernel writes to the rows that it reads.
// CHECK-LABEL: @written
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @written(%x: memref<100x20000xf32>, %out: memref<100x20000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  %end = arith.constant 20000 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x4096xf32>
  scf.forall (%i) = (0) to (100) step (1) {
    %m = scf.for %k = %c0 to %end step %c4096 iter_args(%a = %low) -> (vector<1x4096xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<100x20000xf32>, vector<1x4096xf32>
      %n = arith.maximumf %a, %v : vector<1x4096xf32>
      scf.yield %n : vector<1x4096xf32>
    }
    scf.for %k = %c0 to %end step %c4096 {
      %at = arith.addi %k, %c1024 : index
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<100x20000xf32>, vector<1x4096xf32>
      %s = arith.subf %v, %m : vector<1x4096xf32>
      vector.transfer_write %s, %x[%i, %k] {in_bounds = [true, false]} : vector<1x4096xf32>, memref<100x20000xf32>
    }
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 1, 0>, warps = array<i64: 16>}}
  return
}

// Another row is read later.
// CHECK-LABEL: @other_row
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @other_row(%x: memref<100x20000xf32>, %out: memref<100x20000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  %end = arith.constant 20000 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x4096xf32>
  scf.forall (%i) = (0) to (100) step (1) {
    %m = scf.for %k = %c0 to %end step %c4096 iter_args(%a = %low) -> (vector<1x4096xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<100x20000xf32>, vector<1x4096xf32>
      %n = arith.maximumf %a, %v : vector<1x4096xf32>
      scf.yield %n : vector<1x4096xf32>
    }
    scf.for %k = %c0 to %end step %c4096 {
      %at = arith.addi %k, %c1024 : index
      %v = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, false]} : memref<100x20000xf32>, vector<1x4096xf32>
      %s = arith.subf %v, %m : vector<1x4096xf32>
      vector.transfer_write %s, %out[%i, %k] {in_bounds = [true, false]} : vector<1x4096xf32>, memref<100x20000xf32>
    }
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 1, 0>, warps = array<i64: 16>}}
  return
}

// Later steps begin between those of before.
// CHECK-LABEL: @between
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @between(%x: memref<100x20000xf32>, %out: memref<100x20000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  %end = arith.constant 20000 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x4096xf32>
  scf.forall (%i) = (0) to (100) step (1) {
    %m = scf.for %k = %c0 to %end step %c4096 iter_args(%a = %low) -> (vector<1x4096xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<100x20000xf32>, vector<1x4096xf32>
      %n = arith.maximumf %a, %v : vector<1x4096xf32>
      scf.yield %n : vector<1x4096xf32>
    }
    scf.for %k = %c0 to %end step %c4096 {
      %at = arith.addi %k, %c1024 : index
      %v = vector.transfer_read %x[%i, %at], %pad {in_bounds = [true, false]} : memref<100x20000xf32>, vector<1x4096xf32>
      %s = arith.subf %v, %m : vector<1x4096xf32>
      vector.transfer_write %s, %out[%i, %k] {in_bounds = [true, false]} : vector<1x4096xf32>, memref<100x20000xf32>
    }
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 1, 0>, warps = array<i64: 16>}}
  return
}
