// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-launch)' | FileCheck %s

// Each launch is listed, -1 for what is not constant; kernels stand in the order of their first launch.
// CHECK: module attributes
// CHECK-SAME: mlopt.device_kernels = ["second", "first"]
// CHECK-SAME: mlopt.launches = [
// CHECK-SAME: {grid = array<i64: -1, 1, 1>, kernel = "second", shared = array<i64: 64>, threads = array<i64: 128, 1, 1>}
// CHECK-SAME: {grid = array<i64: 1, 1, 1>, kernel = "first", shared = array<i64: 0>, threads = array<i64: 1, 1, 1>}
module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @first() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
  llvm.func @second(%x: !llvm.ptr, %n: i64, %f: f32) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// CHECK: func.func @main(%[[N:.*]]: index, %[[P:.*]]: !llvm.ptr, %[[F:.*]]: f32, %[[STREAM:.*]]: !llvm.ptr
// What is on the stack is allocated on entry, not in the branch.
// CHECK-DAG: %[[CELLS:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr, i64, f32)>
// CHECK-DAG: %[[PARAMS:.*]] = llvm.alloca %{{.*}} x !llvm.array<3 x ptr>
// CHECK: scf.if
func.func @main(%n: index, %p: !llvm.ptr, %f: f32, %stream: !llvm.ptr {mlopt.stream}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %threads = arith.constant 128 : index
  %shared = arith.constant 64 : i32
  %some = arith.cmpi ne, %n, %zero : index
  scf.if %some {
    // CHECK: %[[C0:.*]] = llvm.getelementptr %[[CELLS]][0, 0]
    // CHECK: llvm.store %[[P]], %[[C0]]
    // CHECK: %[[P0:.*]] = llvm.getelementptr %[[PARAMS]][0]
    // CHECK: llvm.store %[[C0]], %[[P0]]
    // CHECK: %[[C1:.*]] = llvm.getelementptr %[[CELLS]][0, 1]
    // CHECK: %[[SIZE:.*]] = arith.index_cast %[[N]] : index to i64
    // CHECK: llvm.store %[[SIZE]], %[[C1]]
    // CHECK: %[[C2:.*]] = llvm.getelementptr %[[CELLS]][0, 2]
    // CHECK: llvm.store %[[F]], %[[C2]]
    // CHECK: %[[STATE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
    // CHECK: %[[GX:.*]] = arith.index_cast %[[N]] : index to i64
    // CHECK: %[[AT:.*]] = llvm.getelementptr %[[STATE]][9]
    // CHECK: %[[FUNCTION:.*]] = llvm.load %[[AT]]
    // CHECK: %[[AT:.*]] = llvm.getelementptr %[[STATE]][3]
    // CHECK: %[[LAUNCH:.*]] = llvm.load %[[AT]]
    // CHECK: %[[COUNT:.*]] = llvm.mlir.constant(3 : i64)
    // CHECK: llvm.call %[[LAUNCH]](%[[FUNCTION]], %[[GX]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[STREAM]], %[[PARAMS]], %{{.*}}, %[[COUNT]])
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@second blocks in (%n, %one, %one) threads in (%threads, %one, %one) dynamic_shared_memory_size %shared args(%p : !llvm.ptr, %n : index, %f : f32)
  }
  // CHECK: llvm.getelementptr %{{.*}}[10]
  // CHECK: llvm.call
  gpu.launch_func <%stream : !llvm.ptr> @kernels::@first blocks in (%one, %one, %one) threads in (%one, %one, %one)
  return
}

// CHECK-DAG: llvm.mlir.global private constant @mlopt_name_0("second\00")
// CHECK-DAG: llvm.mlir.global private constant @mlopt_name_1("first\00")
// CHECK: llvm.func @mlopt_load(%[[S:.*]]: !llvm.ptr) -> i32
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, i32, i64) -> !llvm.ptr
// CHECK: %[[MODULE:.*]] = llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, i64) -> !llvm.ptr
// CHECK: llvm.getelementptr %[[S]][8]
// CHECK: llvm.mlir.addressof @mlopt_name_0
// CHECK: %[[F0:.*]] = llvm.call
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[S]][9]
// CHECK: llvm.store %[[F0]], %[[AT]]
// CHECK: llvm.mlir.addressof @mlopt_name_1
// CHECK: llvm.getelementptr %[[S]][10]
}
