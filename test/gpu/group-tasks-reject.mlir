// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-group-tasks)' | FileCheck %s

// The cache keeps both factors.
// CHECK-LABEL: @kept
// CHECK-NOT: group
func.func private @kept(%a: memref<1024x1024xbf16>, %b: memref<1024x1024xbf16>, %out: memref<1024x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %end = arith.constant 1024 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%m, %n) = (0, 0) to (1024, 1024) step (128, 256) {
    %d = scf.for %k = %c0 to %end step %c32 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<1024x1024xbf16>, vector<128x32xbf16>
      %y = vector.transfer_read %b[%k, %n], %pad {in_bounds = [true, true]} : memref<1024x1024xbf16>, vector<32x256xbf16>
      %t = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %s : vector<128x32xbf16>, vector<32x256xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    vector.transfer_write %d, %out[%m, %n] {in_bounds = [true, true]} : vector<128x256xf32>, memref<1024x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 128, 256, 32>, warps = array<i64: 8>}}
  return
}

// A single row of blocks.
// CHECK-LABEL: @row
// CHECK-NOT: group
func.func private @row(%a: memref<8192x8192xbf16>, %b: memref<8192x8192xbf16>, %out: memref<8192x8192xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %end = arith.constant 8192 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%m, %n) = (0, 0) to (128, 8192) step (128, 256) {
    %d = scf.for %k = %c0 to %end step %c32 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<8192x8192xbf16>, vector<128x32xbf16>
      %y = vector.transfer_read %b[%k, %n], %pad {in_bounds = [true, true]} : memref<8192x8192xbf16>, vector<32x256xbf16>
      %t = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %s : vector<128x32xbf16>, vector<32x256xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    vector.transfer_write %d, %out[%m, %n] {in_bounds = [true, true]} : vector<128x256xf32>, memref<8192x8192xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 128, 256, 32>, warps = array<i64: 8>}}
  return
}

// Blocks that take turns count along a loop of their own.
// CHECK-LABEL: @turns
// CHECK-NOT: group
func.func private @turns(%a: memref<8192x8192xbf16>, %b: memref<8192x8192xbf16>, %out: memref<8192x8192xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %end = arith.constant 8192 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%m, %n) = (0, 0) to (8192, 8192) step (128, 256) {
    %d = scf.for %k = %c0 to %end step %c32 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<8192x8192xbf16>, vector<128x32xbf16>
      %y = vector.transfer_read %b[%k, %n], %pad {in_bounds = [true, true]} : memref<8192x8192xbf16>, vector<32x256xbf16>
      %t = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %s : vector<128x32xbf16>, vector<32x256xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    vector.transfer_write %d, %out[%m, %n] {in_bounds = [true, true]} : vector<128x256xf32>, memref<8192x8192xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 128, 256, 32>, turns = array<i64: 0, 54>, warps = array<i64: 8>}}
  return
}

// Nothing is shared along the columns: each has a factor of its own.
// CHECK-LABEL: @own
// CHECK-NOT: group
func.func private @own(%a: memref<8192x8192xbf16>, %b: memref<8192x8192xbf16>, %out: memref<8192x8192xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %end = arith.constant 8192 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%m, %n) = (0, 0) to (8192, 8192) step (128, 256) {
    %d = scf.for %k = %c0 to %end step %c32 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%n, %k], %pad {in_bounds = [true, true]} : memref<8192x8192xbf16>, vector<128x32xbf16>
      %y = vector.transfer_read %b[%k, %n], %pad {in_bounds = [true, true]} : memref<8192x8192xbf16>, vector<32x256xbf16>
      %t = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %s : vector<128x32xbf16>, vector<32x256xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    vector.transfer_write %d, %out[%m, %n] {in_bounds = [true, true]} : vector<128x256xf32>, memref<8192x8192xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 128, 256, 32>, warps = array<i64: 8>}}
  return
}
