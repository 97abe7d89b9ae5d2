// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-compute-positions)' --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#column = affine_map<(d0, d1) -> (d0)>
#vec = affine_map<(d0) -> (d0)>

// Two tensors of positions, one of them read along both dims: each reader computes its own.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "arange"
// CHECK: linalg.generic {indexing_maps = [#[[ID:.*]], #[[ID]]]{{.*}} ins(%arg0 : tensor<8x8xi64>)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: i64, %{{.*}}: i64):
// CHECK-NEXT: %[[ROW:.*]] = linalg.index 1
// CHECK-NEXT: %[[A:.*]] = arith.index_cast %[[ROW]]
// CHECK-NEXT: %[[COLUMN:.*]] = linalg.index 0
// CHECK-NEXT: %[[B:.*]] = arith.index_cast %[[COLUMN]]
// CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[A]], %[[B]]
// CHECK-NEXT: arith.addi %[[IN]], %[[SUM]]
func.func @main(%x: tensor<8x8xi64>) -> tensor<8x8xi64> {
  %e = tensor.empty() : tensor<8xi64>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>)
      attrs = {mlopt.op = "arange"} {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<8xi64>
  %r = linalg.generic {indexing_maps = [#row, #id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %x, %a : tensor<8xi64>, tensor<8x8xi64>, tensor<8xi64>) outs(%x : tensor<8x8xi64>) {
  ^bb0(%p: i64, %in: i64, %q: i64, %out: i64):
    %0 = arith.addi %p, %q : i64
    %1 = arith.addi %in, %0 : i64
    linalg.yield %1 : i64
  } -> tensor<8x8xi64>
  return %r : tensor<8x8xi64>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#vec = affine_map<(d0) -> (d0)>

// A cast of positions is made of them, and so is what reads the cast.
// CHECK-LABEL: func.func @cast
// CHECK-NOT: tensor<8xi64>
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<8x8xf32>)
// CHECK: linalg.index 1
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: arith.sitofp
// CHECK-NEXT: arith.mulf
func.func @cast(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8xi64>
  %f = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<8xi64>
  %b = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%a : tensor<8xi64>) outs(%f : tensor<8xf32>) {
  ^bb0(%p: i64, %out: f32):
    %0 = arith.sitofp %p : i64 to f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<8x8xf32>, tensor<8xf32>) outs(%x : tensor<8x8xf32>) {
  ^bb0(%in: f32, %p: f32, %out: f32):
    %0 = arith.mulf %in, %p : f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#vec = affine_map<(d0) -> (d0)>

// Positions of 32 bits, which are made of 64.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: "arange"
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<8x8xi32>)
// CHECK: %[[I:.*]] = linalg.index 1
// CHECK-NEXT: %[[L:.*]] = arith.index_cast %[[I]]
// CHECK-NEXT: arith.trunci %[[L]] : i64 to i32
func.func @narrow(%x: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %e = tensor.empty() : tensor<8xi32>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%e : tensor<8xi32>)
      attrs = {mlopt.op = "arange"} {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    %1 = arith.trunci %0 : i64 to i32
    linalg.yield %1 : i32
  } -> tensor<8xi32>
  %r = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %x : tensor<8xi32>, tensor<8x8xi32>) outs(%x : tensor<8x8xi32>) {
  ^bb0(%p: i32, %in: i32, %out: i32):
    %0 = arith.addi %p, %in : i32
    linalg.yield %0 : i32
  } -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}

// -----

#vec = affine_map<(d0) -> (d0)>

// A gather from positions: the element is its index, once that is checked.
// CHECK-LABEL: func.func @gather
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<20xi64>)
// CHECK: cf.assert
// CHECK: %[[SAFE:.*]] = arith.select
// CHECK-NEXT: %[[ELEMENT:.*]] = arith.index_cast %[[SAFE]]
// CHECK-NEXT: linalg.yield %[[ELEMENT]]
func.func @gather(%x: tensor<20xi64>) -> tensor<20xi64> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<8xi64>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<8xi64>
  %r = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%x : tensor<20xi64>) outs(%x : tensor<20xi64>) {
  ^bb0(%in: i64, %out: i64):
    %i = arith.index_cast %in : i64 to index
    %ok = arith.cmpi ult, %i, %c8 : index
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %i, %c0 : index
    %v = tensor.extract %a[%safe] : tensor<8xi64>
    linalg.yield %v : i64
  } -> tensor<20xi64>
  return %r : tensor<20xi64>
}
