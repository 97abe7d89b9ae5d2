// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// A row: the maximum, the exponentials (kept in a scratch) and their sum, the quotients.
// CHECK-LABEL: @softmax
// CHECK: %[[ROW:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x1024xf32>
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// CHECK:   %[[MAX:.*]]:2 = scf.for %{{.*}} = %c0 to %c960 step %c64 iter_args(%[[A:.*]] = %[[LOW:.*]], %[[N:.*]] = %[[LOW]]) -> (vector<64xf32>, vector<64xf32>) {
// A turn waits for a comparison of numbers only; what was NaN is kept apart.
// CHECK:     %[[V:.*]] = vector.load
// CHECK:     %[[GREATER:.*]] = arith.cmpf ogt, %[[V]], %[[A]] : vector<64xf32>
// CHECK:     %[[NUMBER:.*]] = arith.select %[[GREATER]], %[[V]], %[[A]]
// CHECK:     %[[ISNAN:.*]] = arith.cmpf uno, %[[V]], %[[V]] : vector<64xf32>
// CHECK:     %[[MARK:.*]] = arith.select %[[ISNAN]], %[[V]], %[[N]]
// CHECK:     scf.yield %[[NUMBER]], %[[MARK]]
// The rest of the row is masked, and neutral where nothing is left.
// CHECK:   vector.maskedload
// CHECK:   %[[REST:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<64xi1>, vector<64xf32>
// CHECK:   arith.cmpf ogt, %[[REST]], %[[MAX]]#0
// CHECK:   %[[NUMBER:.*]] = arith.select
// CHECK:   %[[MARK:.*]] = arith.select %{{.*}}, %[[REST]], %[[MAX]]#1
// CHECK:   %[[ISNAN:.*]] = arith.cmpf uno, %[[MARK]], %[[MARK]]
// CHECK:   arith.select %[[ISNAN]], %[[MARK]], %[[NUMBER]]
// CHECK-COUNT-6: arith.maximumf
// CHECK:   scf.for %{{.*}} = %c0 to %c960 step %c64 iter_args
// CHECK:     %[[EXP:.*]] = math.exp
// CHECK:     vector.store %[[EXP]], %[[ROW]]
// CHECK:     arith.addf
// CHECK:   scf.for
// CHECK-NOT: math.exp
// CHECK:     vector.load %[[ROW]]
// CHECK:     arith.divf
// CHECK:     vector.store
func.func private @softmax(%x: memref<1001x1000xf32>, %out: memref<1001x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %ninf = arith.constant dense<0xFF800000> : vector<8xf32>
  %zero = arith.constant dense<0.0> : vector<8xf32>
  scf.forall (%i) = (0) to (1001) step (8) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [false, true]} : memref<1001x1000xf32>, vector<8x1000xf32>
    %1 = vector.multi_reduction <maximumf>, %0, %ninf [1] : vector<8x1000xf32> to vector<8xf32>
    %2 = vector.shape_cast %1 : vector<8xf32> to vector<8x1xf32>
    %3 = vector.broadcast %2 : vector<8x1xf32> to vector<8x1000xf32>
    %4 = arith.subf %0, %3 : vector<8x1000xf32>
    %5 = math.exp %4 : vector<8x1000xf32>
    %6 = vector.multi_reduction <add>, %5, %zero [1] : vector<8x1000xf32> to vector<8xf32>
    %7 = vector.shape_cast %6 : vector<8xf32> to vector<8x1xf32>
    %8 = vector.broadcast %7 : vector<8x1xf32> to vector<8x1000xf32>
    %9 = arith.divf %5, %8 : vector<8x1000xf32>
    vector.transfer_write %9, %out[%i, %c0] {in_bounds = [false, true]} : vector<8x1000xf32>, memref<1001x1000xf32>
  }
  return
}

// Columns: the lanes are not summed, there is no tree at the end.
// CHECK-LABEL: @columns
// CHECK: %[[SUM:.*]] = scf.for %[[R:.*]] = %c0 to %c100 step %c1 iter_args
// CHECK:   vector.load %{{.*}}[%[[R]], %{{.*}}] : memref<100x128xf32>, vector<64xf32>
// CHECK-NOT: vector.shuffle
// CHECK: vector.store
func.func private @columns(%x: memref<100x128xf32>, %out: memref<128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64xf32>
  scf.forall (%j) = (0) to (128) step (64) {
    %0 = vector.transfer_read %x[%c0, %j], %pad {in_bounds = [true, true]} : memref<100x128xf32>, vector<100x64xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [0] : vector<100x64xf32> to vector<64xf32>
    vector.transfer_write %1, %out[%j] {in_bounds = [true]} : vector<64xf32>, memref<128xf32>
  }
  return
}

// A row's maximum is a result, too: stored once a row, not reduced twice.
// CHECK-LABEL: @two_results
// CHECK: scf.for %
// CHECK:   scf.for {{.*}} iter_args
// CHECK-NOT: iter_args
// CHECK:   scf.for
// CHECK:     vector.store
// CHECK:   memref.store
// CHECK-NOT: iter_args
// CHECK: return
func.func private @two_results(%x: memref<8x640xf32>, %out: memref<8x640xf32>, %max: memref<8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %ninf = arith.constant dense<0xFF800000> : vector<8xf32>
  %0 = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x640xf32>, vector<8x640xf32>
  %1 = vector.multi_reduction <maximumf>, %0, %ninf [1] : vector<8x640xf32> to vector<8xf32>
  %2 = vector.shape_cast %1 : vector<8xf32> to vector<8x1xf32>
  %3 = vector.broadcast %2 : vector<8x1xf32> to vector<8x640xf32>
  %4 = arith.subf %0, %3 : vector<8x640xf32>
  vector.transfer_write %1, %max[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  vector.transfer_write %4, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x640xf32>, memref<8x640xf32>
  return
}

// Sums of rows: each row is added up along memory, not many rows at once with gathers.
// CHECK-LABEL: @row_sums
// CHECK-NOT: vector.gather
// CHECK: scf.for %[[R:.*]] = %c0 to %c8 step %c1
// CHECK:   scf.for {{.*}} = %c0 to %c640 step %c64 iter_args({{.*}}) -> (vector<64xf32>)
// CHECK:     vector.load %{{.*}}[%[[R]], %{{.*}}]
// CHECK:   memref.store {{.*}}[%[[R]]]
// CHECK: return
func.func private @row_sums(%x: memref<8x640xf32>, %out: memref<8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %0 = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x640xf32>, vector<8x640xf32>
  %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<8x640xf32> to vector<8xf32>
  vector.transfer_write %1, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}

// Rows shorter than a register are summed side by side.
// CHECK-LABEL: @short_rows
// CHECK: vector.gather {{.*}} vector<8xf32>
// CHECK: vector.store {{.*}} vector<8xf32>
func.func private @short_rows(%x: memref<8x3xf32>, %out: memref<8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %0 = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x3xf32>, vector<8x3xf32>
  %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<8x3xf32> to vector<8xf32>
  vector.transfer_write %1, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}

// A row of unknown length, in steps: what it needs before is made once, outside of the loop that writes.
// CHECK-LABEL: @steps
// CHECK: scf.forall (%[[I:.*]]) in (4)
// CHECK:   scf.for %{{.*}} = %c0 to %[[END:.*]] step %c32 iter_args
// CHECK:     vector.load {{.*}} vector<32xf32>
// CHECK:   vector.shuffle
// CHECK:   scf.for %[[K:.*]] = %c0 to %[[END]] step %c32 {
// CHECK-NOT: vector.shuffle
// CHECK:     vector.store %{{.*}}, %{{.*}}[%[[I]], %[[K]]]
func.func private @steps(%x: memref<4x?xf32>, %out: memref<4x?xf32>, %end: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %zeros = arith.constant dense<0.0> : vector<1x32xf32>
  scf.forall (%i) in (4) {
    %p = scf.for %k = %c0 to %end step %c32 iter_args(%acc = %zeros) -> (vector<1x32xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<4x?xf32>, vector<1x32xf32>
      %a = arith.addf %acc, %v : vector<1x32xf32>
      scf.yield %a : vector<1x32xf32>
    }
    %s = vector.multi_reduction <add>, %p, %zero [1] : vector<1x32xf32> to vector<1xf32>
    scf.for %k = %c0 to %end step %c32 {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<4x?xf32>, vector<1x32xf32>
      %c = vector.shape_cast %s : vector<1xf32> to vector<1x1xf32>
      %b = vector.broadcast %c : vector<1x1xf32> to vector<1x32xf32>
      %q = arith.divf %v, %b : vector<1x32xf32>
      vector.transfer_write %q, %out[%i, %k] {in_bounds = [true, true]} : vector<1x32xf32>, memref<4x?xf32>
    }
  }
  return
}

// A long row of sums: blocks of 256 strips have an accumulator of their own each, and so has what is left over.
// A maximum rounds nothing: one loop.
// CHECK-LABEL: @long_rows
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<-0.000000e+00> : vector<64xf32>
// CHECK: %[[BLOCKS:.*]] = scf.for %[[B:.*]] = %c0 to %c32768 step %c16384 iter_args(%[[ALL:.*]] = %[[ZERO]]) -> (vector<64xf32>) {
// CHECK:   %[[END:.*]] = arith.addi %[[B]], %c16384
// CHECK:   %[[OWN:.*]] = scf.for %[[K:.*]] = %[[B]] to %[[END]] step %c64 iter_args({{.*}} = %[[ZERO]])
// CHECK:     vector.load %{{.*}}[%{{.*}}, %[[K]]]
// CHECK:   arith.addf %[[ALL]], %[[OWN]]
// CHECK: %[[LEFT:.*]] = scf.for %{{.*}} = %c32768 to %c40000 step %c64 iter_args({{.*}} = %[[ZERO]])
// CHECK: %[[SUM:.*]] = arith.addf %[[BLOCKS]], %[[LEFT]]
// CHECK: vector.maskedload
// CHECK: arith.addf %[[SUM]]
// CHECK: scf.for %{{.*}} = %c0 to %c40000 step %c64 iter_args
// CHECK: arith.maximumf
func.func private @long_rows(%x: memref<2x40010xf32>, %sum: memref<2xf32>, %max: memref<2xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %ninf = arith.constant dense<0xFF800000> : vector<1xf32>
  scf.forall (%i) in (2) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<2x40010xf32>, vector<1x40010xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<1x40010xf32> to vector<1xf32>
    vector.transfer_write %1, %sum[%i] {in_bounds = [true]} : vector<1xf32>, memref<2xf32>
    %2 = vector.multi_reduction <maximumf>, %0, %ninf [1] : vector<1x40010xf32> to vector<1xf32>
    vector.transfer_write %2, %max[%i] {in_bounds = [true]} : vector<1xf32>, memref<2xf32>
  }
  return
}

// Rows of several strips, one after the other: each row's sum is added to that of the rows before.
// CHECK-LABEL: @sums_of_rows
// CHECK: scf.for %{{.*}} = %c0 to %c5 step %c1 iter_args(%[[ROWS:.*]] = %[[ZERO:.*]]) -> (vector<64xf32>) {
// CHECK:   %[[ROW:.*]] = scf.for %{{.*}} = %c0 to %c1024 step %c64 iter_args({{.*}} = %[[ZERO]])
// CHECK:   %[[REST:.*]] = arith.addf %[[ROW]]
// CHECK:   arith.addf %[[ROWS]], %[[REST]]
func.func private @sums_of_rows(%x: memref<2x5x1040xf32>, %sum: memref<2xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) in (2) {
    %0 = vector.transfer_read %x[%i, %c0, %c0], %pad {in_bounds = [true, true, true]} : memref<2x5x1040xf32>, vector<1x5x1040xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1, 2] : vector<1x5x1040xf32> to vector<1xf32>
    vector.transfer_write %1, %sum[%i] {in_bounds = [true]} : vector<1xf32>, memref<2xf32>
  }
  return
}
