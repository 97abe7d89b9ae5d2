// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-host-asserts)' | FileCheck %s

// CHECK-NOT: @assert_

// A check of sizes: the host knows them.
// CHECK-LABEL: func.func @sizes
// CHECK: cf.assert
func.func @sizes(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %a, %c0 : memref<?xf32>
  %n = memref.dim %b, %c0 : memref<?xf32>
  %same = arith.cmpi eq, %m, %n : index
  cf.assert %same, "RuntimeError: sizes"
  return
}

// An element whose place is known to the host alone.
// CHECK-LABEL: func.func @place
// CHECK: cf.assert
func.func @place(%a: memref<?xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xi1>
  %last = arith.subi %n, %c1 : index
  %v = memref.load %a[%last] : memref<?xi1>
  cf.assert %v, "RuntimeError: the last one"
  return
}

// Part of a buffer, which no kernel takes.
// CHECK-LABEL: func.func @part
// CHECK: cf.assert
func.func @part(%a: memref<6xi1, strided<[2], offset: 3>>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<6xi1, strided<[2], offset: 3>>
  cf.assert %v, "RuntimeError: a part"
  return
}

// In a loop, and in a kernel.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for %
// CHECK: cf.assert
func.func @loop(%a: memref<6xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  scf.for %i = %c0 to %c6 step %c1 {
    %v = memref.load %a[%c0] : memref<6xi1>
    cf.assert %v, "RuntimeError: in a loop"
  }
  return
}

// CHECK-LABEL: func.func private @kernel
// CHECK: cf.assert
func.func private @kernel(%a: memref<6xi1>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<6xi1>
  cf.assert %v, "RuntimeError: in a kernel"
  return
}

// Two elements between whose loads a kernel may write: at no place are both as they were loaded.
// CHECK-LABEL: func.func @between
// CHECK: memref.load
// CHECK: call @kernel
// CHECK: memref.load
// CHECK: cf.assert
func.func @between(%a: memref<6xi1>, %b: memref<6xi1>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<6xi1>
  call @kernel(%a) : (memref<6xi1>) -> ()
  %w = memref.load %b[%c0] : memref<6xi1>
  %both = arith.andi %v, %w : i1
  cf.assert %both, "RuntimeError: one and the other"
  return
}

// Loaded in another block, after which anything may have been written.
// CHECK-LABEL: func.func @blocks
// CHECK: cf.assert
func.func @blocks(%a: memref<6xi1>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %a[%c0] : memref<6xi1>
  cf.br ^next
^next:
  cf.assert %v, "RuntimeError: a block later"
  return
}
