// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-copies,canonicalize)' | FileCheck %s

// CHECK-LABEL: func.func @rows
func.func @rows(%a: memref<4x40xf32>, %b: memref<4x40xf32, strided<[48, 1], offset: 50>>) {
  // CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
  // CHECK-DAG: %[[C32:.*]] = arith.constant 32 : index
  // CHECK-DAG: %[[C40:.*]] = arith.constant 40 : index
  // CHECK: scf.for %[[I:.*]] =
  // CHECK:   scf.for %[[J:.*]] = %c0 to %[[C32]] step %[[C16]]
  // CHECK:     %[[V:.*]] = vector.load %{{.*}}[%[[I]], %[[J]]] : memref<4x40xf32>, vector<16xf32>
  // CHECK:     vector.store %[[V]], %{{.*}}[%[[I]], %[[J]]]
  // CHECK:   scf.for %[[K:.*]] = %[[C32]] to %[[C40]] step %c1
  // CHECK:     memref.load %{{.*}}[%[[I]], %[[K]]]
  // CHECK:     memref.store
  // CHECK-NOT: memref.copy
  memref.copy %a, %b : memref<4x40xf32> to memref<4x40xf32, strided<[48, 1], offset: 50>>
  return
}

// One byte an element: 64 lanes.
// CHECK-LABEL: func.func @dynamic_rows
// CHECK: %[[D:.*]] = memref.dim
// CHECK: scf.for %
// CHECK: vector.load {{.*}}, vector<64xi8>
func.func @dynamic_rows(%a: memref<?xi8, strided<[1], offset: ?>>, %b: memref<?xi8>) {
  memref.copy %a, %b : memref<?xi8, strided<[1], offset: ?>> to memref<?xi8>
  return
}

// CHECK-LABEL: func.func @columns
// CHECK-NOT: vector
// CHECK: memref.load
// CHECK: memref.store
func.func @columns(%a: memref<8xf32, strided<[3]>>, %b: memref<8xf32>) {
  memref.copy %a, %b : memref<8xf32, strided<[3]>> to memref<8xf32>
  return
}

// CHECK-LABEL: func.func @scalar
// CHECK-NOT: scf.for
// CHECK: memref.load %{{.*}}[]
func.func @scalar(%a: memref<f32, strided<[], offset: 3>>, %b: memref<f32>) {
  memref.copy %a, %b : memref<f32, strided<[], offset: 3>> to memref<f32>
  return
}

// A buffer is not copied onto itself.
// CHECK-LABEL: func.func @itself
// CHECK-NOT: memref.copy
// CHECK: return
func.func @itself(%b: memref<?x8xf32>) {
  memref.copy %b, %b : memref<?x8xf32> to memref<?x8xf32>
  return
}
