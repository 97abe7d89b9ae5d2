// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-hoist-factors)' | FileCheck %s
#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>

// A product without tensor cores: nothing would hold the factor in registers.
// CHECK-LABEL: @plain
// CHECK: scf.for %
// CHECK: vector.transfer_read %arg0
func.func private @plain(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<0.125> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %r:2 = scf.for %n = %c0 to %c500 step %c64 iter_args(%top = %low, %acc = %zeros) -> (vector<128xf32>, vector<128x64xf32>) {
      %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %zeros : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %t = arith.mulf %d, %scale : vector<128x64xf32>
      %m = vector.multi_reduction <maximumf>, %t, %top [1] : vector<128x64xf32> to vector<128xf32>
      %none = arith.cmpf oeq, %m, %low : vector<128xf32>
      %less = arith.select %none, %zero, %m : vector<128xi1>, vector<128xf32>
      %tall = vector.shape_cast %less : vector<128xf32> to vector<128x1xf32>
      %wide = vector.broadcast %tall : vector<128x1xf32> to vector<128x64xf32>
      %e = arith.subf %t, %wide : vector<128x64xf32>
      %w = math.exp %e : vector<128x64xf32>
      %f = arith.subf %top, %less : vector<128xf32>
      %kept = math.exp %f : vector<128xf32>
      %old = vector.shape_cast %kept : vector<128xf32> to vector<128x1xf32>
      %olds = vector.broadcast %old : vector<128x1xf32> to vector<128x64xf32>
      %scaled = arith.mulf %acc, %olds : vector<128x64xf32>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %h = arith.truncf %w : vector<128x64xf32> to vector<128x64xbf16>
      %next = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"]}
          %h, %z, %scaled : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %m, %next : vector<128xf32>, vector<128x64xf32>
    }
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// Its place depends on the step.
// CHECK-LABEL: @moving
// CHECK: scf.for %
// CHECK: vector.transfer_read %arg0
func.func private @moving(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<0.125> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %r:2 = scf.for %n = %c0 to %c500 step %c64 iter_args(%top = %low, %acc = %zeros) -> (vector<128xf32>, vector<128x64xf32>) {
      %x = vector.transfer_read %q[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %zeros : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %t = arith.mulf %d, %scale : vector<128x64xf32>
      %m = vector.multi_reduction <maximumf>, %t, %top [1] : vector<128x64xf32> to vector<128xf32>
      %none = arith.cmpf oeq, %m, %low : vector<128xf32>
      %less = arith.select %none, %zero, %m : vector<128xi1>, vector<128xf32>
      %tall = vector.shape_cast %less : vector<128xf32> to vector<128x1xf32>
      %wide = vector.broadcast %tall : vector<128x1xf32> to vector<128x64xf32>
      %e = arith.subf %t, %wide : vector<128x64xf32>
      %w = math.exp %e : vector<128x64xf32>
      %f = arith.subf %top, %less : vector<128xf32>
      %kept = math.exp %f : vector<128xf32>
      %old = vector.shape_cast %kept : vector<128xf32> to vector<128x1xf32>
      %olds = vector.broadcast %old : vector<128x1xf32> to vector<128x64xf32>
      %scaled = arith.mulf %acc, %olds : vector<128x64xf32>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %h = arith.truncf %w : vector<128x64xf32> to vector<128x64xbf16>
      %next = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %h, %z, %scaled : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %m, %next : vector<128xf32>, vector<128x64xf32>
    }
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// The kernel writes to the buffer.
// CHECK-LABEL: @written
// CHECK: scf.for %
// CHECK: vector.transfer_read %arg0
func.func private @written(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<0.125> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %r:2 = scf.for %n = %c0 to %c500 step %c64 iter_args(%top = %low, %acc = %zeros) -> (vector<128xf32>, vector<128x64xf32>) {
      %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %zeros : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %t = arith.mulf %d, %scale : vector<128x64xf32>
      %m = vector.multi_reduction <maximumf>, %t, %top [1] : vector<128x64xf32> to vector<128xf32>
      %none = arith.cmpf oeq, %m, %low : vector<128xf32>
      %less = arith.select %none, %zero, %m : vector<128xi1>, vector<128xf32>
      %tall = vector.shape_cast %less : vector<128xf32> to vector<128x1xf32>
      %wide = vector.broadcast %tall : vector<128x1xf32> to vector<128x64xf32>
      %e = arith.subf %t, %wide : vector<128x64xf32>
      %w = math.exp %e : vector<128x64xf32>
      %f = arith.subf %top, %less : vector<128xf32>
      %kept = math.exp %f : vector<128xf32>
      %old = vector.shape_cast %kept : vector<128xf32> to vector<128x1xf32>
      %olds = vector.broadcast %old : vector<128x1xf32> to vector<128x64xf32>
      %scaled = arith.mulf %acc, %olds : vector<128x64xf32>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %h = arith.truncf %w : vector<128x64xf32> to vector<128x64xbf16>
      %next = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %h, %z, %scaled : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %m, %next : vector<128xf32>, vector<128x64xf32>
    }
    %half = arith.truncf %r#1 : vector<128x64xf32> to vector<128x64xbf16>
    vector.transfer_write %half, %q[%i, %c0] {in_bounds = [true, true]} : vector<128x64xbf16>, memref<512x64xbf16>
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// It stores single elements there.
// CHECK-LABEL: @stored
// CHECK: scf.for %
// CHECK: vector.transfer_read %arg0
func.func private @stored(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<0.125> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %r:2 = scf.for %n = %c0 to %c500 step %c64 iter_args(%top = %low, %acc = %zeros) -> (vector<128xf32>, vector<128x64xf32>) {
      %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %zeros : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %t = arith.mulf %d, %scale : vector<128x64xf32>
      %m = vector.multi_reduction <maximumf>, %t, %top [1] : vector<128x64xf32> to vector<128xf32>
      %none = arith.cmpf oeq, %m, %low : vector<128xf32>
      %less = arith.select %none, %zero, %m : vector<128xi1>, vector<128xf32>
      %tall = vector.shape_cast %less : vector<128xf32> to vector<128x1xf32>
      %wide = vector.broadcast %tall : vector<128x1xf32> to vector<128x64xf32>
      %e = arith.subf %t, %wide : vector<128x64xf32>
      %w = math.exp %e : vector<128x64xf32>
      %f = arith.subf %top, %less : vector<128xf32>
      %kept = math.exp %f : vector<128xf32>
      %old = vector.shape_cast %kept : vector<128xf32> to vector<128x1xf32>
      %olds = vector.broadcast %old : vector<128x1xf32> to vector<128x64xf32>
      %scaled = arith.mulf %acc, %olds : vector<128x64xf32>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %h = arith.truncf %w : vector<128x64xf32> to vector<128x64xbf16>
      %next = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %h, %z, %scaled : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      memref.store %pad, %q[%i, %c0] : memref<512x64xbf16>
      scf.yield %m, %next : vector<128xf32>, vector<128x64xf32>
    }
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// It writes there through a view, in each step.
// CHECK-LABEL: @written_as_a_view
// CHECK: scf.for %
// CHECK: vector.transfer_read %arg0
func.func private @written_as_a_view(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<0.125> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %r:2 = scf.for %n = %c0 to %c500 step %c64 iter_args(%top = %low, %acc = %zeros) -> (vector<128xf32>, vector<128x64xf32>) {
      %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %zeros : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %t = arith.mulf %d, %scale : vector<128x64xf32>
      %m = vector.multi_reduction <maximumf>, %t, %top [1] : vector<128x64xf32> to vector<128xf32>
      %none = arith.cmpf oeq, %m, %low : vector<128xf32>
      %less = arith.select %none, %zero, %m : vector<128xi1>, vector<128xf32>
      %tall = vector.shape_cast %less : vector<128xf32> to vector<128x1xf32>
      %wide = vector.broadcast %tall : vector<128x1xf32> to vector<128x64xf32>
      %e = arith.subf %t, %wide : vector<128x64xf32>
      %w = math.exp %e : vector<128x64xf32>
      %f = arith.subf %top, %less : vector<128xf32>
      %kept = math.exp %f : vector<128xf32>
      %old = vector.shape_cast %kept : vector<128xf32> to vector<128x1xf32>
      %olds = vector.broadcast %old : vector<128x1xf32> to vector<128x64xf32>
      %scaled = arith.mulf %acc, %olds : vector<128x64xf32>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %h = arith.truncf %w : vector<128x64xf32> to vector<128x64xbf16>
      %next = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %h, %z, %scaled : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %whole = memref.cast %q : memref<512x64xbf16> to memref<?x64xbf16>
      %hh = arith.truncf %next : vector<128x64xf32> to vector<128x64xbf16>
      vector.transfer_write %hh, %whole[%i, %c0] {in_bounds = [true, true]} : vector<128x64xbf16>, memref<?x64xbf16>
      scf.yield %m, %next : vector<128xf32>, vector<128x64xf32>
    }
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}
