// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-join-searches)' --split-input-file | FileCheck %s

// What the first gather gives is reduced: the second one's position is no element of its own.
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @reduced
// CHECK-COUNT-3: = linalg.generic
func.func @reduced(%t: tensor<64xi64>, %i: tensor<4x8xi64>) -> tensor<4xi64> {
  %n = tensor.empty() : tensor<4x8xi64>
  %zero = arith.constant dense<0> : tensor<4xi64>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<4x8xi64>) outs(%n : tensor<4x8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %p = arith.index_cast %in : i64 to index
    %e = tensor.extract %t[%p] : tensor<64xi64>
    linalg.yield %e : i64
  } -> tensor<4x8xi64>
  %s = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<4x8xi64>) outs(%zero : tensor<4xi64>) {
  ^bb0(%in: i64, %out: i64):
    %sum = arith.addi %in, %out : i64
    linalg.yield %sum : i64
  } -> tensor<4xi64>
  %r = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%s : tensor<4xi64>) outs(%zero : tensor<4xi64>) {
  ^bb0(%in: i64, %out: i64):
    %p = arith.index_cast %in : i64 to index
    %e = tensor.extract %t[%p] : tensor<64xi64>
    linalg.yield %e : i64
  } -> tensor<4xi64>
  return %r : tensor<4xi64>
}

// -----

// The second gather reads the first one's result as its table, too: all of it must be there before.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @table
// CHECK-COUNT-2: = linalg.generic
func.func @table(%t: tensor<8xi64>, %i: tensor<8xi64>) -> tensor<8xi64> {
  %n = tensor.empty() : tensor<8xi64>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%i : tensor<8xi64>) outs(%n : tensor<8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %p = arith.index_cast %in : i64 to index
    %e = tensor.extract %t[%p] : tensor<8xi64>
    linalg.yield %e : i64
  } -> tensor<8xi64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<8xi64>) outs(%n : tensor<8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %p = arith.index_cast %in : i64 to index
    %e = tensor.extract %a[%p] : tensor<8xi64>
    linalg.yield %e : i64
  } -> tensor<8xi64>
  return %r : tensor<8xi64>
}

// -----

// No gather's position depends on the other: fusion decides.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-3: = linalg.generic
func.func @apart(%t: tensor<8xf32>, %i: tensor<8xi64>, %j: tensor<8xi64>) -> tensor<8xf32> {
  %n = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%i : tensor<8xi64>) outs(%n : tensor<8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %p = arith.index_cast %in : i64 to index
    %e = tensor.extract %t[%p] : tensor<8xf32>
    linalg.yield %e : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%j : tensor<8xi64>) outs(%n : tensor<8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %p = arith.index_cast %in : i64 to index
    %e = tensor.extract %t[%p] : tensor<8xf32>
    linalg.yield %e : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%n : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// It is read at another element, too.
#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @turned
// CHECK-COUNT-2: = linalg.generic
func.func @turned(%t: tensor<8xi64>, %i: tensor<8x8xi64>) -> tensor<8x8xi64> {
  %n = tensor.empty() : tensor<8x8xi64>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<8x8xi64>) outs(%n : tensor<8x8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %p = arith.index_cast %in : i64 to index
    %e = tensor.extract %t[%p] : tensor<8xi64>
    linalg.yield %e : i64
  } -> tensor<8x8xi64>
  %r = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %a : tensor<8x8xi64>, tensor<8x8xi64>) outs(%n : tensor<8x8xi64>) {
  ^bb0(%in: i64, %other: i64, %out: i64):
    %p = arith.index_cast %in : i64 to index
    %e = tensor.extract %t[%p] : tensor<8xi64>
    %s = arith.addi %e, %other : i64
    linalg.yield %s : i64
  } -> tensor<8x8xi64>
  return %r : tensor<8x8xi64>
}
