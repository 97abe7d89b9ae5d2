// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-copies)' | FileCheck %s

// One kernel for all copies of a size and type, over buffers with one dim.
// CHECK: func.func private @copy_nxf16(%[[FROM:.*]]: memref<?xf16>, %[[TO:.*]]: memref<?xf16>)
// CHECK: %[[N:.*]] = memref.dim %[[FROM]]
// CHECK: scf.forall (%[[I:.*]]) = (0) to (%[[N]]) step (4096)
// CHECK: vector.transfer_read %[[FROM]][%[[I]]], %{{.*}} : memref<?xf16>, vector<4096xf16>

// CHECK: func.func private @copy_3072xf32(%[[FROM:.*]]: memref<3072xf32>, %[[TO:.*]]: memref<3072xf32>)
// CHECK-SAME: mlopt.bytes = 24576 : i64, mlopt.flops = 0 : i64, mlopt.kernel, mlopt.ops = ["copy"]
// CHECK: scf.forall (%[[I:.*]]) = (0) to (3072) step (2048)
// CHECK: %[[V:.*]] = vector.transfer_read %[[FROM]][%[[I]]], %{{.*}} : memref<3072xf32>, vector<2048xf32>
// CHECK: vector.transfer_write %[[V]], %[[TO]][%[[I]]] : vector<2048xf32>, memref<3072xf32>

// CHECK-LABEL: @main
// CHECK-SAME: (%[[X:.*]]: memref<64x48xf32>, %[[Y:.*]]: memref<64x48xf32>, %[[Z:.*]]: memref<3072xf32>
func.func @main(%x: memref<64x48xf32>, %y: memref<64x48xf32>, %z: memref<3072xf32>, %d: memref<?x4xf16>, %e: memref<?x4xf16>, %s: memref<f64>, %t: memref<f64>) {
  // CHECK: %[[A:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1]]
  // CHECK: %[[B:.*]] = memref.collapse_shape %[[Y]] {{\[\[}}0, 1]]
  // CHECK: call @copy_3072xf32(%[[A]], %[[B]])
  memref.copy %x, %y : memref<64x48xf32> to memref<64x48xf32>
  // CHECK: call @copy_3072xf32(%[[Z]], %[[Z2:.*]])
  %w = memref.collapse_shape %y [[0, 1]] : memref<64x48xf32> into memref<3072xf32>
  memref.copy %z, %w : memref<3072xf32> to memref<3072xf32>
  // CHECK: call @copy_nxf16
  memref.copy %d, %e : memref<?x4xf16> to memref<?x4xf16>
  // A buffer onto itself is no copy.
  memref.copy %x, %x : memref<64x48xf32> to memref<64x48xf32>
  // CHECK: memref.expand_shape
  // CHECK: call @copy_1xf64
  memref.copy %s, %t : memref<f64> to memref<f64>
  // CHECK-NOT: memref.copy
  return
}
