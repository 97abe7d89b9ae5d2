// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-group-tasks)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-group-tasks{machine=h200})' | FileCheck %s --check-prefix=H200

// 108 blocks of 128 x 256 at once: 16 rows and 7 columns of them need 16 * 128 + 7 * 256 rows of factors.
// CHECK-LABEL: @product
// CHECK: mlopt.schedule = {group = array<i64: 0, 1, 16>, min_blocks = array<i64: 1>,
// H200-LABEL: @product
// H200: mlopt.schedule = {group = array<i64: 0, 1, 16>,
func.func private @product(%a: memref<8192x8192xbf16>, %b: memref<8192x8192xbf16>, %out: memref<8192x8192xf32>) attributes {mlopt.kernel} {
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
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 128, 256, 32>, warps = array<i64: 8>}}
  return
}

// A batch around it, of any size: the loops of the product are the last two.
// CHECK-LABEL: @batch
// CHECK: mlopt.schedule = {group = array<i64: 1, 2, 16>, min_blocks = array<i64: 2>,
func.func private @batch(%a: memref<?x8192x8192xbf16>, %b: memref<?x8192x8192xbf16>, %out: memref<?x8192x8192xf32>, %count: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %end = arith.constant 8192 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  scf.forall (%i, %m, %n) = (0, 0, 0) to (%count, 8192, 8192) step (1, 128, 128) {
    %d = scf.for %k = %c0 to %end step %c32 iter_args(%s = %zero) -> (vector<128x128xf32>) {
      %x = vector.transfer_read %a[%i, %m, %k], %pad {in_bounds = [true, true]} : memref<?x8192x8192xbf16>, vector<128x32xbf16>
      %y = vector.transfer_read %b[%i, %k, %n], %pad {in_bounds = [true, true]} : memref<?x8192x8192xbf16>, vector<32x128xbf16>
      %t = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %s : vector<128x32xbf16>, vector<32x128xbf16> into vector<128x128xf32>
      scf.yield %t : vector<128x128xf32>
    }
    vector.transfer_write %d, %out[%i, %m, %n] {in_bounds = [true, true]} : vector<128x128xf32>, memref<?x8192x8192xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 2>, tile = array<i64: 1, 128, 128, 32>, warps = array<i64: 4>}}
  return
}
