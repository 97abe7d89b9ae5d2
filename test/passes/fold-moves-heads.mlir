// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// Heads: the product and its epilogue are made in the order in which they are read, and nothing is moved.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
#tr = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d4, d1, d3)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[BIAS:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
// CHECK-LABEL: func.func @heads
// CHECK-DAG: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} into tensor<2x7x5xf32>
// CHECK-DAG: %[[W:.*]] = tensor.expand_shape %arg1 {{.*}} into tensor<5x3x32xf32>
// CHECK: %[[M:.*]] = linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[C]]], {{.*}} ins(%[[X]], %[[W]] : {{.*}} outs(%{{.*}} : tensor<2x3x7x32xf32>)
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[BIAS]], #{{.*}}], {{.*}} ins(%[[M]],
// CHECK: return %[[R]]
func.func @heads(%x: tensor<14x5xf32>, %w: tensor<5x96xf32>, %bias: tensor<96xf32>) -> tensor<2x3x7x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x96xf32>) -> tensor<14x96xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<14x5xf32>, tensor<5x96xf32>) outs(%f : tensor<14x96xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14x96xf32>
  %s = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<14x96xf32>, tensor<96xf32>) outs(%e : tensor<14x96xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<14x96xf32>
  // Split in two steps, as views of views are.
  %u = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 7, 96] : tensor<14x96xf32> into tensor<2x7x96xf32>
  %v = tensor.expand_shape %u [[0], [1], [2, 3]] output_shape [2, 7, 3, 32] : tensor<2x7x96xf32> into tensor<2x7x3x32xf32>
  %t = tensor.empty() : tensor<2x3x7x32xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x7x3x32xf32>) outs(%t : tensor<2x3x7x32xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x7x32xf32>
  return %r : tensor<2x3x7x32xf32>
}

// -----

// What is the same for each batch, or for each row of a batch, keeps rows apart: the product has batches, too.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#rows = affine_map<(d0, d1, d2) -> (d1, d2)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @batches
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} into tensor<2x7x5xf32>
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[X]], %arg1 : {{.*}} outs(%{{.*}} : tensor<2x7x9xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[M]], %arg2 : tensor<2x7x9xf32>, tensor<7x9xf32>)
func.func @batches(%x: tensor<14x5xf32>, %w: tensor<5x9xf32>, %y: tensor<7x9xf32>) -> tensor<2x7x9xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x9xf32>) -> tensor<14x9xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<14x5xf32>, tensor<5x9xf32>) outs(%f : tensor<14x9xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14x9xf32>
  %v = tensor.expand_shape %m [[0, 1], [2]] output_shape [2, 7, 9] : tensor<14x9xf32> into tensor<2x7x9xf32>
  %t = tensor.empty() : tensor<2x7x9xf32>
  %r = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %y : tensor<2x7x9xf32>, tensor<7x9xf32>) outs(%t : tensor<2x7x9xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.maximumf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<2x7x9xf32>
  return %r : tensor<2x7x9xf32>
}
