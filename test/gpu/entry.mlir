// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-entry)' | FileCheck %s

module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @plain(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
  llvm.func @checked(%x: !llvm.ptr, %status: !llvm.ptr {mlopt.status}) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// A launch gets the stream of its function.
// CHECK: func.func private @plain(%{{.*}}: memref<?x4xf32>, %[[S:[a-z0-9]+]]: !llvm.ptr {mlopt.stream})
// CHECK-SAME: llvm.linkage = #llvm.linkage<internal>, mlopt.kernel
// CHECK: gpu.launch_func <%[[S]] : !llvm.ptr> @kernels::@plain blocks in (%[[C1:.*]], %[[C1]], %[[C1]]) threads in (%[[C128:.*]], %[[C1]], %[[C1]]) : i64 args(%[[P:.*]] : !llvm.ptr)
func.func private @plain(%x: memref<?x4xf32>) attributes {mlopt.kernel} {
  %one = arith.constant 1 : i64
  %threads = arith.constant 128 : i64
  %address = memref.extract_aligned_pointer_as_index %x : memref<?x4xf32> -> index
  %number = arith.index_cast %address : index to i64
  %p = llvm.inttoptr %number : i64 to !llvm.ptr
  gpu.launch_func @kernels::@plain blocks in (%one, %one, %one) threads in (%threads, %one, %one) : i64 args(%p : !llvm.ptr)
  return
}

// A kernel that can fail gets the address of the device's status cell, too.
// CHECK: func.func private @checked(%{{.*}}: memref<2xf32>, %[[S:[a-z0-9]+]]: !llvm.ptr {mlopt.stream}, %[[D:[a-z0-9]+]]: !llvm.ptr {mlopt.device_status})
// CHECK: gpu.launch_func <%[[S]] : !llvm.ptr> @kernels::@checked {{.*}} : i64 dynamic_shared_memory_size %{{.*}} args(%{{.*}} : !llvm.ptr, %[[D]] : !llvm.ptr)
func.func private @checked(%x: memref<2xf32>) attributes {mlopt.kernel} {
  %one = arith.constant 1 : i64
  %shared = arith.constant 64 : i32
  %p = llvm.mlir.zero : !llvm.ptr
  gpu.launch_func @kernels::@checked blocks in (%one, %one, %one) threads in (%one, %one, %one) : i64 dynamic_shared_memory_size %shared args(%p : !llvm.ptr)
  return
}

// CHECK: func.func private @main(
// CHECK-SAME: %[[S:[a-z0-9]+]]: !llvm.ptr {mlopt.stream}, %[[D:[a-z0-9]+]]: !llvm.ptr {mlopt.device_status}, %[[H:[a-z0-9]+]]: memref<i32> {mlopt.status}, %[[ARGS:[a-z0-9]+]]: !llvm.ptr)
// CHECK: llvm.getelementptr %[[ARGS]][0]
// CHECK: llvm.getelementptr %[[ARGS]][5]
// CHECK: call @plain(%{{.*}}, %[[S]])
// CHECK: llvm.getelementptr %[[ARGS]][1]
// CHECK: call @checked(%{{.*}}, %[[S]], %[[D]])
// CHECK: func.func private @prepare(%[[S:[a-z0-9]+]]: !llvm.ptr {mlopt.stream}, %[[ARGS:[a-z0-9]+]]: !llvm.ptr)
// CHECK: llvm.getelementptr %[[ARGS]][0]
// CHECK: llvm.getelementptr %[[ARGS]][3]
// CHECK: call @plain(%{{.*}}, %[[S]])
func.func @main(%x: memref<?x4xf32>, %y: memref<2xf32>, %ws: memref<?xi8> {mlopt.workspace}) attributes {mlopt.workspace = 640 : i64} {
  %true = arith.constant true
  cf.assert %true, "RuntimeError: sizes differ"
  call @plain(%x) : (memref<?x4xf32>) -> ()
  call @checked(%y) : (memref<2xf32>) -> ()
  return
}

// Two given arguments, so: workspace 2, stream 3, device status 4, the dynamic size 5.
// CHECK: func.func @mlopt_main(%[[ARGS:.*]]: !llvm.ptr) -> i32 attributes {mlopt.workspace = 640 : i64}
// CHECK: %[[CELL:.*]] = memref.alloca() : memref<i32>
// CHECK: llvm.getelementptr %[[ARGS]][2]
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[ARGS]][3]
// CHECK: %[[STREAM:.*]] = llvm.load %[[AT]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[ARGS]][4]
// CHECK: %[[STATUS:.*]] = llvm.load %[[AT]] : !llvm.ptr -> !llvm.ptr
// CHECK: call @main(%{{.*}}, %[[STREAM]], %[[STATUS]], %[[CELL]], %[[ARGS]])
// CHECK: return

// Without a kernel that can fail, sizes follow the stream.
func.func @prepare(%x: memref<?x4xf32>) {
  call @plain(%x) : (memref<?x4xf32>) -> ()
  return
}
// CHECK: func.func @mlopt_prepare(%[[ARGS:.*]]: !llvm.ptr) -> i32
// CHECK: llvm.getelementptr %[[ARGS]][2]
// CHECK: call @prepare

// The function that computes the workspace takes the same array: the size is entry 4, after the status cell.
func.func private @grow_workspace(%x: memref<?xf32>) -> index {
  %zero = arith.constant 0 : index
  %size = memref.dim %x, %zero : memref<?xf32>
  return %size : index
}
func.func @grow(%x: memref<?xf32>, %ws: memref<?xi8> {mlopt.workspace}) {
  %zero = arith.constant 0 : index
  %y = memref.view %ws[%zero][] : memref<?xi8> to memref<2xf32>
  call @checked(%y) : (memref<2xf32>) -> ()
  return
}
// CHECK: func.func @mlopt_grow_workspace(%[[ARGS:.*]]: !llvm.ptr) -> i64
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[ARGS]][4]
// CHECK: %[[SIZE:.*]] = llvm.load %[[AT]] : !llvm.ptr -> i64
// CHECK: %[[EXTENT:.*]] = arith.index_cast %[[SIZE]]
// CHECK: memref.reinterpret_cast %{{.*}} sizes: [%[[EXTENT]]]
// CHECK: call @grow_workspace
}
