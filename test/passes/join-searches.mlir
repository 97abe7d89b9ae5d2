// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-join-searches)' --split-input-file | FileCheck %s

// A step of a binary search: two gathers, what is between them, and one that others read, too.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[T:.*]]: tensor<64xf32>, %[[I:.*]]: tensor<4x8xi64>, %[[K:.*]]: tensor<8xf32>
// CHECK-NOT: linalg.generic
// CHECK: %[[R:.*]]:2 = linalg.generic {indexing_maps = [#[[ID]], #[[ROW]], #[[ID]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[I]], %[[K]] : tensor<4x8xi64>, tensor<8xf32>)
// CHECK: ^bb0(%[[X:.*]]: i64, %[[KEY:.*]]: f32, %{{.*}}: i64, %{{.*}}: f32):
// CHECK: %[[P:.*]] = arith.index_cast %[[X]]
// CHECK: cf.assert
// CHECK: %[[A:.*]] = tensor.extract %[[T]][%[[P]]]
// CHECK: %[[LESS:.*]] = arith.cmpf ole, %[[A]], %[[KEY]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[X]], %{{.*}} : i64
// CHECK: %[[S:.*]] = arith.select %[[LESS]], %[[NEXT]], %[[X]]
// CHECK: %[[Q:.*]] = arith.index_cast %[[S]]
// CHECK: %[[B:.*]] = tensor.extract %[[T]][%[[Q]]]
// CHECK: linalg.yield %[[S]], %[[B]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @step(%t: tensor<64xf32>, %i: tensor<4x8xi64>, %k: tensor<8xf32>) -> (tensor<4x8xi64>, tensor<4x8xf32>) {
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : i64
  %f = tensor.empty() : tensor<4x8xf32>
  %n = tensor.empty() : tensor<4x8xi64>
  %b = tensor.empty() : tensor<4x8xi1>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<4x8xi64>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %p = arith.index_cast %in : i64 to index
    %inside = arith.cmpi slt, %p, %c64 : index
    cf.assert %inside, "index must be smaller than dim size"
    %e = tensor.extract %t[%p] : tensor<64xf32>
    linalg.yield %e : f32
  } -> tensor<4x8xf32>
  %less = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %k : tensor<4x8xf32>, tensor<8xf32>) outs(%b : tensor<4x8xi1>) {
  ^bb0(%in: f32, %key: f32, %out: i1):
    %l = arith.cmpf ole, %in, %key : f32
    linalg.yield %l : i1
  } -> tensor<4x8xi1>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%less, %i : tensor<4x8xi1>, tensor<4x8xi64>) outs(%n : tensor<4x8xi64>) {
  ^bb0(%l: i1, %in: i64, %out: i64):
    %next = arith.addi %in, %c32 : i64
    %chosen = arith.select %l, %next, %in : i64
    linalg.yield %chosen : i64
  } -> tensor<4x8xi64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x8xi64>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %p = arith.index_cast %in : i64 to index
    %e = tensor.extract %t[%p] : tensor<64xf32>
    linalg.yield %e : f32
  } -> tensor<4x8xf32>
  return %s, %r : tensor<4x8xi64>, tensor<4x8xf32>
}
