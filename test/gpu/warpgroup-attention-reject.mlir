// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-warpgroup-attention)' | FileCheck %s
#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>

// What stays with mma.sync, and why.
// CHECK-NOT: mlopt.mma = "m64

// Weights of a row must be one warp's.
// CHECK-LABEL: @few_rows
// CHECK: mlopt.by_warps = "its 64 rows are not 64 for each of 2 warpgroups"
func.func private @few_rows(%q: memref<512x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<64x64xf32>
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) = (0) to (512) step (64) {
    %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
    %r = scf.for %n = %c0 to %end step %step iter_args(%acc = %zero) -> (vector<64x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      %e = math.exp2 %d : vector<64x64xf32>
      %w = arith.truncf %e : vector<64x64xf32> to vector<64x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 8>}}
  return
}

// A row of 192 bytes is no pattern's.
// CHECK-LABEL: @long_rows
// CHECK: mlopt.by_warps = "rows of a factor have 192 bytes, not 32, 64 or a multiple of 128"
func.func private @long_rows(%q: memref<512x96xbf16>, %k: memref<512x96xbf16>, %v: memref<512x96xbf16>, %o: memref<512x96xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128x96xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x96xbf16>, vector<128x96xbf16>
    %r = scf.for %n = %c0 to %end step %step iter_args(%acc = %zero) -> (vector<128x96xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x96xbf16>, vector<64x96xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x96xbf16>, vector<64x96xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x96xbf16>, vector<64x96xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x96xbf16> into vector<128x96xf32>
      scf.yield %t : vector<128x96xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x96xf32>, memref<512x96xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 8>}}
  return
}

// Queries that change hands in each step would need a ring of their own.
// CHECK-LABEL: @each_step
// CHECK: mlopt.by_warps = "its rows are read in each step"
func.func private @each_step(%q: memref<512x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %r = scf.for %n = %c0 to %end step %step iter_args(%acc = %zero) -> (vector<128x64xf32>) {
      %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 8>}}
  return
}

// The second loop begins anew.
// CHECK-LABEL: @anew
// CHECK: mlopt.by_warps = "its loops do not go on where the one before has ended"
func.func private @anew(%q: memref<512x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
    %whole = arith.minsi %i, %end : index
    %p = scf.for %n = %c0 to %whole step %step iter_args(%acc = %zero) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    %r = scf.for %n = %c0 to %end step %step iter_args(%acc = %p) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 8>}}
  return
}

// One ring serves both loops, so that they must read the same.
// CHECK-LABEL: @other_keys
// CHECK: mlopt.by_warps = "its loops read others than the last one"
func.func private @other_keys(%q: memref<512x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
    %whole = arith.minsi %i, %end : index
    %p = scf.for %n = %c0 to %whole step %step iter_args(%acc = %zero) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    %r = scf.for %n = %whole to %end step %step iter_args(%acc = %p) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 8>}}
  return
}

// Queries, and two steps of keys and values.
// CHECK-LABEL: @large
// CHECK: mlopt.by_warps = "2 steps of 131072 bytes do not fit the 98304 bytes of shared memory that are left"
func.func private @large(%q: memref<512x256xbf16>, %k: memref<512x256xbf16>, %v: memref<512x256xbf16>, %o: memref<512x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 128 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<128x128xf32>
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x256xbf16>, vector<128x256xbf16>
    %r = scf.for %n = %c0 to %end step %step iter_args(%acc = %zero) -> (vector<128x256xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x256xbf16>, vector<128x256xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x256xbf16>, vector<128x256xbf16> into vector<128x128xf32>
      %e = math.exp2 %d : vector<128x128xf32>
      %w = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x256xbf16>, vector<128x256xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x128xbf16>, vector<128x256xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x256xf32>, memref<512x256xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 8>}}
  return
}

// A third product is nobody's weights.
// CHECK-LABEL: @three
// CHECK: mlopt.by_warps = "its loop has others than a product and one of what is made of it"
func.func private @three(%q: memref<512x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
    %r = scf.for %n = %c0 to %end step %step iter_args(%acc = %zero) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %m = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %u = arith.addf %t, %m : vector<128x64xf32>
      scf.yield %u : vector<128x64xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 8>}}
  return
}

// A product of a whole product is none of its steps'.
// CHECK-LABEL: @no_weights
// CHECK: mlopt.by_warps = "its loop has others than a product and one of what is made of it"
func.func private @no_weights(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    %y = vector.transfer_read %b[%j, %c0], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
    %e = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
        %h, %y, %zero : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
    vector.transfer_write %e, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}
