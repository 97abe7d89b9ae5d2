// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads)' | FileCheck %s

// What threads go on copying, and why.
// CHECK-NOT: mlopt.tma
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A tensor map has five dims at most.
// CHECK-LABEL: @six_dims
// CHECK: mlopt.by_threads = "a factor's buffer has 6 dims, a tensor map 5 at most"
func.func private @six_dims(%a: memref<2x2x2x2x64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %c0, %c0, %c0, %c0, %k], %pad {in_bounds = [true, true]} : memref<2x2x2x2x64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// A loop in a loop would make its mbarriers again.
// CHECK-LABEL: @again
// CHECK: mlopt.by_threads = "a block runs its loop several times"
func.func private @again(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %e = scf.for %n = %c0 to %c9 step %c1 iter_args(%q = %zero) -> (vector<64x64xf32>) {
      %d = scf.for %k = %c0 to %end step %step iter_args(%s = %q) -> (vector<64x64xf32>) {
        %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
        %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
        %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
            %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
        scf.yield %r : vector<64x64xf32>
      }
      scf.yield %d : vector<64x64xf32>
    }
    vector.transfer_write %e, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// A view's strides are not those of its buffer.
// CHECK-LABEL: @view
// CHECK: mlopt.by_threads = "a factor is in a view of a buffer"
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

// What is written by threads may not have come where the engine reads.
// CHECK-LABEL: @written
// CHECK: mlopt.by_threads = "its kernel writes to what a factor is read from"
func.func private @written(%a: memref<64x64xf16>, %b: memref<64x64xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 64 : index
  %pad = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x64xf16>, vector<64x32xf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x64xf16>, vector<64x32xf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xf16>, vector<64x32xf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xf16>
    vector.transfer_write %h, %a[%c0, %c0] : vector<64x64xf16>, memref<64x64xf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// Blocks that run several tasks.
// CHECK-LABEL: @turns
// CHECK: mlopt.by_threads = "a block runs its loop several times"
func.func private @turns(%a: memref<512x512xbf16>, %b: memref<64x512xbf16>, %out: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) = (0) to (512) step (64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %c0] : vector<64x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>, turns = array<i64: 0, 4>}}
  return
}

// Strides are multiples of 16 bytes: each of them has a row's bytes in it.
// CHECK-LABEL: @short_rows
// CHECK: mlopt.by_threads = "rows of a factor have 24 bytes, no multiple of 16"
func.func private @short_rows(%a: memref<64x2x12xbf16>, %b: memref<64x16xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 16 : index
  %end = arith.constant 32 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %c0, %k], %pad {in_bounds = [true, false], permutation_map = affine_map<(d0, d1, d2) -> (d0, d2)>} : memref<64x2x12xbf16>, vector<64x16xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad : memref<64x16xbf16>, vector<64x16xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x16xbf16>, vector<64x16xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Positions, also those beyond a dim's end, are numbers of 32 bits.
// CHECK-LABEL: @long_dim
// CHECK: mlopt.by_threads = "a factor's buffer has a dim of 1073741840 elements, a tensor map 1 to 1073741824"
func.func private @long_dim(%a: memref<64x1073741840xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x1073741840xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<64x32xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// Two warpgroups side by side have 512 columns, which are rows in memory.
// CHECK-LABEL: @many_rows
// CHECK: mlopt.by_threads = "a tile has 512 rows, a box 256 at most"
func.func private @many_rows(%a: memref<64x512xbf16>, %b: memref<512x512xbf16>, %out: memref<64x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x512xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x512xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<512x32xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<512x32xbf16> into vector<64x512xf32>
      scf.yield %t : vector<64x512xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x512xf32>, memref<64x512xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 512, 32>, stages = array<i64: 2>, warps = array<i64: 8>}}
  return
}
