// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-chunk-rows{thread-elements=2})' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-chunk-rows)' | FileCheck %s --check-prefix=FULL
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-chunk-rows{shared=102400})' | FileCheck %s --check-prefix=SMALL

// 128 threads hold 256 elements of a row of 1000: a loop for the maximum, and one for what is written.
// CHECK-LABEL: @centre
// CHECK: scf.forall (%[[I:.*]]) in (10)
// CHECK:   %[[M:.*]] = scf.for %[[K:.*]] = %c0{{.*}} to %c1000{{.*}} step %c256{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<1xf32>)
// CHECK:     %[[AT:.*]] = arith.addi %c0, %[[K]]
// CHECK:     %[[V:.*]] = vector.transfer_read %{{.*}}[%[[I]], %[[AT]]], %{{.*}} {in_bounds = [true, false]} : memref<10x1000xf32>, vector<1x256xf32>
// CHECK:     %[[W:.*]] = arith.select %{{.*}}, %[[V]], %{{.*}} : vector<1x256xi1>, vector<1x256xf32>
// CHECK:     %[[T:.*]] = vector.multi_reduction <maximumf>, %[[W]], %[[ACC]] [1]
// CHECK:     scf.yield %[[T]]
// CHECK:   vector.shape_cast %[[M]]
// CHECK:   scf.for %[[K:.*]] = %c0{{.*}} to %c1000{{.*}} step %c256
// CHECK:     vector.transfer_read
// CHECK:     arith.subf %{{.*}} : vector<1x256xf32>
// CHECK:     arith.mulf %{{.*}} : vector<1x256xf32>
// CHECK:     vector.transfer_write {{.*}} {in_bounds = [true, false]} : vector<1x256xf32>
// CHECK-NOT: vector<1x1000xf32>
func.func private @centre(%x: memref<10x1000xf32>, %out: memref<10x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1xf32>
  %half = arith.constant dense<0.5> : vector<1x1000xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<10x1000xf32>, vector<1x1000xf32>
    %m = vector.multi_reduction <maximumf>, %v, %low [1] : vector<1x1000xf32> to vector<1xf32>
    %c = vector.shape_cast %m : vector<1xf32> to vector<1x1xf32>
    %b = vector.broadcast %c : vector<1x1xf32> to vector<1x1000xf32>
    %s = arith.subf %v, %b : vector<1x1000xf32>
    %h = arith.mulf %s, %half : vector<1x1000xf32>
    vector.transfer_write %h, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1000xf32>, memref<10x1000xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// Written to a part of a buffer: steps divide the row, as one that reaches beyond it would overwrite more.
// CHECK-LABEL: @part
// CHECK: scf.for {{.*}} to %c1000{{.*}} step %c250
// CHECK: vector.transfer_write {{.*}} {in_bounds = [true]} : vector<250xf32>, memref<3000xf32>
func.func private @part(%x: memref<1000xf32>, %out: memref<3000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (1) step (1) {
    %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<1000xf32>, vector<1000xf32>
    vector.transfer_write %v, %out[%c7] {in_bounds = [true]} : vector<1000xf32>, memref<3000xf32>
  } {mlopt.schedule = {tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}

// The first dim in which steps can be short enough; positions move along.
// CHECK-LABEL: @planes
// CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %c40{{.*}} step %c4{{.*}} iter_args
// CHECK:   vector.transfer_read {{.*}} : memref<40x8x8xf32>, vector<4x8x8xf32>
// CHECK:   %[[STEP:.*]] = vector.step : vector<4xindex>
// CHECK:   arith.addi %[[STEP]]
// CHECK:   vector.multi_reduction <add>, %{{.*}} [0, 1, 2] : vector<4x8x8xf32> to f32
func.func private @planes(%x: memref<40x8x8xf32>, %out: memref<f32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (1) step (1) {
    %v = vector.transfer_read %x[%c0, %c0, %c0], %pad {in_bounds = [true, true, true]} : memref<40x8x8xf32>, vector<40x8x8xf32>
    %n = vector.step : vector<40xindex>
    %k = arith.index_cast %n : vector<40xindex> to vector<40xi32>
    %f = arith.sitofp %k : vector<40xi32> to vector<40xf32>
    %c = vector.shape_cast %f : vector<40xf32> to vector<40x1x1xf32>
    %b = vector.broadcast %c : vector<40x1x1xf32> to vector<40x8x8xf32>
    %w = arith.mulf %v, %b : vector<40x8x8xf32>
    %s = vector.multi_reduction <add>, %w, %pad [0, 1, 2] : vector<40x8x8xf32> to f32
    %t = vector.broadcast %s : f32 to vector<f32>
    vector.transfer_write %t, %out[] : vector<f32>, memref<f32>
  } {mlopt.schedule = {tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}

// A thread of 32 warps has 64 registers, and 32 elements of the row and of its weights each.
// CHECK-LABEL: @scale_beside_weights
// FULL-LABEL: @scale_beside_weights
// FULL: scf.for {{.*}} to %c32768{{.*}} step %c8192
// FULL:   vector.multi_reduction <add>
// FULL: scf.for {{.*}} to %c32768{{.*}} step %c8192
// FULL:   vector.transfer_read {{.*}} : memref<32768xf32>, vector<8192xf32>
// FULL-NOT: vector<1x32768xf32>
// There is no room to keep the row.
// SMALL-LABEL: @scale_beside_weights
// SMALL-NOT: scf.for %
// SMALL: vector<1x32768xf32>
func.func private @scale_beside_weights(%x: memref<2048x32768xf32>, %w: memref<32768xf32>, %out: memref<2048x32768xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (2048) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<2048x32768xf32>, vector<1x32768xf32>
    %s = vector.multi_reduction <add>, %v, %zero [1] : vector<1x32768xf32> to vector<1xf32>
    %c = vector.shape_cast %s : vector<1xf32> to vector<1x1xf32>
    %b = vector.broadcast %c : vector<1x1xf32> to vector<1x32768xf32>
    %u = vector.transfer_read %w[%c0], %pad {in_bounds = [true]} : memref<32768xf32>, vector<32768xf32>
    %d = vector.broadcast %u : vector<32768xf32> to vector<1x32768xf32>
    %m = arith.mulf %v, %b : vector<1x32768xf32>
    %r = arith.mulf %m, %d : vector<1x32768xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x32768xf32>, memref<2048x32768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 32>}}
  return
}

// Half as many weights fit beside the row.
// CHECK-LABEL: @scale_beside_halves
// FULL-LABEL: @scale_beside_halves
// FULL-NOT: scf.for %
// FULL: vector<1x32768xf32>
func.func private @scale_beside_halves(%x: memref<2048x32768xf32>, %w: memref<32768xbf16>, %out: memref<2048x32768xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (2048) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<2048x32768xf32>, vector<1x32768xf32>
    %s = vector.multi_reduction <add>, %v, %zero [1] : vector<1x32768xf32> to vector<1xf32>
    %c = vector.shape_cast %s : vector<1xf32> to vector<1x1xf32>
    %b = vector.broadcast %c : vector<1x1xf32> to vector<1x32768xf32>
    %h = vector.transfer_read %w[%c0], %none {in_bounds = [true]} : memref<32768xbf16>, vector<32768xbf16>
    %u = arith.extf %h : vector<32768xbf16> to vector<32768xf32>
    %d = vector.broadcast %u : vector<32768xf32> to vector<1x32768xf32>
    %m = arith.mulf %v, %b : vector<1x32768xf32>
    %r = arith.mulf %m, %d : vector<1x32768xf32>
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x32768xf32>, memref<2048x32768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 32>}}
  return
}

// The totals of a scan go on from step to step.
// CHECK-LABEL: @running
// CHECK: scf.forall (%[[I:.*]]) in (10)
// CHECK:   scf.for %[[K:.*]] = %c0{{.*}} to %c1000{{.*}} step %c256{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<1xf32>)
// CHECK:     %[[V:.*]] = vector.transfer_read {{.*}}, vector<1x256xf32>
// CHECK:     %[[S:.*]], %[[ALL:.*]] = vector.scan <add>, %[[V]], %[[ACC]] {inclusive = true, reduction_dim = 1 : i64} : vector<1x256xf32>, vector<1xf32>
// CHECK:     vector.transfer_write %[[S]]
// CHECK:     scf.yield %[[ALL]]
func.func private @running(%x: memref<10x1000xf32>, %out: memref<10x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<10x1000xf32>, vector<1x1000xf32>
    %s, %all = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 1 : i64} : vector<1x1000xf32>, vector<1xf32>
    vector.transfer_write %s, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x1000xf32>, memref<10x1000xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// Steps along the other dim divide columns between them: each begins anew.
// CHECK-LABEL: @beside
// CHECK:   scf.for %{{.*}} = %c0{{.*}} to %c600{{.*}} step %c128
// CHECK:     vector.scan <add>, %{{.*}}, %{{.*}} {inclusive = true, reduction_dim = 0 : i64} : vector<2x128xf32>, vector<128xf32>
func.func private @beside(%x: memref<2x600xf32>, %out: memref<2x600xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<600xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<2x600xf32>, vector<2x600xf32>
    %s, %all = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 0 : i64} : vector<2x600xf32>, vector<600xf32>
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<2x600xf32>, memref<2x600xf32>
  } {mlopt.schedule = {tile = array<i64: 0, 0>, warps = array<i64: 4>}}
  return
}
