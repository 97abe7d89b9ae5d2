// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stage-tiles,canonicalize,cse)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stage-tiles,mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' | FileCheck %s --check-prefix=STRIPS

// How many numbers of a row are less than each, and then which number has each place: the ranks are made once, in memory.
// CHECK-LABEL: @places
// CHECK: %[[RANKS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x64xi32>
// CHECK: %[[RANK:.*]] = vector.multi_reduction <add>
// CHECK: vector.transfer_write %[[RANK]], %[[RANKS]]
// CHECK: vector.transfer_read %[[RANKS]]
// CHECK: vector.multi_reduction <add>
// CHECK-NOT: memref.alloca

// Two nests of two loops, not one of three.
// STRIPS-LABEL: @places
// STRIPS: scf.forall
// STRIPS: scf.for %{{.*}} = %c0 to %c64 step %c32
// STRIPS:   scf.for %{{.*}} = %c0 to %c64 step %c1
// STRIPS:     arith.cmpf olt
// STRIPS:   }
// STRIPS:   vector.store
// STRIPS: }
// STRIPS: scf.for %{{.*}} = %c0 to %c64 step %c32
// STRIPS:   scf.for %{{.*}} = %c0 to %c64 step %c1
// STRIPS:     arith.cmpi eq
func.func private @places(%x: memref<9x64xf32>, %numbers: memref<64xi32>, %out: memref<9x64xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %zero = arith.constant dense<0> : vector<1x64xi32>
  %zeros = arith.constant dense<0> : vector<1x64x64xi32>
  scf.forall (%i) in (9) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<9x64xf32>, vector<1x64xf32>
    %r = vector.shape_cast %v : vector<1x64xf32> to vector<1x1x64xf32>
    %others = vector.broadcast %r : vector<1x1x64xf32> to vector<1x64x64xf32>
    %c = vector.shape_cast %v : vector<1x64xf32> to vector<1x64x1xf32>
    %mine = vector.broadcast %c : vector<1x64x1xf32> to vector<1x64x64xf32>
    %less = arith.cmpf olt, %others, %mine : vector<1x64x64xf32>
    %one = arith.extui %less : vector<1x64x64xi1> to vector<1x64x64xi32>
    %rank = vector.multi_reduction <add>, %one, %zero [2] : vector<1x64x64xi32> to vector<1x64xi32>
    %s = vector.shape_cast %rank : vector<1x64xi32> to vector<1x1x64xi32>
    %ranks = vector.broadcast %s : vector<1x1x64xi32> to vector<1x64x64xi32>
    %n = vector.transfer_read %numbers[%c0], %none {in_bounds = [true]} : memref<64xi32>, vector<64xi32>
    %m = vector.shape_cast %n : vector<64xi32> to vector<64x1xi32>
    %place = vector.broadcast %m : vector<64x1xi32> to vector<1x64x64xi32>
    %here = arith.cmpi eq, %ranks, %place : vector<1x64x64xi32>
    %number = vector.broadcast %n : vector<64xi32> to vector<1x64x64xi32>
    %found = arith.select %here, %number, %zeros : vector<1x64x64xi1>, vector<1x64x64xi32>
    %order = vector.multi_reduction <add>, %found, %zero [2] : vector<1x64x64xi32> to vector<1x64xi32>
    vector.transfer_write %order, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x64xi32>, memref<9x64xi32>
  }
  return
}

// A variance: its mean is one number for all that is added up, and made once wherever it is.
// CHECK-LABEL: @variance
// CHECK-NOT: memref.alloca
func.func private @variance(%x: memref<9x64xf32>, %out: memref<9xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) in (9) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<9x64xf32>, vector<1x64xf32>
    %mean = vector.multi_reduction <add>, %v, %zero [1] : vector<1x64xf32> to vector<1xf32>
    %c = vector.shape_cast %mean : vector<1xf32> to vector<1x1xf32>
    %b = vector.broadcast %c : vector<1x1xf32> to vector<1x64xf32>
    %d = arith.subf %v, %b : vector<1x64xf32>
    %q = arith.mulf %d, %d : vector<1x64xf32>
    %sum = vector.multi_reduction <add>, %q, %zero [1] : vector<1x64xf32> to vector<1xf32>
    vector.transfer_write %sum, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<9xf32>
  }
  return
}
