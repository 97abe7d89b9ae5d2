// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-host-asserts)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-host-asserts,mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=CODE

// Two checks, the second of two elements; a constant that both need is in each.
// CHECK: func.func private @assert_1(%[[A:.*]]: memref<i8>, %[[B:.*]]: memref<6xi64>) attributes {{{.*}}mlopt.kernel, mlopt.ops = ["assert"]}
// CHECK: scf.forall (%{{.*}}) in (1) {
// CHECK-DAG: memref.load %[[A]][]
// CHECK-DAG: memref.load %[[B]][%{{.*}}]
// CHECK: cf.assert %{{.*}}, "RuntimeError: one and the other"
// CHECK: func.func private @assert_0(%[[A:.*]]: memref<i8>)
// CHECK-DAG: %[[C:.*]] = arith.constant 0 : i8
// CHECK-DAG: %[[V:.*]] = memref.load %[[A]][]
// CHECK: %[[HOLDS:.*]] = arith.cmpi ne, %[[V]], %[[C]] : i8
// CHECK: cf.assert %[[HOLDS]], "RuntimeError: some"
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @assert_0(%arg0) : (memref<i8>) -> ()
// CHECK-NEXT: call @assert_1(%arg0, %arg1) : (memref<i8>, memref<6xi64>) -> ()
// CHECK-NEXT: return
// CODE: llvm.func @assert_0(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[STATUS:.*]]: !llvm.ptr {mlopt.status})
// CODE: llvm.cmpxchg %[[STATUS]]
func.func @main(%a: memref<i8>, %b: memref<6xi64>) {
  %c0 = arith.constant 0 : i8
  %c2 = arith.constant 2 : index
  %v = memref.load %a[] : memref<i8>
  %some = arith.cmpi ne, %v, %c0 : i8
  cf.assert %some, "RuntimeError: some"
  %w = memref.load %b[%c2] : memref<6xi64>
  %x = arith.extsi %v : i8 to i64
  %other = arith.cmpi slt, %w, %x : i64
  %both = arith.andi %some, %other : i1
  cf.assert %both, "RuntimeError: one and the other"
  return
}

// What is loaded before a kernel writes to it is checked before that; the name @assert_2 is the program's own.
// CHECK-LABEL: func.func @overwritten
// CHECK-NEXT: call @assert_2_0(%arg0) : (memref<i8>) -> ()
// CHECK-NEXT: call @assert_2(%arg0) : (memref<i8>) -> ()
// CHECK-NEXT: return
func.func private @assert_2(%b: memref<i8>) attributes {mlopt.kernel} {
  %c1 = arith.constant 1 : i8
  scf.forall (%i) in (1) {
    memref.store %c1, %b[] : memref<i8>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tasks = array<i64: 128>, warps = array<i64: 4>}}
  return
}
func.func @overwritten(%b: memref<i8>) {
  %c0 = arith.constant 0 : i8
  %v = memref.load %b[] : memref<i8>
  call @assert_2(%b) : (memref<i8>) -> ()
  %holds = arith.cmpi ne, %v, %c0 : i8
  cf.assert %holds, "RuntimeError: before it is written"
  return
}
