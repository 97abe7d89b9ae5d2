// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// The number of an element among the joined ones is asked for.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @number
// CHECK: %[[T:.*]] = linalg.generic {{.*}}mlopt.op = "transpose"
// CHECK: tensor.collapse_shape %[[T]]
// CHECK: linalg.index 1
func.func @number(%x: tensor<2x3x4xf32>) -> tensor<3x8xf32> {
  %e = tensor.empty() : tensor<3x2x4xf32>
  %o = tensor.empty() : tensor<3x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x3x4xf32>) outs(%e : tensor<3x2x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<3x2x4xf32>
  %c = tensor.collapse_shape %t [[0], [1, 2]] : tensor<3x2x4xf32> into tensor<3x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<3x8xf32>) outs(%o : tensor<3x8xf32>) {
  ^bb0(%p: f32, %out: f32):
    %0 = linalg.index 1 : index
    %1 = arith.index_cast %0 : index to i64
    %2 = arith.sitofp %1 : i64 to f32
    %3 = arith.mulf %p, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<3x8xf32>
  return %a : tensor<3x8xf32>
}

// -----

// The sum is the epilogue of a product, which makes joined rows.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @epilogue
// CHECK: linalg.generic {{.*}}mlopt.op = "transpose"
// CHECK: %[[M:.*]] = linalg.generic {{.*}}mlopt.op = "matmul"
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<3x8xf32>, tensor<3x8xf32>)
func.func @epilogue(%x: tensor<2x3x4xf32>, %y: tensor<3x5xf32>, %w: tensor<5x8xf32>, %zero: tensor<3x8xf32>)
    -> tensor<3x8xf32> {
  %e = tensor.empty() : tensor<3x2x4xf32>
  %o = tensor.empty() : tensor<3x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x3x4xf32>) outs(%e : tensor<3x2x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<3x2x4xf32>
  %c = tensor.collapse_shape %t [[0], [1, 2]] : tensor<3x2x4xf32> into tensor<3x8xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                        affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %w : tensor<3x5xf32>, tensor<5x8xf32>) outs(%zero : tensor<3x8xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c, %m : tensor<3x8xf32>, tensor<3x8xf32>) outs(%o : tensor<3x8xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  return %a : tensor<3x8xf32>
}

// -----

// One reader of the joined tensor, a product, takes it as it is: the others do, too.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @product
// CHECK: %[[T:.*]] = linalg.generic {{.*}}mlopt.op = "transpose"
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[T]]
// CHECK: linalg.generic {{.*}} ins(%[[C]] : tensor<3x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[C]], %arg1 :
func.func @product(%x: tensor<2x3x4xf32>, %w: tensor<8x5xf32>, %zero: tensor<3x5xf32>)
    -> (tensor<3x8xf32>, tensor<3x5xf32>) {
  %e = tensor.empty() : tensor<3x2x4xf32>
  %o = tensor.empty() : tensor<3x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x3x4xf32>) outs(%e : tensor<3x2x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<3x2x4xf32>
  %c = tensor.collapse_shape %t [[0], [1, 2]] : tensor<3x2x4xf32> into tensor<3x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<3x8xf32>) outs(%o : tensor<3x8xf32>) {
  ^bb0(%p: f32, %out: f32):
    %0 = arith.negf %p : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                        affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%c, %w : tensor<3x8xf32>, tensor<8x5xf32>) outs(%zero : tensor<3x5xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x5xf32>
  return %a, %m : tensor<3x8xf32>, tensor<3x5xf32>
}

// -----

// What is split was made of sums of rows, whose kernel it stays in.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @rows
// CHECK: %[[S:.*]] = linalg.generic {{.*}}mlopt.op = "sum"
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%arg0, %[[S]] : tensor<3x8xf32>, tensor<3xf32>)
// CHECK: tensor.expand_shape %[[D]]
func.func @rows(%x: tensor<3x8xf32>, %zero: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %e = tensor.empty() : tensor<3x8xf32>
  %o = tensor.empty() : tensor<2x3x4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x8xf32>) outs(%zero : tensor<3xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %out: f32):
    %0 = arith.addf %p, %out : f32
    linalg.yield %0 : f32
  } -> tensor<3xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<3x8xf32>, tensor<3xf32>) outs(%e : tensor<3x8xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.divf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  %v = tensor.expand_shape %d [[0], [1, 2]] output_shape [3, 2, 4] : tensor<3x8xf32> into tensor<3x2x4xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v : tensor<3x2x4xf32>) outs(%o : tensor<2x3x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x4xf32>
  return %t : tensor<2x3x4xf32>
}

// -----

// Nothing is split where a single element is reshaped.
#none = affine_map<() -> ()>
#both = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: @single
// CHECK: %[[MADE:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<f32>)
// CHECK: tensor.expand_shape %[[MADE]] [] output_shape [1, 1]
func.func @single(%x: tensor<f32>) -> tensor<1x1xf32> {
  %e = tensor.empty() : tensor<f32>
  %y = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%x : tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %s = tensor.expand_shape %y [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %f = tensor.empty() : tensor<1x1xf32>
  %r = linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<1x1xf32>) outs(%f : tensor<1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<1x1xf32>
  return %r : tensor<1x1xf32>
}

// -----

// The cast is a result, too: it is made in the shape in which it is returned.
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @cast_for_others
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<2x3x8xbf16>)
// CHECK: return %{{.*}}, %[[W]]
func.func @cast_for_others(%m: tensor<6x8xf32>, %x: tensor<2x3x8xbf16>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %f = tensor.empty() : tensor<6x8xf32>
  %e = tensor.empty() : tensor<2x3x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<6x8xf32>) outs(%f : tensor<6x8xf32>) {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<6x8xf32>
  %v = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
  %w = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x3x8xbf16>) outs(%e : tensor<2x3x8xf32>) attrs = {mlopt.op = "cast"} {
  ^bb0(%p: bf16, %out: f32):
    %0 = arith.extf %p : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<2x3x8xf32>
  %s = linalg.generic {indexing_maps = [#id3, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %w : tensor<2x3x8xf32>, tensor<2x3x8xf32>) outs(%e : tensor<2x3x8xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<2x3x8xf32>
  return %s, %w : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}
