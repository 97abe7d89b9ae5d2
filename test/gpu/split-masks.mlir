// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-split-masks)' | FileCheck %s

// 500 keys: the last 52 need the mask, the others do not, nor do their reads look where memory ends.
// CHECK-LABEL: @ragged
// CHECK: %[[P:.*]]:2 = scf.for %[[N:.*]] = %c0 to %c448{{.*}} step %c64
// CHECK-NOT: arith.cmpi
// CHECK: vector.transfer_read %arg1[%[[N]], %{{.*}} {in_bounds = [true, true]}
// CHECK: %[[T:.*]] = arith.mulf
// CHECK: vector.multi_reduction <maximumf>, %[[T]]
// CHECK: vector.transfer_read %arg2[%[[N]], %{{.*}} {in_bounds = [true, true]}
// CHECK: scf.for %[[N:.*]] = %c448{{.*}} to %c500 step %c64 iter_args(%{{.*}} = %[[P]]#0, %{{.*}} = %[[P]]#1)
// CHECK: vector.transfer_read %arg1[%[[N]], %{{.*}} {in_bounds = [false, true]}
// CHECK: arith.cmpi slt
// CHECK: arith.select
#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>
func.func private @ragged(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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

// Rows from %i on attend to keys up to their own number: all of a step if its last key is not after the first row.
// CHECK-LABEL: @causal
// CHECK: scf.forall (%[[I:.*]]) =
// CHECK: %[[END:.*]] = affine.apply #[[SUB:.*]](%[[I]])
// CHECK: %[[SOME:.*]] = arith.maxsi %[[END]], %c0
// CHECK: %[[UP:.*]] = affine.apply #{{.*}}(%[[SOME]])
// CHECK: %[[WHOLE:.*]] = arith.minsi %c500, %[[UP]]
// CHECK: %[[P:.*]]:2 = scf.for %{{.*}} = %c0 to %[[WHOLE]] step %c64
// CHECK-NOT: arith.cmpi
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %c500 step %c64
// CHECK: arith.cmpi sge
func.func private @causal(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %numbers = vector.step : vector<128xindex>
      %begin = vector.broadcast %i : index to vector<128xindex>
      %row = arith.addi %numbers, %begin : vector<128xindex>
      %tallrow = vector.shape_cast %row : vector<128xindex> to vector<128x1xindex>
      %rows = vector.broadcast %tallrow : vector<128x1xindex> to vector<128x64xindex>
      %keys = vector.broadcast %key : vector<64xindex> to vector<128x64xindex>
      %ins = arith.cmpi sge, %rows, %keys : vector<128x64xindex>
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

// Of two masks the earlier one ends the steps without, and what it says of the ends of reads holds.
// CHECK-LABEL: @two
// CHECK: scf.for %[[N:.*]] = %c0 to %c448{{.*}} step %c64
// CHECK-NOT: arith.cmpi
// CHECK: vector.transfer_read %arg1[%[[N]], %{{.*}} {in_bounds = [true, true]}
// CHECK: vector.transfer_read %arg2[%[[N]], %{{.*}} {in_bounds = [true, true]}
// CHECK: scf.for %
func.func private @two(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
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
      %less0 = arith.constant dense<600> : vector<64xindex>
      %in0 = arith.cmpi slt, %key, %less0 : vector<64xindex>
      %both = arith.andi %in, %in0 : vector<64xi1>
      %ins = vector.broadcast %both : vector<64xi1> to vector<128x64xi1>
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

// A loop that begins behind the last key has no step without the mask, and none before its own first one.
// CHECK-LABEL: @behind
// CHECK: %[[WHOLE:.*]] = arith.maxsi %c64{{.*}}, %c128
// CHECK: scf.for %{{.*}} = %c128 to %[[WHOLE]] step %c64
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %c256 step %c64
func.func private @behind(%q: memref<512x64xbf16>, %k: memref<500x64xbf16>, %v: memref<500x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %lows = arith.constant dense<0xFF800000> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %zeros = arith.constant dense<0.0> : vector<128x64xf32>
  %scale = arith.constant dense<0.125> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %r:2 = scf.for %n = %c128 to %c256 step %c64 iter_args(%top = %low, %acc = %zeros) -> (vector<128xf32>, vector<128x64xf32>) {
      %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [false, true]} : memref<500x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %zeros : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %number = vector.step : vector<64xindex>
      %first = vector.broadcast %n : index to vector<64xindex>
      %key = arith.addi %number, %first : vector<64xindex>
      %size = arith.constant dense<64> : vector<64xindex>
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
