// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// The caller wants the rows in their new order: somebody has to move them.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @returned
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<2x7x5xf32>) outs(%{{.*}} : tensor<7x2x5xf32>) {{.*}}mlopt.op = "transpose"
func.func @returned(%x: tensor<2x7x5xf32>, %w: tensor<5x9xf32>, %bias: tensor<9xf32>) -> tensor<7x2x9xf32> {
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
  return %v : tensor<7x2x9xf32>
}

// -----

// What is added to each row has one of its own.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @own_rows
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<2x7x5xf32>) outs(%{{.*}} : tensor<7x2x5xf32>) {{.*}}mlopt.op = "transpose"
func.func @own_rows(%x: tensor<2x7x5xf32>, %w: tensor<5x9xf32>, %bias: tensor<14x9xf32>, %residual: tensor<2x7x9xf32>) -> tensor<2x7x9xf32> {
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
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<14x9xf32>, tensor<14x9xf32>) outs(%e : tensor<14x9xf32>) {
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

// The rows are not split as they were joined.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @other_parts
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<2x7x5xf32>) outs(%{{.*}} : tensor<7x2x5xf32>) {{.*}}mlopt.op = "transpose"
func.func @other_parts(%x: tensor<2x7x5xf32>, %w: tensor<5x9xf32>, %bias: tensor<9xf32>, %residual: tensor<2x7x9xf32>) -> tensor<2x7x9xf32> {
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
  %v = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 7, 9] : tensor<14x9xf32> into tensor<2x7x9xf32>
  %ye = tensor.empty() : tensor<2x7x9xf32>
  %y = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %residual : tensor<2x7x9xf32>, tensor<2x7x9xf32>) outs(%ye : tensor<2x7x9xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<2x7x9xf32>
  return %y : tensor<2x7x9xf32>
}
