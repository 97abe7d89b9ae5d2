// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-bool-storage,canonicalize)' | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK: func.func private @callee(tensor<?xi8> {mlopt.bool}) -> (tensor<?xi8> {mlopt.bool})
func.func private @callee(%a: tensor<?xi1>) -> tensor<?xi1>

// An element becomes i1 where it is read, and a byte where it is written.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%{{.*}}: tensor<?xi8> {mlopt.bool, mlopt.weight}, %{{.*}}: tensor<?xf32>, %[[S:.*]]: tensor<i8> {mlopt.bool})
// CHECK-SAME: -> (tensor<?xi8> {mlopt.bool}, tensor<2xi8> {mlopt.bool})
func.func @main(%a: tensor<?xi1> {mlopt.weight}, %x: tensor<?xf32>, %s: tensor<i1>) -> (tensor<?xi1>, tensor<2xi1>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %true = arith.constant true
  // CHECK-DAG: arith.constant dense<[1, 0]> : tensor<2xi8>
  // CHECK-DAG: arith.constant dense<1> : tensor<2xi8>
  %k = arith.constant dense<[true, false]> : tensor<2xi1>
  %splat = arith.constant dense<true> : tensor<2xi1>
  %d = tensor.dim %a, %c0 : tensor<?xi1>
  %e = tensor.empty(%d) : tensor<?xi1>
  // CHECK: linalg.fill ins(%c1_i8 : i8) outs(%{{.*}} : tensor<?xi8>)
  %f = linalg.fill ins(%true : i1) outs(%e : tensor<?xi1>) -> tensor<?xi1>
  // CHECK: %[[E:.*]] = tensor.extract %[[S]][] : tensor<i8>
  // CHECK: %[[BIT:.*]] = arith.cmpi ne, %[[E]], %c0_i8 : i8
  %flag = tensor.extract %s[] : tensor<i1>
  // CHECK: linalg.generic
  // CHECK: ^bb0(%[[IN:.*]]: i8, %[[Q:.*]]: f32, %{{.*}}: i8):
  // CHECK: %[[P:.*]] = arith.cmpi ne, %[[IN]], %c0_i8 : i8
  // CHECK: %[[G:.*]] = arith.cmpf ogt, %[[Q]]
  // CHECK: %[[AND:.*]] = arith.andi %[[G]], %[[P]] : i1
  // CHECK: %[[XOR:.*]] = arith.xori %[[AND]], %[[BIT]] : i1
  // CHECK: %[[BYTE:.*]] = arith.extui %[[XOR]] : i1 to i8
  // CHECK: linalg.yield %[[BYTE]] : i8
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %x : tensor<?xi1>, tensor<?xf32>) outs(%f : tensor<?xi1>) {
  ^bb0(%p: i1, %q: f32, %o: i1):
    %g = arith.cmpf ogt, %q, %zero : f32
    %h = arith.andi %g, %p : i1
    %n = arith.xori %h, %flag : i1
    linalg.yield %n : i1
  } -> tensor<?xi1>
  // CHECK: call @callee(%{{.*}}) : (tensor<?xi8>) -> tensor<?xi8>
  %r = func.call @callee(%m) : (tensor<?xi1>) -> tensor<?xi1>
  // CHECK: tensor.insert_slice %{{.*}} : tensor<2xi8> into tensor<?xi8>
  %l = tensor.insert_slice %k into %r[0] [2] [1] : tensor<2xi1> into tensor<?xi1>
  return %l, %splat : tensor<?xi1>, tensor<2xi1>
}

// A body that only moves an element moves the byte.
// CHECK-LABEL: func.func @move
// CHECK: ^bb0(%[[IN:.*]]: i8, %{{.*}}: i8):
// CHECK-NEXT: linalg.yield %[[IN]] : i8
func.func @move(%a: tensor<4x2xi1>, %o: tensor<2x4xi1>) -> tensor<2x4xi1> {
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x2xi1>) outs(%o : tensor<2x4xi1>) {
  ^bb0(%p: i1, %q: i1):
    linalg.yield %p : i1
  } -> tensor<2x4xi1>
  return %t : tensor<2x4xi1>
}
