// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// The halves of a product: each by a product of its own, and the element-wise op after it for each.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0, d1, d2) -> (d2, d1 mod 54)>
// CHECK-DAG: #[[SECOND:.*]] = affine_map<(d0, d1, d2) -> (d2, d1 + 27)>
// CHECK-DAG: #[[BIAS:.*]] = affine_map<(d0, d1) -> (d1 mod 54)>
// CHECK-DAG: #[[BEHIND:.*]] = affine_map<(d0, d1) -> (d1 + 27)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @halves
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[FIRST]], #{{.*}}], {{.*}} ins(%arg0, %arg1 : {{.*}} outs(%{{.*}} : tensor<7x27xf32>)
// CHECK: %[[Q:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[SECOND]], #{{.*}}], {{.*}} ins(%arg0, %arg1 : {{.*}} outs(%{{.*}} : tensor<7x27xf32>)
// CHECK: %[[A:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[BIAS]], #[[ID]]], {{.*}} ins(%[[P]], %arg2 :
// CHECK: %[[B:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[BEHIND]], #[[ID]]], {{.*}} ins(%[[Q]], %arg2 :
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ID]], #[[ID]]], {{.*}} ins(%[[A]], %[[B]] :
func.func @halves(%x: tensor<7x5xf32>, %w: tensor<5x54xf32>, %bias: tensor<54xf32>) -> tensor<7x27xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7x54xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<7x54xf32>) -> tensor<7x54xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<7x5xf32>, tensor<5x54xf32>) outs(%f : tensor<7x54xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<7x54xf32>
  %s = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<7x54xf32>, tensor<54xf32>) outs(%e : tensor<7x54xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<7x54xf32>
  %g = tensor.extract_slice %s[0, 0] [7, 27] [1, 1] : tensor<7x54xf32> to tensor<7x27xf32>
  %h = tensor.extract_slice %s[0, 27] [7, 27] [1, 1] : tensor<7x54xf32> to tensor<7x27xf32>
  %n = tensor.empty() : tensor<7x27xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %h : tensor<7x27xf32>, tensor<7x27xf32>) outs(%n : tensor<7x27xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<7x27xf32>
  return %r : tensor<7x27xf32>
}

// -----

// Of weights each part is kept; rows of unknown number.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#second = affine_map<(d0, d1) -> (d0, d1 + 64)>
#first = affine_map<(d0, d1) -> (d0, d1 mod 128)>
// CHECK-LABEL: func.func @of_weights
// CHECK: %[[U:.*]] = linalg.generic {{.*}} ins(%arg1 : {{.*}} outs(%{{.*}} : tensor<5x64xf32>) attrs = {mlopt.op = "slice"}
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%arg0, %[[U]] : {{.*}} outs(%{{.*}} : tensor<?x64xf32>)
// CHECK: %[[V:.*]] = linalg.generic {{.*}} ins(%arg1 : {{.*}} outs(%{{.*}} : tensor<5x64xf32>) attrs = {mlopt.op = "slice"}
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%arg0, %[[V]] : {{.*}} outs(%{{.*}} : tensor<?x64xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[P]], %[[Q]] :
func.func @of_weights(%x: tensor<?x5xf32>, %w: tensor<5x128xf32> {mlopt.weight}) -> tensor<?x64xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x5xf32>
  %e = tensor.empty(%rows) : tensor<?x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x128xf32>) -> tensor<?x128xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x5xf32>, tensor<5x128xf32>) outs(%f : tensor<?x128xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x128xf32>
  %n = tensor.empty(%rows) : tensor<?x64xf32>
  %r = linalg.generic {indexing_maps = [#first, #second, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %m : tensor<?x128xf32>, tensor<?x128xf32>) outs(%n : tensor<?x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// -----

// The heads of queries and keys: each part is made in heads, and in the order in which it is read.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#q = affine_map<(d0, d1, d2, d3) -> (d0, d2, 0, d1, d3)>
#k = affine_map<(d0, d1, d2, d3) -> (d0, d2, 1, d1, d3)>
#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @heads
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x7x32xf32>)
// CHECK: %[[K:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x7x32xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return %[[Q]], %[[K]]
func.func @heads(%x: tensor<14x5xf32>, %w: tensor<5x192xf32> {mlopt.weight}) -> (tensor<2x3x7x32xf32>, tensor<2x3x7x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x192xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x192xf32>) -> tensor<14x192xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<14x5xf32>, tensor<5x192xf32>) outs(%f : tensor<14x192xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14x192xf32>
  %v = tensor.expand_shape %m [[0, 1], [2, 3, 4]] output_shape [2, 7, 2, 3, 32] : tensor<14x192xf32> into tensor<2x7x2x3x32xf32>
  %t = tensor.empty() : tensor<2x3x7x32xf32>
  %r = linalg.generic {indexing_maps = [#q, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x7x2x3x32xf32>) outs(%t : tensor<2x3x7x32xf32>) attrs = {mlopt.op = "slice"} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x7x32xf32>
  %s = linalg.generic {indexing_maps = [#k, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x7x2x3x32xf32>) outs(%t : tensor<2x3x7x32xf32>) attrs = {mlopt.op = "slice"} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x7x32xf32>
  return %r, %s : tensor<2x3x7x32xf32>, tensor<2x3x7x32xf32>
}
