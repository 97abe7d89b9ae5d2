// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-tma-stores)' | FileCheck %s

// What threads go on storing, and why.
// CHECK-NOT: mlopt.tma_tile
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Sums as wgmma makes them: a warp stores whole sectors.
// CHECK-LABEL: @words
// CHECK: mlopt.stored_by_threads = "elements have 4 bytes, those of stmatrix 2"
func.func private @words(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
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
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// Strides are multiples of 16 bytes.
// CHECK-LABEL: @short_rows
// CHECK: mlopt.stored_by_threads = "rows of the result have 200 bytes, no multiple of 16"
func.func private @short_rows(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x100xbf16>) attributes {mlopt.kernel} {
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
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    vector.transfer_write %h, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xbf16>, memref<64x100xbf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// A view's strides are not those of its buffer.
// CHECK-LABEL: @view
// CHECK: mlopt.stored_by_threads = "the result is in a view of a buffer"
func.func private @view(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %v = memref.cast %out : memref<64x64xbf16> to memref<?x64xbf16>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    vector.transfer_write %h, %v[%c0, %c0] {in_bounds = [false, true]} : vector<64x64xbf16>, memref<?x64xbf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// A tensor map has five dims at most.
// CHECK-LABEL: @six_dims
// CHECK: mlopt.stored_by_threads = "the result's buffer has 6 dims, a tensor map 5 at most"
func.func private @six_dims(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<2x2x2x2x64x64xbf16>) attributes {mlopt.kernel} {
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
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    vector.transfer_write %h, %out[%c0, %c0, %c0, %c0, %c0, %c0] {in_bounds = [true, true]} : vector<64x64xbf16>, memref<2x2x2x2x64x64xbf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// 192 bytes are one row of the swizzle's pattern and a half.
// CHECK-LABEL: @half_rows
// CHECK: mlopt.stored_by_threads = "rows of a tile have 192 bytes, not 32, 64 or a multiple of 128"
func.func private @half_rows(%a: memref<64x512xbf16>, %b: memref<96x512xbf16>, %out: memref<64x96xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x96xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x96xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<96x512xbf16>, vector<96x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<96x64xbf16> into vector<64x96xf32>
      scf.yield %r : vector<64x96xf32>
    }
    %h = arith.truncf %d : vector<64x96xf32> to vector<64x96xbf16>
    vector.transfer_write %h, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x96xbf16>, memref<64x96xbf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// What threads read might not be what the engine has stored.
// CHECK-LABEL: @accessed
// CHECK: mlopt.stored_by_threads = "its kernel accesses the result elsewhere, too"
func.func private @accessed(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xbf16>) attributes {mlopt.kernel} {
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
    %e = vector.transfer_read %out[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xbf16>, vector<64x64xbf16>
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    %q = arith.addf %h, %e : vector<64x64xbf16>
    vector.transfer_write %q, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xbf16>, memref<64x64xbf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// Two results of one tile.
// CHECK-LABEL: @twice
// CHECK-COUNT-2: mlopt.stored_by_threads = "a tile changes hands for something else, too"
func.func private @twice(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xbf16>, %more: memref<64x64xbf16>) attributes {mlopt.kernel} {
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
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    vector.transfer_write %h, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xbf16>, memref<64x64xbf16>
    vector.transfer_write %h, %more[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xbf16>, memref<64x64xbf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// What no warpgroup makes is left as it is, without a word.
// CHECK-LABEL: @no_product
// CHECK-NOT: mlopt.stored_by_threads
func.func private @no_product(%a: memref<64x64xbf16>, %out: memref<64x64xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : bf16
  scf.forall (%i) in (1) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xbf16>, vector<64x64xbf16>
    vector.transfer_write %x, %out[%c0, %c0] {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<64x64xbf16>, memref<64x64xbf16>
  } {mlopt.schedule = {warps = array<i64: 4>}}
  return
}
