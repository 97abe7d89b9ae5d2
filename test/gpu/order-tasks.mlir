// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-order-tasks)' | FileCheck %s

// Heads share angles: they become neighbours. Rows of any number: bounds and steps move with their loop.
// CHECK-LABEL: @angles
// CHECK: %[[C1:.*]] = arith.constant 1 : index
// CHECK: %[[ROWS:.*]] = memref.dim
// CHECK: scf.forall (%[[ROW:.*]], %[[HEAD:.*]]) = (0, 0) to (%[[ROWS]], 4) step (16, 1) {
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]], %[[C1]]
// CHECK: vector.transfer_read %{{.*}}[%[[HEAD]], %[[ROW]], %
// CHECK: vector.transfer_read %{{.*}}[%[[NEXT]], %
// CHECK: vector.transfer_write %{{.*}}[%[[HEAD]], %[[ROW]], %
func.func private @angles(%x: memref<4x?x64xf32>, %w: memref<?x64xf32>, %out: memref<4x?x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %x, %c1 : memref<4x?x64xf32>
  %pad = arith.constant 0.0 : f32
  scf.forall (%h, %i) = (0, 0) to (4, %rows) step (1, 16) {
    %next = arith.addi %i, %c1 : index
    %v = vector.transfer_read %x[%h, %i, %c0], %pad {in_bounds = [true, false, true]} : memref<4x?x64xf32>, vector<1x16x64xf32>
    %u = vector.transfer_read %w[%next, %c0], %pad {in_bounds = [false, true]} : memref<?x64xf32>, vector<16x64xf32>
    %b = vector.broadcast %u : vector<16x64xf32> to vector<1x16x64xf32>
    %r = arith.mulf %v, %b : vector<1x16x64xf32>
    vector.transfer_write %r, %out[%h, %i, %c0] {in_bounds = [true, false, true]} : vector<1x16x64xf32>, memref<4x?x64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 16, 0>, warps = array<i64: 4>}}
  return
}

// Both dynamic: their bounds change places. The batch goes behind the heads, not behind the parts of a row.
// CHECK-LABEL: @mask
// CHECK-SAME: %{{.*}}: memref<?x?x4096xf32>, %{{.*}}, %[[BATCH:.*]]: index, %[[HEADS:.*]]: index)
// CHECK: scf.forall (%[[H:.*]], %[[B:.*]], %[[J:.*]]) = (0, 0, 0) to (%[[HEADS]], %[[BATCH]], 4096) step (1, 1, 1024) {
// CHECK: vector.transfer_read %{{.*}}[%[[B]], %[[H]], %[[J]]]
// CHECK: vector.transfer_read %{{.*}}[%[[H]], %[[J]]]
func.func private @mask(%x: memref<?x?x4096xf32>, %w: memref<?x4096xf32>, %out: memref<?x?x4096xf32>, %batch: index, %heads: index) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%b, %h, %j) = (0, 0, 0) to (%batch, %heads, 4096) step (1, 1, 1024) {
    %v = vector.transfer_read %x[%b, %h, %j], %pad {in_bounds = [true, true, true]} : memref<?x?x4096xf32>, vector<1x1x1024xf32>
    %u = vector.transfer_read %w[%h, %j], %pad {in_bounds = [true, true]} : memref<?x4096xf32>, vector<1x1024xf32>
    %s = vector.broadcast %u : vector<1x1024xf32> to vector<1x1x1024xf32>
    %r = arith.addf %v, %s : vector<1x1x1024xf32>
    vector.transfer_write %r, %out[%b, %h, %j] {in_bounds = [true, true, true]} : vector<1x1x1024xf32>, memref<?x?x4096xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1024>, warps = array<i64: 4>}}
  return
}
