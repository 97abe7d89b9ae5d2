// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-bare-pointers)' | FileCheck %s

// What reads the buffer itself reads a memref made of the pointer.
// CHECK: func.func private @kernel_0(%[[X:.*]]: !llvm.ptr, %{{.*}}: index, %[[S:.*]]: !llvm.ptr) attributes {mlopt.kernel}
// CHECK: %[[D:.*]] = llvm.insertvalue %[[X]], %{{.*}}[0]
// CHECK: %[[E:.*]] = llvm.insertvalue %[[X]], %[[D]][1]
// CHECK: %[[F:.*]] = llvm.insertvalue %{{.*}}, %[[E]][2]
// CHECK: %[[CELL:.*]] = builtin.unrealized_conversion_cast %[[F]] : !llvm.struct<(ptr, ptr, i64)> to memref<f32>
// CHECK: %[[M:.*]] = memref.reinterpret_cast %[[CELL]] to offset: [0], sizes: [4, 8], strides: [8, 1] : memref<f32> to memref<4x8xf32>
// CHECK: %[[V:.*]] = memref.load %{{.*}}[] : memref<f32>
// CHECK: memref.store %[[V]], %[[M]]
func.func private @kernel_0(%x: memref<4x8xf32>, %i: index, %s: memref<f32>) attributes {mlopt.kernel} {
  %v = memref.load %s[] : memref<f32>
  memref.store %v, %x[%i, %i] : memref<4x8xf32>
  return
}

// Views of the same address, and buffers in the workspace.
// CHECK: func.func @main(%[[A:.*]]: !llvm.ptr, %[[B:.*]]: !llvm.ptr, %[[WS:.*]]: memref<?xi8> {mlopt.workspace})
// CHECK-NEXT: %[[R:.*]] = builtin.unrealized_conversion_cast %[[WS]] : memref<?xi8> to !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
// CHECK-NEXT: %[[BASE:.*]] = llvm.extractvalue %[[R]][1]
// CHECK: %[[SHIFT:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK-NEXT: %[[T:.*]] = llvm.getelementptr %[[BASE]][%[[SHIFT]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT: call @kernel_0(%[[T]], %{{.*}}, %[[B]]) : (!llvm.ptr, index, !llvm.ptr) -> ()
// CHECK-NEXT: call @kernel_0(%[[A]], %{{.*}}, %[[B]])
// CHECK-NEXT: call @kernel_0(%[[T]], %{{.*}}, %[[B]])
// CHECK-NEXT: return
func.func @main(%a: memref<2x2x8xf32>, %b: memref<f32>, %ws: memref<?xi8> {mlopt.workspace}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %t = memref.view %ws[%c64][] : memref<?xi8> to memref<4x8xf32>
  call @kernel_0(%t, %c0, %b) : (memref<4x8xf32>, index, memref<f32>) -> ()
  %flat = memref.collapse_shape %a [[0, 1], [2]] : memref<2x2x8xf32> into memref<4x8xf32>
  call @kernel_0(%flat, %c0, %b) : (memref<4x8xf32>, index, memref<f32>) -> ()
  call @kernel_0(%t, %c0, %b) : (memref<4x8xf32>, index, memref<f32>) -> ()
  return
}
