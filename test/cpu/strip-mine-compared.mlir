// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' | FileCheck %s

// Elements of a row compared with each other and with a table: the one dim is summed, so lanes lie along that,
// in the row and in the table.
// CHECK-LABEL: @ranks
// CHECK-NOT: vector.gather
// CHECK: scf.for %[[I:.*]] = %c0 to %c64 step %c1
// CHECK:   %[[MINE:.*]] = memref.load %arg0[%{{.*}}, %[[I]]]
// CHECK:   scf.for %[[J:.*]] = %c0 to %c64 step %c32
// CHECK:     vector.load %arg0[%{{.*}}, %[[J]]]
// CHECK:     vector.load %arg1[%[[I]], %[[J]]]
// CHECK-NOT: vector.gather
func.func private @ranks(%x: memref<9x64xf32>, %table: memref<64x64xi8>, %out: memref<9x64xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant 0 : i8
  %zero = arith.constant dense<0> : vector<1x64xi32>
  %zeros = arith.constant dense<0> : vector<1x64x64xi8>
  scf.forall (%i) in (9) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<9x64xf32>, vector<1x64xf32>
    %r = vector.shape_cast %v : vector<1x64xf32> to vector<1x1x64xf32>
    %others = vector.broadcast %r : vector<1x1x64xf32> to vector<1x64x64xf32>
    %c = vector.shape_cast %v : vector<1x64xf32> to vector<1x64x1xf32>
    %mine = vector.broadcast %c : vector<1x64x1xf32> to vector<1x64x64xf32>
    %less = arith.cmpf olt, %others, %mine : vector<1x64x64xf32>
    %t = vector.transfer_read %table[%c0, %c0], %none {in_bounds = [true, true]} : memref<64x64xi8>, vector<64x64xi8>
    %b = vector.broadcast %t : vector<64x64xi8> to vector<1x64x64xi8>
    %counts = arith.cmpi ne, %b, %zeros : vector<1x64x64xi8>
    %both = arith.andi %less, %counts : vector<1x64x64xi1>
    %one = arith.extui %both : vector<1x64x64xi1> to vector<1x64x64xi32>
    %rank = vector.multi_reduction <add>, %one, %zero [2] : vector<1x64x64xi32> to vector<1x64xi32>
    vector.transfer_write %rank, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x64xi32>, memref<9x64xi32>
  }
  return
}
