// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-late-scales)' | FileCheck %s

// 0.125 log2 e behind the maximum, of the old maximum, too.
// CHECK-LABEL: @scores
// CHECK: %[[S:.*]] = vector.contract
// CHECK: %[[M:.*]] = vector.multi_reduction <maximumf>, %[[S]], %[[TOP:[a-z0-9]+]]
// CHECK: %[[E:.*]] = arith.subf %[[S]], %{{.*}} : vector<128x64xf32>
// CHECK: %[[BOTH:.*]] = arith.constant dense<0.180336878> : vector<128x64xf32>
// CHECK: %[[X:.*]] = arith.mulf %[[E]], %[[BOTH]]
// CHECK: math.exp2 %[[X]] fastmath<afn> : vector<128x64xf32>
// CHECK: %[[F:.*]] = arith.subf %[[TOP]], %{{.*}} : vector<128xf32>
// CHECK: %[[ROWS:.*]] = arith.constant dense<0.180336878> : vector<128xf32>
// CHECK: %[[Y:.*]] = arith.mulf %[[F]], %[[ROWS]]
// CHECK: math.exp2 %[[Y]] fastmath<afn> : vector<128xf32>
// CHECK-NOT: math.exp %
#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>
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

// Scores that a mask takes away are minus infinity with the scale or without it.
// CHECK-LABEL: @masked
// CHECK: %[[S:.*]] = vector.contract
// CHECK: %[[T:.*]] = arith.select %{{.*}}, %[[S]], %{{.*}} : vector<128x64xi1>, vector<128x64xf32>
// CHECK: vector.multi_reduction <maximumf>, %[[T]]
// CHECK: arith.subf %[[T]]
func.func private @masked(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %number = vector.step : vector<64xindex>
      %first = vector.broadcast %n : index to vector<64xindex>
      %key = arith.addi %number, %first : vector<64xindex>
      %size = arith.constant dense<500> : vector<64xindex>
      %in = arith.cmpi slt, %key, %size : vector<64xindex>
      %ins = vector.broadcast %in : vector<64xi1> to vector<128x64xi1>
      %p = arith.mulf %d, %scale : vector<128x64xf32>
      %t = arith.select %ins, %p, %lows : vector<128x64xi1>, vector<128x64xf32>
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

// Scores that something is added to keep their scale; exponents have log2 e.
// CHECK-LABEL: @biased
// CHECK: %[[T:.*]] = arith.addf %{{.*}} : vector<128x64xf32>
// CHECK: vector.multi_reduction <maximumf>, %[[T]]
// CHECK: arith.constant dense<1.44269502> : vector<128x64xf32>
// CHECK: math.exp2
func.func private @biased(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %p = arith.mulf %d, %scale : vector<128x64xf32>
      %t = arith.addf %p, %scale : vector<128x64xf32>
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
