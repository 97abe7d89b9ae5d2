// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// A chain between two transposes runs in memory's order; what a body asks of its loops is asked of the new ones.
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @chain
// CHECK-NOT: mlopt.op = "transpose"
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ID]]], {{.*}} ins(%arg0 : tensor<?x8xf32>) outs({{.*}} : tensor<?x8xf32>)
// CHECK: linalg.index 1
// CHECK: %[[A:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[COLUMN]], #[[ID]]], {{.*}} ins(%[[R]], %arg1 :
// CHECK-NOT: linalg.generic
// CHECK: return %[[A]] : tensor<?x8xf32>
func.func @chain(%x: tensor<?x8xf32>, %v: tensor<8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<8x?xf32>
  %o = tensor.empty(%d) : tensor<?x8xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%e : tensor<8x?xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %out: f32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    %2 = arith.sitofp %1 : i64 to f32
    %3 = arith.mulf %p, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x?xf32>
  %a = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%r, %v : tensor<8x?xf32>, tensor<8xf32>) outs(%e : tensor<8x?xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x?xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x?xf32>) outs(%o : tensor<?x8xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<?x8xf32>
  return %t : tensor<?x8xf32>
}

// -----

// Three loops that go round; the reader is itself a sum of two.
#turn = affine_map<(d0, d1, d2) -> (d1, d2, d0)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK: #[[TURN:.*]] = affine_map<(d0, d1, d2) -> (d1, d2, d0)>
// CHECK: #[[ID:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @round
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#[[TURN]], #[[ID]]], {{.*}} ins(%arg0 : tensor<3x5x7xf32>) outs({{.*}} : tensor<7x3x5xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ID]], #[[ID]]], {{.*}} ins(%[[R]], %arg1 :
func.func @round(%x: tensor<3x5x7xf32>, %y: tensor<7x3x5xf32>) -> tensor<7x3x5xf32> {
  %e = tensor.empty() : tensor<3x5x7xf32>
  %o = tensor.empty() : tensor<7x3x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<3x5x7xf32>) outs(%e : tensor<3x5x7xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<3x5x7xf32>
  %a = linalg.generic {indexing_maps = [#turn, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r, %y : tensor<3x5x7xf32>, tensor<7x3x5xf32>) outs(%o : tensor<7x3x5xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<7x3x5xf32>
  return %a : tensor<7x3x5xf32>
}

// -----

// Rows of products are made where they are wanted: (batch, head, row) becomes (batch, row, head) with the epilogue.
#tr = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#a = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#b = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
#c = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[ID4:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @product
// CHECK: %[[F:.*]] = linalg.fill {{.*}} -> tensor<?x7x3x4xf32>
// CHECK: %[[M:.*]] = linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[C]]], {{.*}} ins(%arg0, %arg1 : {{.*}} outs(%[[F]] :
// CHECK: linalg.generic {indexing_maps = [#[[ID4]], #[[ID4]]], {{.*}} ins(%[[M]] : tensor<?x7x3x4xf32>)
// CHECK-NOT: linalg.generic
func.func @product(%x: tensor<?x3x7x5xf32>, %y: tensor<?x3x5x4xf32>) -> tensor<?x7x3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x7x5xf32>
  %e = tensor.empty(%n) : tensor<?x3x7x4xf32>
  %o = tensor.empty(%n) : tensor<?x7x3x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x3x7x4xf32>) -> tensor<?x3x7x4xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<?x3x7x5xf32>, tensor<?x3x5x4xf32>) outs(%f : tensor<?x3x7x4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x3x7x4xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%m : tensor<?x3x7x4xf32>) outs(%o : tensor<?x7x3x4xf32>) {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<?x7x3x4xf32>
  return %r : tensor<?x7x3x4xf32>
}
