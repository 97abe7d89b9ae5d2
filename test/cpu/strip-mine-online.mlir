// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-softmax-sums,mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// A long row's maximum and the sum of its exponentials: one loop, which reads a number once. Where the maximum rises,
// or a NaN comes, the sums are made relative to the new one. The last strip, of 8 numbers, reads others as -inf.
// CHECK-LABEL: @rows
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<512x16392xf32>
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant -3.40282347E+38 : f32
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : vector<64xf32>
// CHECK-DAG: %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
// CHECK-DAG: %[[LEAST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: scf.forall
// CHECK: %[[LONG:.*]]:2 = scf.for %[[C:.*]] = %c0 to %c16384 step %c64 iter_args(%[[M:.*]] = %[[LOWEST]], %[[S:.*]] = %[[NONE]])
// CHECK-NEXT: %[[V:.*]] = vector.load %[[X]]
// CHECK-NEXT: %[[OLD:.*]] = vector.broadcast %[[M]]
// CHECK-NEXT: %[[HIGHER:.*]] = arith.cmpf ugt, %[[V]], %[[OLD]]
// CHECK-NEXT: %[[RISES:.*]] = vector.reduction <or>, %[[HIGHER]]
// CHECK-NEXT: %[[NEW:.*]]:2 = scf.if %[[RISES]]
// CHECK: %[[UNORDERED:.*]] = arith.cmpf uno, %[[V]], %[[V]]
// CHECK: %[[IS_NAN:.*]] = vector.reduction <or>, %[[UNORDERED]]
// CHECK: %[[UP:.*]] = arith.select %[[IS_NAN]], %[[NAN]]
// CHECK: %[[BY:.*]] = arith.subf %[[M]], %[[UP]]
// CHECK: %[[WIDE:.*]] = vector.broadcast %[[BY]]
// CHECK: %[[FACTOR:.*]] = math.exp %[[WIDE]] {mlopt.not_positive}
// CHECK: %[[LESS:.*]] = arith.mulf %[[S]], %[[FACTOR]]
// CHECK: scf.yield %[[UP]], %[[LESS]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[M]], %[[S]]
// CHECK: %[[OVER:.*]] = vector.broadcast %[[NEW]]#0
// CHECK: %[[D:.*]] = arith.subf %[[V]], %[[OVER]]
// CHECK: %[[E:.*]] = math.exp %[[D]] {mlopt.not_positive}
// CHECK: %[[SUM:.*]] = arith.addf %[[NEW]]#1, %[[E]]
// CHECK: scf.yield %[[NEW]]#0, %[[SUM]]
// CHECK: arith.select %{{.*}} : vector<64xi1>, vector<64xf32>
// CHECK: scf.if
// CHECK-NOT: scf.for
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq
// CHECK: %[[MAX:.*]] = arith.select %[[EMPTY]], %[[LEAST]]
// CHECK: %[[TOTAL:.*]] = arith.select %[[EMPTY]], %[[NAN]]
// CHECK-NOT: scf.for
// CHECK: return
func.func private @rows(%x: memref<512x16392xf32>, %max: memref<512xf32>, %sum: memref<512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %least = arith.constant dense<0xFF800000> : vector<1xf32>
  scf.forall (%i) in (512) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x16392xf32>, vector<1x16392xf32>
    %1 = vector.multi_reduction <maximumf>, %0, %least [1] : vector<1x16392xf32> to vector<1xf32>
    vector.transfer_write %1, %max[%i] {in_bounds = [true]} : vector<1xf32>, memref<512xf32>
    %2 = vector.shape_cast %1 : vector<1xf32> to vector<1x1xf32>
    %3 = vector.broadcast %2 : vector<1x1xf32> to vector<1x16392xf32>
    %4 = arith.subf %0, %3 : vector<1x16392xf32>
    %5 = math.exp %4 : vector<1x16392xf32>
    %6 = vector.multi_reduction <add>, %5, %zero [1] : vector<1x16392xf32> to vector<1xf32>
    vector.transfer_write %6, %sum[%i] {in_bounds = [true]} : vector<1xf32>, memref<512xf32>
  }
  return
}

// A longer one's sums are made of blocks of 256 turns, which go on from the maximum before them.
// CHECK-LABEL: @blocks
// CHECK: scf.for %{{.*}} = %c0 to %c131072 step %c16384 iter_args(%[[BEFORE:.*]] = %{{.*}}, %[[SUMS:.*]] = %[[NONE:.*]]) ->
// CHECK: %[[BLOCK:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[BEFORE]], %{{.*}} = %[[NONE]])
// CHECK: %[[BY:.*]] = arith.subf %[[BEFORE]], %[[BLOCK]]#0
// CHECK: %[[WIDE:.*]] = vector.broadcast %[[BY]]
// CHECK: %[[FACTOR:.*]] = math.exp %[[WIDE]]
// CHECK: %[[LESS:.*]] = arith.mulf %[[SUMS]], %[[FACTOR]]
// CHECK: %[[BOTH:.*]] = arith.addf %[[LESS]], %[[BLOCK]]#1
// CHECK: scf.yield %[[BLOCK]]#0, %[[BOTH]]
func.func private @blocks(%x: memref<512x131072xf32>, %sum: memref<512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %least = arith.constant dense<0xFF800000> : vector<1xf32>
  scf.forall (%i) in (512) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x131072xf32>, vector<1x131072xf32>
    %1 = vector.multi_reduction <maximumf>, %0, %least [1] : vector<1x131072xf32> to vector<1xf32>
    %2 = vector.shape_cast %1 : vector<1xf32> to vector<1x1xf32>
    %3 = vector.broadcast %2 : vector<1x1xf32> to vector<1x131072xf32>
    %4 = arith.subf %0, %3 : vector<1x131072xf32>
    %5 = math.exp %4 : vector<1x131072xf32>
    %6 = vector.multi_reduction <add>, %5, %zero [1] : vector<1x131072xf32> to vector<1xf32>
    vector.transfer_write %6, %sum[%i] {in_bounds = [true]} : vector<1xf32>, memref<512xf32>
  }
  return
}
