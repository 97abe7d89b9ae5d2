// RUN: mlopt-opt %s --pass-pipeline='builtin.module(convert-scf-to-cf,mlopt-cpu-status)' | FileCheck %s

// Equal messages share a number.
// CHECK: module attributes {mlopt.asserts = ["IndexError: a", "RuntimeError: b"]}

// CHECK-LABEL: func.func private @kernel
// CHECK-SAME: %[[S:[a-z0-9]+]]: memref<i32> {mlopt.status}
// CHECK: memref.load
// CHECK: cf.cond_br %{{.*}}, ^[[NEXT:.*]], ^[[FAIL1:.*]]
// CHECK: ^[[NEXT]]:
// CHECK: cf.cond_br %{{.*}}, ^{{.*}}, ^[[FAIL2:.*]]
// CHECK: cf.cond_br %{{.*}}, ^{{.*}}, ^[[FAIL1]]
// CHECK: ^[[FAIL1]]:
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: memref.store %[[ONE]], %[[S]][]
// CHECK-NEXT: return
// CHECK: ^[[FAIL2]]:
// CHECK: arith.constant 2 : i32
// CHECK-NOT: cf.assert
func.func private @kernel(%x: memref<4xi64>, %status: memref<i32> {mlopt.status}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i64
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xi64>
    %a = arith.cmpi sge, %v, %zero : i64
    cf.assert %a, "IndexError: a"
    %b = arith.cmpi ne, %v, %zero : i64
    cf.assert %b, "RuntimeError: b"
    cf.assert %b, "IndexError: a"
    memref.store %zero, %x[%i] : memref<4xi64>
  }
  return
}

// CHECK-LABEL: func.func @main
// CHECK: call @kernel
// CHECK: %[[CODE:.*]] = memref.load
// CHECK: %[[FINE:.*]] = arith.cmpi eq, %[[CODE]]
// CHECK: cf.cond_br %[[FINE]], ^[[GO:.*]], ^[[LEAVE:.*]]
// CHECK: ^[[GO]]:
// CHECK: memref.copy
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: return
func.func @main(%x: memref<4xi64>, %y: memref<4xi64>, %status: memref<i32> {mlopt.status}) {
  call @kernel(%x, %status) : (memref<4xi64>, memref<i32>) -> ()
  memref.copy %x, %y : memref<4xi64> to memref<4xi64>
  return
}
