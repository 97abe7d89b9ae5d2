// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-late-scales)' | FileCheck %s

#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>

// Products without tensor cores: their weights are not rounded.
// CHECK-LABEL: @plain
// CHECK: math.exp %
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

// What is subtracted is no maximum of the scores.
// CHECK-LABEL: @other
// CHECK: math.exp %
func.func private @other(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %half = arith.mulf %less, %zero : vector<128xf32>
      %tall = vector.shape_cast %half : vector<128xf32> to vector<128x1xf32>
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

// The maximum is used behind the loop.
// CHECK-LABEL: @read
// CHECK: math.exp %
func.func private @read(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>, %out: memref<512xf32>) attributes {mlopt.kernel} {
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
    vector.transfer_write %r#0, %out[%i] {in_bounds = [true]} : vector<128xf32>, memref<512xf32>
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// The scores are read for more than their maximum and the differences from it.
// CHECK-LABEL: @scores
// CHECK: math.exp %
func.func private @scores(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %more = arith.addf %olds, %t : vector<128x64xf32>
      %scaled = arith.mulf %acc, %more : vector<128x64xf32>
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

// A scale below 0 stays where it is, and so does one of which differences that overflow would count.
// CHECK-LABEL: @negative
// CHECK: %[[T:.*]] = arith.mulf %{{.*}} : vector<128x64xf32>
// CHECK: vector.multi_reduction <maximumf>, %[[T]]
func.func private @negative(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<-0.125> : vector<128x64xf32>
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
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// CHECK-LABEL: @tiny
// CHECK: %[[T:.*]] = arith.mulf %{{.*}} : vector<128x64xf32>
// CHECK: vector.multi_reduction <maximumf>, %[[T]]
func.func private @tiny(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<1.0e-38> : vector<128x64xf32>
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
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// The maximum begins with what no loop carries.
// CHECK-LABEL: @outer
// CHECK-NOT: math.exp2
// CHECK: return
func.func private @outer(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>, %start: vector<128xf32>) attributes {mlopt.kernel} {
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
      %m = vector.multi_reduction <maximumf>, %t, %start [1] : vector<128x64xf32> to vector<128xf32>
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

// Something else is relative to it, too.
// CHECK-LABEL: @more
// CHECK-NOT: math.exp2
// CHECK: return
func.func private @more(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>, %start: vector<128xf32>) attributes {mlopt.kernel} {
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
      %f = arith.subf %start, %less : vector<128xf32>
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

// A difference is no exponent.
// CHECK-LABEL: @factor
// CHECK-NOT: math.exp2
// CHECK: return
func.func private @factor(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %kept = arith.mulf %f, %zero : vector<128xf32>
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

// A maximum of numbers: NaN is none.
// CHECK-LABEL: @numbers
// CHECK-NOT: math.exp2
// CHECK: return
func.func private @numbers(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %m = vector.multi_reduction <maxnumf>, %t, %top [1] : vector<128x64xf32> to vector<128xf32>
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

// Rows without scores have a maximum of 1.
// CHECK-LABEL: @one
// CHECK-NOT: math.exp2
// CHECK: return
func.func private @one(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %one = arith.constant dense<1.0> : vector<128xf32>
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
      %less = arith.select %none, %one, %m : vector<128xi1>, vector<128xf32>
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

// Somebody asks whether it is 0.
// CHECK-LABEL: @asks
// CHECK-NOT: math.exp2
// CHECK: return
func.func private @asks(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %none = arith.cmpf oeq, %m, %zero : vector<128xf32>
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

// It is carried a second time.
// CHECK-LABEL: @carried_twice
// CHECK-NOT: math.exp2
// CHECK: return
func.func private @carried_twice(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
    %r:3 = scf.for %n = %c0 to %c500 step %c64 iter_args(%top = %low, %acc = %zeros, %same = %low) -> (vector<128xf32>, vector<128x64xf32>, vector<128xf32>) {
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
      scf.yield %m, %next, %m : vector<128xf32>, vector<128x64xf32>, vector<128xf32>
    }
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// A difference is the exponent of two exponentials.
// CHECK-LABEL: @exponents
// CHECK-NOT: math.exp2
// CHECK: return
func.func private @exponents(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %again = math.exp %e : vector<128x64xf32>
      %added = arith.addf %acc, %again : vector<128x64xf32>
      %scaled = arith.mulf %added, %olds : vector<128x64xf32>
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

// Scores that a mask takes away are no minus infinity: their scale stays where it is,
// CHECK-LABEL: @filled
// CHECK: %[[T:.*]] = arith.mulf %{{.*}} : vector<128x64xf32>
// CHECK: %[[S:.*]] = arith.select %{{.*}}, %[[T]], %
// CHECK: vector.multi_reduction <maximumf>, %[[S]]
func.func private @filled(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>, %mask: vector<128x64xi1>) attributes {mlopt.kernel} {
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
      %u = arith.mulf %d, %scale : vector<128x64xf32>
      %t = arith.select %mask, %u, %zeros : vector<128x64xi1>, vector<128x64xf32>
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

// and so does one that is infinite.
// CHECK-LABEL: @infinite
// CHECK: %[[T:.*]] = arith.mulf %{{.*}} : vector<128x64xf32>
// CHECK: vector.multi_reduction <maximumf>, %[[T]]
func.func private @infinite(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<0x7F800000> : vector<128x64xf32>
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
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {tile = array<i64: 128, 0, 64, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}
