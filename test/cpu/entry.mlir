// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-entry)' | FileCheck %s

// A kernel with tasks and an assert gets the threads and the status cell; its caller passes them on.
// CHECK: func.func private @kernel(%{{.*}}: memref<?x4xf32>, %{{.*}}: index {mlopt.threads}, %{{.*}}: memref<i32> {mlopt.status})
// CHECK-SAME: llvm.linkage = #llvm.linkage<internal>, mlopt.kernel, passthrough = ["noinline"]
func.func private @kernel(%x: memref<?x4xf32>) attributes {mlopt.kernel} {
  %true = arith.constant true
  scf.forall (%i) in (4) {
    cf.assert %true, "IndexError: index out of range"
  }
  return
}

// The caller reads its own arguments from the array, where it needs them; what it does not need, never.
// CHECK: func.func private @main(%{{.*}}: memref<?xi8> {mlopt.workspace},
// CHECK-SAME: %[[T:[a-z0-9]+]]: index {mlopt.threads}, %[[S:[a-z0-9]+]]: memref<i32> {mlopt.status}, %[[ARGS:[a-z0-9]+]]: !llvm.ptr)
// CHECK-NOT: llvm.getelementptr %[[ARGS]][2]
// CHECK: call @other_kernel(
// CHECK: llvm.getelementptr %[[ARGS]][0]
// CHECK: llvm.getelementptr %[[ARGS]][5]
// CHECK: %[[X:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%{{.*}}, 4], strides: [4, 1] : memref<f32> to memref<?x4xf32>
// CHECK-NOT: llvm.getelementptr
// CHECK: call @kernel(%[[X]], %[[T]], %[[S]])
// CHECK: llvm.getelementptr %[[ARGS]][1]
// CHECK: %[[SCALE:.*]] = memref.load %{{.*}}[] : memref<f32>
// CHECK: llvm.getelementptr %[[ARGS]][2]
// CHECK: %[[OUT:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [2, 3], strides: [3, 1]
// CHECK: scf.for %
// CHECK: memref.store %[[SCALE]], %[[OUT]]
func.func @main(%x: memref<?x4xf32>, %scale: f32, %out: memref<2x3xf32>, %ws: memref<?xi8> {mlopt.workspace}) attributes {mlopt.workspace = 640 : i64} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  call @other_kernel() : () -> ()
  call @kernel(%x) : (memref<?x4xf32>) -> ()
  scf.for %i = %zero to %one step %one {
    memref.store %scale, %out[%i, %i] : memref<2x3xf32>
  }
  return
}
func.func private @other_kernel()

// Three given arguments, so: workspace 3, threads 4, the dynamic size 5.
// CHECK: func.func @mlopt_main(%[[ARGS:.*]]: !llvm.ptr) -> i32 attributes {mlopt.workspace = 640 : i64}
// CHECK: memref.store %{{.*}}, %[[CELL:.*]][] : memref<i32>
// CHECK: llvm.getelementptr %[[ARGS]][3]
// CHECK: %[[WS:.*]] = memref.reinterpret_cast {{.*}} : memref<i8> to memref<?xi8>
// CHECK: llvm.getelementptr %[[ARGS]][4]
// CHECK: %[[THREADS:.*]] = arith.index_cast
// CHECK: call @main(%[[WS]], %[[THREADS]], %[[CELL]], %[[ARGS]])
// CHECK: %[[CODE:.*]] = memref.load %[[CELL]][] : memref<i32>
// CHECK: return %[[CODE]] : i32

// A function that computes the bytes of a workspace gets an entry point, too.
func.func @prepare(%x: memref<?xf32>) {
  return
}
func.func private @prepare_workspace(%x: memref<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %d = memref.dim %x, %c0 : memref<?xf32>
  return %d : index
}
// CHECK: func.func @mlopt_prepare(%{{.*}}: !llvm.ptr) -> i32
// CHECK: func.func @mlopt_prepare_workspace(%{{.*}}: !llvm.ptr) -> i64
// CHECK: call @prepare_workspace

// A function with a hook has an entry point that takes it; the plain one passes none.
func.func @other(%x: memref<4xf32>, %hook: !llvm.ptr {mlopt.hook}) {
  return
}
// CHECK: func.func @mlopt_other_hooked(%{{.*}}: !llvm.ptr, %[[HOOK:.*]]: !llvm.ptr) -> i32
// CHECK: call @other(%[[HOOK]], %{{.*}})
// CHECK: func.func @mlopt_other(%[[ARRAY:.*]]: !llvm.ptr) -> i32
// CHECK-NEXT: %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT: %[[STATUS:.*]] = call @mlopt_other_hooked(%[[ARRAY]], %[[NONE]])
// CHECK-NEXT: return %[[STATUS]]
