// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// Columns that leave most of a strip of registers empty: the copy costs less.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
#tr = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @narrow
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 :
// CHECK: %[[V:.*]] = tensor.expand_shape {{.*}} {mlopt.whole = "in parts of 16 columns, no multiple of 32, a product leaves registers empty"}
// CHECK: linalg.generic {{.*}} ins(%[[V]] : {{.*}}mlopt.op = "transpose"
func.func @narrow(%x: tensor<14x5xf32>, %w: tensor<5x48xf32>, %bias: tensor<48xf32>) -> tensor<2x3x7x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x48xf32>) -> tensor<14x48xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<14x5xf32>, tensor<5x48xf32>) outs(%f : tensor<14x48xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14x48xf32>
  %s = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<14x48xf32>, tensor<48xf32>) outs(%e : tensor<14x48xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<14x48xf32>
  %u = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 7, 48] : tensor<14x48xf32> into tensor<2x7x48xf32>
  %v = tensor.expand_shape %u [[0], [1], [2, 3]] output_shape [2, 7, 3, 16] : tensor<2x7x48xf32> into tensor<2x7x3x16xf32>
  %t = tensor.empty() : tensor<2x3x7x16xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x7x3x16xf32>) outs(%t : tensor<2x3x7x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x7x16xf32>
  return %r : tensor<2x3x7x16xf32>
}

// -----

// Parts of so few rows do not share what a product reads.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
#tr = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @few_rows
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 :
// CHECK: %[[V:.*]] = tensor.expand_shape {{.*}} {mlopt.whole = "in parts of 2 rows, fewer than 4, a product reads its columns too often"}
// CHECK: linalg.generic {{.*}} ins(%[[V]] : {{.*}}mlopt.op = "transpose"
func.func @few_rows(%x: tensor<4x5xf32>, %w: tensor<5x96xf32>, %bias: tensor<96xf32>) -> tensor<2x3x2x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x96xf32>) -> tensor<4x96xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x5xf32>, tensor<5x96xf32>) outs(%f : tensor<4x96xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x96xf32>
  %s = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<4x96xf32>, tensor<96xf32>) outs(%e : tensor<4x96xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x96xf32>
  %u = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 2, 96] : tensor<4x96xf32> into tensor<2x2x96xf32>
  %v = tensor.expand_shape %u [[0], [1], [2, 3]] output_shape [2, 2, 3, 32] : tensor<2x2x96xf32> into tensor<2x2x3x32xf32>
  %t = tensor.empty() : tensor<2x3x2x32xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x2x3x32xf32>) outs(%t : tensor<2x3x2x32xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x2x32xf32>
  return %r : tensor<2x3x2x32xf32>
}

// -----

// Rows that become columns would be stored a few bytes at a time.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
#tr = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @columns
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 :
// CHECK: %[[V:.*]] = tensor.expand_shape {{.*}} {mlopt.whole = "transpose reads the product across its rows"}
// CHECK: linalg.generic {{.*}} ins(%[[V]] : {{.*}}mlopt.op = "transpose"
func.func @columns(%x: tensor<14x5xf32>, %w: tensor<5x96xf32>, %bias: tensor<96xf32>) -> tensor<2x3x32x7xf32> {
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
  %u = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 7, 96] : tensor<14x96xf32> into tensor<2x7x96xf32>
  %v = tensor.expand_shape %u [[0], [1], [2, 3]] output_shape [2, 7, 3, 32] : tensor<2x7x96xf32> into tensor<2x7x3x32xf32>
  %t = tensor.empty() : tensor<2x3x32x7xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x7x3x32xf32>) outs(%t : tensor<2x3x32x7xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x32x7xf32>
  return %r : tensor<2x3x32x7xf32>
}

// -----

// What is also read as it is has to be stored in that order.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
#tr = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @shared
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 :
// CHECK: %[[V:.*]] = tensor.expand_shape {{.*}} {mlopt.whole = "return reads the product, too, as a whole"}
// CHECK: linalg.generic {{.*}} ins(%[[V]] : {{.*}}mlopt.op = "transpose"
func.func @shared(%x: tensor<14x5xf32>, %w: tensor<5x96xf32>, %bias: tensor<96xf32>) -> (tensor<2x3x7x32xf32>, tensor<14x96xf32>) {
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
  %u = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 7, 96] : tensor<14x96xf32> into tensor<2x7x96xf32>
  %v = tensor.expand_shape %u [[0], [1], [2, 3]] output_shape [2, 7, 3, 32] : tensor<2x7x96xf32> into tensor<2x7x3x32xf32>
  %t = tensor.empty() : tensor<2x3x7x32xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x7x3x32xf32>) outs(%t : tensor<2x3x7x32xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x7x32xf32>
  return %r, %s : tensor<2x3x7x32xf32>, tensor<14x96xf32>
}
