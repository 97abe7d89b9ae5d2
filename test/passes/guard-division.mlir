// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-guard-division)' | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @signed
func.func @signed(%a: tensor<4xi32>, %b: tensor<4xi32>, %o: tensor<4xi32>) -> tensor<4xi32> {
  // CHECK: ^bb0(%[[X:.*]]: i32, %[[Y:.*]]: i32, %{{.*}}: i32):
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK: %[[ISZERO:.*]] = arith.cmpi eq, %[[Y]], %[[ZERO]] : i32
  // CHECK: %[[OK:.*]] = arith.cmpi ne, %[[Y]], %[[ZERO]] : i32
  // CHECK: cf.assert %[[OK]], "RuntimeError: ZeroDivisionError"
  // CHECK: %[[MINUS:.*]] = arith.constant -1 : i32
  // CHECK: %[[ISMINUS:.*]] = arith.cmpi eq, %[[Y]], %[[MINUS]] : i32
  // CHECK: %[[BAD:.*]] = arith.ori %[[ISZERO]], %[[ISMINUS]] : i1
  // CHECK: %[[SAFE:.*]] = arith.select %[[BAD]], %[[ONE]], %[[Y]] : i32
  // CHECK: %[[Q:.*]] = arith.floordivsi %[[X]], %[[SAFE]] : i32
  // CHECK: %[[NEG:.*]] = arith.subi %{{.*}}, %[[X]] : i32
  // CHECK: %[[R:.*]] = arith.select %[[ISMINUS]], %[[NEG]], %[[Q]] : i32
  // CHECK: linalg.yield %[[R]] : i32
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<4xi32>, tensor<4xi32>) outs(%o : tensor<4xi32>) {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %q = arith.floordivsi %x, %y : i32
    linalg.yield %q : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// A remainder by 1 is right where the divisor is -1, too.
// CHECK-LABEL: func.func @remainder
// CHECK: cf.assert
// CHECK: %[[R:.*]] = arith.remsi
// CHECK-NEXT: return %[[R]]
func.func @remainder(%x: i64, %y: i64) -> i64 {
  %r = arith.remsi %x, %y : i64
  return %r : i64
}

// CHECK-LABEL: func.func @unsigned
// CHECK: cf.assert
// CHECK-NOT: arith.constant -1
// CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i8
// CHECK-NEXT: arith.divui %{{.*}}, %[[SAFE]] : i8
func.func @unsigned(%x: i8, %y: i8) -> i8 {
  %r = arith.divui %x, %y : i8
  return %r : i8
}

// Indices are numbers of 64 bits.
// CHECK-LABEL: func.func @index
// CHECK: cf.assert
// CHECK: %[[MINUS:.*]] = arith.constant -1 : index
// CHECK: arith.cmpi eq, %{{.*}}, %[[MINUS]] : index
// CHECK: arith.ceildivsi
// CHECK: arith.select
// CHECK: cf.assert
// CHECK: %[[SAFE:.*]] = arith.select
// CHECK-NEXT: arith.ceildivui %{{.*}}, %[[SAFE]] : index
func.func @index(%x: index, %y: index) -> (index, index) {
  %r = arith.ceildivsi %x, %y : index
  %s = arith.ceildivui %x, %y : index
  return %r, %s : index, index
}
