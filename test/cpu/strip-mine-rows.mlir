// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// 16 MB in rows of 4 KB: while a row is divided by its sum, the lines of the next one are asked for, of the last its
// own again.
// CHECK-LABEL: @rows
// CHECK-SAME: %[[X:[^:]*]]: memref<4096x1024xf32>
// CHECK: scf.forall (%[[TASK:.*]]) = (0) to (4096) step (4)
// CHECK: scf.for %[[R:.*]] = %c0 to %c4 step %c1
// CHECK: scf.for {{.*}} iter_args
// CHECK-NOT: memref.prefetch
// CHECK: scf.for %[[C:.*]] = %c0 to %c1024 step %c64
// CHECK: %[[ROW:.*]] = arith.addi %[[TASK]], %[[R]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]], %c1
// CHECK: %[[OR_LAST:.*]] = arith.minsi %[[NEXT]], %c4095
// CHECK: memref.prefetch %[[X]][%[[OR_LAST]], %[[C]]], read, locality<3>, data
// CHECK: %[[SECOND:.*]] = arith.addi %[[C]], %c16
// CHECK: memref.prefetch %[[X]][%[[OR_LAST]], %[[SECOND]]], read, locality<3>, data
// CHECK-COUNT-2: memref.prefetch
// CHECK-NOT: memref.prefetch
// CHECK: vector.store
func.func private @rows(%x: memref<4096x1024xf32>, %out: memref<4096x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) = (0) to (4096) step (4) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<4096x1024xf32>, vector<4x1024xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<4x1024xf32> to vector<4xf32>
    %2 = vector.shape_cast %1 : vector<4xf32> to vector<4x1xf32>
    %3 = vector.broadcast %2 : vector<4x1xf32> to vector<4x1024xf32>
    %4 = arith.divf %0, %3 : vector<4x1024xf32>
    vector.transfer_write %4, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x1024xf32>, memref<4096x1024xf32>
  }
  return
}

// A row that is only reduced: the second reduction asks for the next task's row. The first one, which waits for
// memory itself, does not.
// CHECK-LABEL: @reduced
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<512x8192xf32>
// CHECK: scf.forall (%[[TASK:.*]]) in (512)
// CHECK: scf.for {{.*}} iter_args
// CHECK-NOT: memref.prefetch
// CHECK: scf.for %[[C:.*]] = %c0 to %c8192 step %c64 iter_args
// CHECK: %[[NEXT:.*]] = arith.addi %[[TASK]], %c1
// CHECK: %[[OR_LAST:.*]] = arith.minsi %[[NEXT]], %c511
// CHECK: memref.prefetch %[[X]][%[[OR_LAST]], %[[C]]], read, locality<3>, data
// CHECK-COUNT-3: memref.prefetch
// CHECK-NOT: memref.prefetch
// CHECK: arith.addf
// CHECK: return
func.func private @reduced(%x: memref<512x8192xf32>, %out: memref<512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %ninf = arith.constant dense<0xFF800000> : vector<1xf32>
  scf.forall (%i) in (512) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x8192xf32>, vector<1x8192xf32>
    %1 = vector.multi_reduction <maximumf>, %0, %ninf [1] : vector<1x8192xf32> to vector<1xf32>
    %2 = vector.shape_cast %1 : vector<1xf32> to vector<1x1xf32>
    %3 = vector.broadcast %2 : vector<1x1xf32> to vector<1x8192xf32>
    %4 = arith.subf %0, %3 : vector<1x8192xf32>
    %5 = vector.multi_reduction <add>, %4, %zero [1] : vector<1x8192xf32> to vector<1xf32>
    vector.transfer_write %5, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<512xf32>
  }
  return
}
