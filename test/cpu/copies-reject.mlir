// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-copies)' | FileCheck %s

// What memcpy does best stays.
// CHECK-LABEL: func.func @stays
// CHECK: memref.copy %arg0, %arg1
func.func @stays(%a: memref<?x8xf32>, %b: memref<?x8xf32>) {
  memref.copy %a, %b : memref<?x8xf32> to memref<?x8xf32>
  return
}

// Without ranks only the lowering can tell.
// CHECK-LABEL: func.func @unranked
// CHECK: memref.copy
func.func @unranked(%a: memref<*xf32>, %b: memref<*xf32>) {
  memref.copy %a, %b : memref<*xf32> to memref<*xf32>
  return
}
