// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-plain-loops)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-plain-loops,mlopt-gpu-distribute,canonicalize,cse)' --split-input-file | FileCheck %s --check-prefix=THREADS

// Each iteration is a task, 128 of them a block.
// CHECK-LABEL: func.func private @diagonal
// CHECK: scf.forall (%[[I:.*]]) in (500) {
// CHECK: memref.load %{{.*}}[%[[I]], %[[I]]]
// CHECK: memref.store
// CHECK: } {mlopt.schedule = {min_blocks = array<i64: 1>, tasks = array<i64: 128>, warps = array<i64: 4>}}
// THREADS: llvm.func @diagonal(%[[X:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[OUT:.*]]: !llvm.ptr {llvm.noalias})
// THREADS-DAG: %[[T:.*]] = nvvm.read.ptx.sreg.tid.x
// THREADS-DAG: %[[B:.*]] = nvvm.read.ptx.sreg.ctaid.x
// THREADS: %[[FIRST:.*]] = arith.muli %[[B]], %c128_i32
// THREADS: %[[TASK:.*]] = arith.addi %[[FIRST]], %[[T]]
// THREADS: %[[SOME:.*]] = arith.cmpi ult, %[[TASK]], %c500_i32
// THREADS: scf.if %[[SOME]] {
// THREADS: llvm.load
// THREADS: llvm.store
// THREADS: func.func private @diagonal
// THREADS: gpu.launch_func @kernels::@diagonal blocks in (%c4_i64, %c1_i64, %c1_i64) threads in (%c128_i64,
func.func private @diagonal(%x: memref<500x500xf32>, %out: memref<500xf32>) attributes {mlopt.kernel, mlopt.slow = "a diagonal is read"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 500 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %x[%i, %i] : memref<500x500xf32>
    memref.store %v, %out[%i] : memref<500xf32>
    scf.reduce
  }
  return
}

// -----

// A fill and the sum that starts from it: two kernels, in their order.
// CHECK-LABEL: func.func private @trace(
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK-NEXT: memref.store
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func private @trace_then_1(
// CHECK: scf.forall (%[[I:.*]]) in (%{{.*}}) {
// CHECK: scf.for %
// CHECK-LABEL: @main
// CHECK: call @trace(%[[X:.*]], %[[OUT:.*]])
// CHECK-NEXT: call @trace_then_1(%[[X]], %[[OUT]])
// THREADS: llvm.func @trace_then_1(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64
func.func private @trace(%x: memref<?x4x4xf32>, %out: memref<?xf32>) attributes {mlopt.kernel, mlopt.slow = "a diagonal is read"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %out[%c0] : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?x4x4xf32>
  scf.parallel (%b) = (%c0) to (%n) step (%c1) {
    scf.for %i = %c0 to %c4 step %c1 {
      %v = memref.load %x[%b, %i, %i] : memref<?x4x4xf32>
      %o = memref.load %out[%b] : memref<?xf32>
      %s = arith.addf %v, %o : f32
      memref.store %s, %out[%b] : memref<?xf32>
    }
    scf.reduce
  }
  return
}
func.func @main(%x: memref<?x4x4xf32>, %out: memref<?xf32>) {
  call @trace(%x, %out) : (memref<?x4x4xf32>, memref<?xf32>) -> ()
  return
}
