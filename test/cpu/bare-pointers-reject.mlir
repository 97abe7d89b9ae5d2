// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-bare-pointers)' | FileCheck %s

// Unknown sizes, strides and other memories stay memrefs.
// CHECK: func.func private @kernel_0(%{{.*}}: memref<?x8xf32>, %{{.*}}: memref<4x8xf32, strided<[16, 1]>>, %{{.*}}: memref<8xf32, 3>)
func.func private @kernel_0(%x: memref<?x8xf32>, %y: memref<4x8xf32, strided<[16, 1]>>, %z: memref<8xf32, 3>) attributes {mlopt.kernel} {
  return
}

// CHECK: func.func private @kernel_1(%{{.*}}: !llvm.ptr)
func.func private @kernel_1(%x: memref<4x8xf32>) attributes {mlopt.kernel} {
  return
}

// The address of a buffer that has no place in a workspace is taken where it is made.
// CHECK: func.func @main
// CHECK: call @kernel_0(%{{.*}}) : (memref<?x8xf32>, memref<4x8xf32, strided<[16, 1]>>, memref<8xf32, 3>) -> ()
// CHECK: %[[T:.*]] = memref.alloc() : memref<4x8xf32>
// CHECK-NEXT: %[[D:.*]] = builtin.unrealized_conversion_cast %[[T]]
// CHECK-NEXT: %[[P:.*]] = llvm.extractvalue %[[D]][1]
// CHECK-NEXT: call @kernel_1(%[[P]]) : (!llvm.ptr) -> ()
func.func @main(%x: memref<?x8xf32>, %y: memref<4x8xf32, strided<[16, 1]>>, %z: memref<8xf32, 3>) {
  call @kernel_0(%x, %y, %z) : (memref<?x8xf32>, memref<4x8xf32, strided<[16, 1]>>, memref<8xf32, 3>) -> ()
  %t = memref.alloc() : memref<4x8xf32>
  call @kernel_1(%t) : (memref<4x8xf32>) -> ()
  return
}
