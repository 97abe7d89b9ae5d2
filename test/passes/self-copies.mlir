// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-self-copies)' | FileCheck %s

// All of a buffer onto itself.
// CHECK-LABEL: @whole
// CHECK-NOT: memref.copy
// CHECK-NOT: memref.subview
func.func @whole(%out: memref<?x7xf32>, %n: index) {
  %all = memref.subview %out[0, 0] [%n, 7] [1, 1] : memref<?x7xf32> to memref<?x7xf32, strided<[7, 1]>>
  memref.copy %out, %all : memref<?x7xf32> to memref<?x7xf32, strided<[7, 1]>>
  return
}

// A loop whose steps write into one buffer, one after the other: it carries what else there is.
// CHECK-LABEL: @steps
// CHECK-SAME: %[[OUT:[a-z0-9]*]]: memref<4x?xf32>
// CHECK: %[[S:.*]] = scf.for %[[K:.*]] = %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32)
// CHECK:   memref.store %{{.*}}, %[[OUT]][%c0, %[[K]]]
// CHECK:   scf.yield %{{.*}} : f32
// CHECK-NOT: memref.copy
// CHECK: return %[[S]]
func.func @steps(%out: memref<4x?xf32>, %n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%b = %out, %acc = %x) -> (memref<4x?xf32>, f32) {
    memref.store %acc, %b[%c0, %k] : memref<4x?xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %b, %next : memref<4x?xf32>, f32
  }
  memref.copy %r#0, %out : memref<4x?xf32> to memref<4x?xf32>
  return %r#1 : f32
}

// Each step hands on another buffer.
// CHECK-LABEL: @exchanged
// CHECK: scf.for {{.*}} -> (memref<4xf32>, memref<4xf32>)
func.func @exchanged(%a: memref<4xf32>, %b: memref<4xf32>, %n: index) -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (memref<4xf32>, memref<4xf32>) {
    scf.yield %y, %x : memref<4xf32>, memref<4xf32>
  }
  return %r#0 : memref<4xf32>
}
