// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-lower-expansions)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-lower-expansions,expand-strided-metadata)' | FileCheck %s --check-prefix=AFTER

// AFTER-NOT: memref.expand_shape

// CHECK-LABEL: @rows_and_columns
// CHECK-SAME: %[[BUFFER:.*]]: memref<?xf32>, %[[M:.*]]: index, %[[N:.*]]: index
// CHECK: %[[BASE:.*]], %{{.*}}, %{{.*}}, %{{.*}} = memref.extract_strided_metadata %[[BUFFER]]
// CHECK: memref.reinterpret_cast %[[BASE]] to offset: [0], sizes: [%[[M]], %[[N]]], strides: [%[[N]], 1]
// CHECK-NOT: memref.expand_shape
func.func @rows_and_columns(%b: memref<?xf32>, %m: index, %n: index) -> memref<?x?xf32> {
  %v = memref.expand_shape %b [[0, 1]] output_shape [%m, %n] : memref<?xf32> into memref<?x?xf32>
  return %v : memref<?x?xf32>
}

// Strides and offsets that are dynamic, known sizes between, a group that stays.
// CHECK-LABEL: @strided
// CHECK-SAME: %[[BUFFER:.*]]: memref<?x5xf32, strided<[?, 1], offset: ?>>, %[[M:.*]]: index, %[[N:.*]]: index
// CHECK: %[[BASE:.*]], %[[OFFSET:.*]], %{{.*}}:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[BUFFER]]
// CHECK: %[[ROW:.*]] = arith.muli %[[STRIDES]]#0, %[[N]]
// CHECK: %[[THREE:.*]] = arith.constant 3
// CHECK: %[[BLOCK:.*]] = arith.muli %[[ROW]], %[[THREE]]
// CHECK: memref.reinterpret_cast %[[BASE]] to offset: [%[[OFFSET]]], sizes: [%[[M]], 3, %[[N]], 5], strides: [%[[BLOCK]], %[[ROW]], %[[STRIDES]]#0, 1]
func.func @strided(%b: memref<?x5xf32, strided<[?, 1], offset: ?>>, %m: index, %n: index) -> memref<?x3x?x5xf32, strided<[?, ?, ?, 1], offset: ?>> {
  %v = memref.expand_shape %b [[0, 1, 2], [3]] output_shape [%m, 3, %n, 5] : memref<?x5xf32, strided<[?, 1], offset: ?>> into memref<?x3x?x5xf32, strided<[?, ?, ?, 1], offset: ?>>
  return %v : memref<?x3x?x5xf32, strided<[?, ?, ?, 1], offset: ?>>
}
