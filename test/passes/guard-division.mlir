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

// Floor division by way of f64, as torch-mlir writes it, is that of the integers.
// CHECK-LABEL: func.func @by_way_of_floats
// CHECK: cf.assert
// CHECK: arith.floordivsi %arg0, %{{.*}} : i64
// CHECK: arith.floordivsi %arg0, %c3_i64 : i64
func.func @by_way_of_floats(%x: i64, %y: i64) -> (i64, i64) {
  %three = arith.constant 3.0 : f64
  %a = arith.sitofp %x : i64 to f64
  %b = arith.sitofp %y : i64 to f64
  %c = arith.divf %a, %b : f64
  %d = math.floor %c : f64
  %e = arith.fptosi %d : f64 to i64
  %f = arith.divf %a, %three : f64
  %g = math.floor %f : f64
  %h = arith.fptosi %g : f64 to i64
  return %e, %h : i64, i64
}
