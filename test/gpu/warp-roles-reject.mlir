// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-warp-roles)' | FileCheck %s

// Where all warps go on asking, or copying.
// CHECK-NOT: mlopt.warp_roles
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Twelve blocks on a multiprocessor have room in its memory, and 40 registers a thread; with one more warp each 32.
// CHECK-LABEL: @many_blocks
// CHECK: "mlopt.tma_turn"
func.func private @many_blocks(%a: memref<64x512xbf16>, %b: memref<32x512xbf16>, %out: memref<64x32xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x32xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x32xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<32x512xbf16>, vector<32x32xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x32xbf16> into vector<64x32xf32>
      scf.yield %r : vector<64x32xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x32xf32>, memref<64x32xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>, min_blocks = array<i64: 12>}}
  return
}

// The engine cannot copy from a view.
// CHECK-LABEL: @view
// CHECK: "mlopt.async_copy"
func.func private @view(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %v = memref.cast %a : memref<64x512xbf16> to memref<?x512xbf16>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %v[%c0, %k], %pad : memref<?x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Two loops, each with rings of its own.
// CHECK-LABEL: @two_loops
// CHECK-COUNT-2: "mlopt.tma_barriers"
func.func private @two_loops(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %e = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %f = arith.addf %d, %e : vector<64x64xf32>
    vector.transfer_write %f, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}
