// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-parallel)' | FileCheck %s

// The tasks in a function of their own, with scratch of its own; constants are made again there.
// CHECK-LABEL: func.func private @large_tasks
// CHECK-SAME: (%[[LOW:.*]]: index, %[[HIGH:.*]]: index, %[[X:.*]]: memref<64x128xf32>, %[[STATUS:.*]]: memref<i32> {mlopt.status})
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: memref.alloca() : memref<16xf32>
// CHECK: %[[FIRST:.*]] = arith.divui %[[LOW]], %[[ROW:.*]] : index
// CHECK: %[[LAST:.*]] = arith.ceildivui %[[HIGH]], %[[ROW]] : index
// CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %[[LAST]] step
// CHECK:   %[[START:.*]] = arith.muli %[[I]], %c2
// CHECK:   %[[LEFT:.*]] = arith.subi %[[LOW]], %[[START]]
// CHECK:   %[[FROM:.*]] = arith.maxsi %[[LEFT]], %c0
// CHECK:   %[[REST:.*]] = arith.subi %[[HIGH]], %[[START]]
// CHECK:   %[[TO:.*]] = arith.minsi %[[REST]], %c2
// CHECK:   scf.for %[[J:.*]] = %[[FROM]] to %[[TO]] step
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK:     arith.muli %[[J]], %{{.*}} : index
// CHECK:     cf.assert
// CHECK:   memref.store %{{.*}}, %[[X]]
// CHECK-LABEL: func.func private @large(
// CHECK-NOT: scf.forall
// CHECK: arith.minui
// CHECK: %[[COUNT:.*]] = arith.minui
// CHECK: %[[MANY:.*]] = arith.cmpi ugt, %[[COUNT]]
// CHECK: scf.if %[[MANY]]
// CHECK:   %[[F:.*]] = func.constant @large_thread
// CHECK:   call @GOMP_parallel
// CHECK: } else {
// CHECK:   call @large_tasks(%c0{{.*}}, %c16
func.func private @large(%x: memref<64x128xf32>, %threads: index {mlopt.threads}, %status: memref<i32> {mlopt.status})
    attributes {mlopt.bytes = 10000000 : i64} {
  %true = arith.constant true
  %cst = arith.constant 1.0 : f32
  scf.forall (%i, %j) = (0, 0) to (64, 128) step (8, 64) {
    %scratch = memref.alloca() : memref<16xf32>
    cf.assert %true, "IndexError: a"
    memref.store %cst, %scratch[%i] : memref<16xf32>
    memref.store %cst, %x[%i, %j] : memref<64x128xf32>
  }
  return
}
// Too little work for threads: plain loops, and none for a dim of one iteration.
// CHECK-LABEL: func.func private @small
// CHECK: scf.for %[[I:.*]] =
// CHECK-NOT: scf.for
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]], %c0
// CHECK-NOT: GOMP_parallel
// CHECK: return
func.func private @small(%x: memref<64x128xf32>, %threads: index {mlopt.threads}) attributes {mlopt.bytes = 100 : i64} {
  %cst = arith.constant 1.0 : f32
  scf.forall (%i, %j) = (0, 0) to (64, 128) step (8, 128) {
    memref.store %cst, %x[%i, %j] : memref<64x128xf32>
  }
  return
}

// The work of dynamic sizes is known at run time.
// CHECK-LABEL: func.func private @dynamic(
// CHECK: %[[D:.*]] = memref.dim
// CHECK: %[[WORK:.*]] = arith.muli %c5, %[[D]] : index
// CHECK: arith.divui %[[WORK]]
// CHECK: call @GOMP_parallel
func.func private @dynamic(%x: memref<?xf32>, %threads: index {mlopt.threads}) attributes {mlopt.bytes = 100 : i64} {
  %c0 = arith.constant 0 : index
  %cst = arith.constant 1.0 : f32
  %d = memref.dim %x, %c0 : memref<?xf32>
  scf.forall (%i) = (0) to (%d) step (16) {
    memref.store %cst, %x[%i] : memref<?xf32>
  }
  return
}

// Few tasks, each along a row of unknown length: there may be work for threads, as long as the rows are.
// CHECK-LABEL: func.func private @rows(
// CHECK-SAME: %[[X:.*]]: memref<8x?xf32>
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: %[[WORK:.*]] = arith.muli %{{.*}}, %[[N]]
// CHECK: arith.divui %[[WORK]]
// CHECK: scf.if
// CHECK:   call @GOMP_parallel
func.func private @rows(%x: memref<8x?xf32>, %n: index, %threads: index {mlopt.threads}) attributes {mlopt.bytes = 100 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 1.0 : f32
  scf.forall (%i) in (8) {
    scf.for %k = %c0 to %n step %c1 {
      memref.store %cst, %x[%i, %k] : memref<8x?xf32>
    }
  }
  return
}
// From the last task to the first, three at a time, which go forward; the last ones may be fewer.
// CHECK-LABEL: func.func private @back_tasks
// CHECK-SAME: (%[[LOW:.*]]: index, %[[HIGH:.*]]: index
// CHECK: %[[COUNT:.*]] = arith.subi %[[HIGH]], %[[LOW]]
// CHECK: %[[PARTS:.*]] = arith.ceildivui %[[COUNT]], %c3
// CHECK: scf.for %[[PART:.*]] = %c0{{.*}} to %[[PARTS]]
// CHECK:   %[[DONE:.*]] = arith.muli %[[PART]], %c3
// CHECK:   %[[END:.*]] = arith.subi %[[HIGH]], %[[DONE]]
// CHECK:   %[[START:.*]] = arith.subi %[[END]], %c3
// CHECK:   %[[FIRST:.*]] = arith.maxsi %[[LOW]], %[[START]]
// CHECK:   scf.for %{{.*}} = %[[FIRST]] to %[[END]]
// CHECK:     memref.store
func.func private @back(%x: memref<64xf32>, %threads: index {mlopt.threads}) attributes {mlopt.bytes = 10000000 : i64} {
  %cst = arith.constant 1.0 : f32
  scf.forall (%i) = (0) to (64) step (8) {
    memref.store %cst, %x[%i] : memref<64xf32>
  } {mlopt.backward = 3 : i64}
  return
}
// CHECK: func.func private @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)
// The part of a thread: [total * id / n, total * (id + 1) / n).
// CHECK-LABEL: func.func private @large_thread(%{{.*}}: !llvm.ptr)
// CHECK: call @omp_get_thread_num
// CHECK: call @omp_get_num_threads
// CHECK: arith.divui
// CHECK: arith.divui
// CHECK: call @large_tasks
