// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// Sequences first, for a projection, and back: its rows stay where they are, and nothing is transposed.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @there_and_back
// CHECK: %[[X:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2]] : tensor<2x7x5xf32> into tensor<14x5xf32>
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[X]], %arg1 : tensor<14x5xf32>, tensor<5x9xf32>)
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[M]], %arg2 :
// CHECK: %[[R:.*]] = tensor.collapse_shape %arg3 {{\[\[}}0, 1], [2]] : tensor<2x7x9xf32> into tensor<14x9xf32>
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[R]] : tensor<14x9xf32>, tensor<14x9xf32>)
// CHECK: %[[Y:.*]] = tensor.expand_shape %[[T]] {{.*}} into tensor<2x7x9xf32>
// CHECK: return %[[Y]]
func.func @there_and_back(%x: tensor<2x7x5xf32>, %w: tensor<5x9xf32>, %bias: tensor<9xf32>, %residual: tensor<2x7x9xf32>) -> tensor<2x7x9xf32> {
  %zero = arith.constant 0.0 : f32
  %te = tensor.empty() : tensor<7x2x5xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x7x5xf32>) outs(%te : tensor<7x2x5xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<7x2x5xf32>
  %rows = tensor.collapse_shape %t [[0, 1], [2]] : tensor<7x2x5xf32> into tensor<14x5xf32>
  %e = tensor.empty() : tensor<14x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x9xf32>) -> tensor<14x9xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%rows, %w : tensor<14x5xf32>, tensor<5x9xf32>) outs(%f : tensor<14x9xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14x9xf32>
  %s = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<14x9xf32>, tensor<9xf32>) outs(%e : tensor<14x9xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<14x9xf32>
  %v = tensor.expand_shape %s [[0, 1], [2]] output_shape [7, 2, 9] : tensor<14x9xf32> into tensor<7x2x9xf32>
  %ye = tensor.empty() : tensor<2x7x9xf32>
  %y = linalg.generic {indexing_maps = [#tr, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %residual : tensor<7x2x9xf32>, tensor<2x7x9xf32>) outs(%ye : tensor<2x7x9xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<2x7x9xf32>
  return %y : tensor<2x7x9xf32>
}

// -----

// Heads of a part of the columns, of two sequences that lie side by side: products read them where they are.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#k = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0, d1, d4)>
#v = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4)>
#s = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0, 0, d1, d4)>
// CHECK-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, 1, d1, d4)>
// CHECK-LABEL: func.func @parts_of_columns
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<14x5xf32>, tensor<5x64xf32>)
// CHECK-NOT: mlopt.op = "slice"
// CHECK: linalg.generic {indexing_maps = [#[[Q]], #[[K]], #{{.*}}], {{.*}} : tensor<7x2x2x4x8xf32>, tensor<7x2x2x4x8xf32>)
func.func @parts_of_columns(%x: tensor<14x5xf32>, %w: tensor<5x64xf32>) -> tensor<2x4x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x64xf32>) -> tensor<14x64xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<14x5xf32>, tensor<5x64xf32>) outs(%f : tensor<14x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14x64xf32>
  %y = tensor.expand_shape %m [[0, 1], [2, 3]] output_shape [7, 2, 2, 32] : tensor<14x64xf32> into tensor<7x2x2x32xf32>
  %s0 = tensor.extract_slice %y[0, 0, 0, 0] [7, 2, 1, 32] [1, 1, 1, 1] : tensor<7x2x2x32xf32> to tensor<7x2x32xf32>
  %s1 = tensor.extract_slice %y[0, 0, 1, 0] [7, 2, 1, 32] [1, 1, 1, 1] : tensor<7x2x2x32xf32> to tensor<7x2x32xf32>
  %q = tensor.expand_shape %s0 [[0], [1], [2, 3]] output_shape [7, 2, 4, 8] : tensor<7x2x32xf32> into tensor<7x2x4x8xf32>
  %k = tensor.expand_shape %s1 [[0], [1], [2, 3]] output_shape [7, 2, 4, 8] : tensor<7x2x32xf32> into tensor<7x2x4x8xf32>
  %oe = tensor.empty() : tensor<2x4x7x7xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %o = linalg.generic {indexing_maps = [#k, #v, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<7x2x4x8xf32>, tensor<7x2x4x8xf32>) outs(%of : tensor<2x4x7x7xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%p: f32, %r: f32, %acc: f32):
    %0 = arith.mulf %p, %r : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x4x7x7xf32>
  return %o : tensor<2x4x7x7xf32>
}
