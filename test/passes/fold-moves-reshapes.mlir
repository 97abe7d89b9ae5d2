// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// What was moved and joined: its readers run in the parts, the sums of rows among them.
#tr = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[TR:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
// CHECK-LABEL: func.func @joined
// CHECK-NOT: mlopt.op = "transpose"
// CHECK: %[[R:.*]] = tensor.expand_shape %arg1 {{.*}} : tensor<?x3x8xf32> into tensor<?x3x2x4xf32>
// CHECK: %[[A:.*]] = linalg.generic {indexing_maps = [#[[TR]], #[[ID]], #[[ID]]], {{.*}} ins(%arg0, %[[R]] :
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[A]]
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ROW]]], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%[[A]] :
// CHECK: return %[[C]]
func.func @joined(%x: tensor<?x2x3x4xf32>, %r: tensor<?x3x8xf32>, %zero: tensor<?x3xf32>)
    -> (tensor<?x3x8xf32>, tensor<?x3xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x3x4xf32>
  %e = tensor.empty(%n) : tensor<?x3x2x4xf32>
  %o = tensor.empty(%n) : tensor<?x3x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x2x3x4xf32>) outs(%e : tensor<?x3x2x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<?x3x2x4xf32>
  %c = tensor.collapse_shape %t [[0], [1], [2, 3]] : tensor<?x3x2x4xf32> into tensor<?x3x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c, %r : tensor<?x3x8xf32>, tensor<?x3x8xf32>) outs(%o : tensor<?x3x8xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<?x3x8xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a : tensor<?x3x8xf32>) outs(%zero : tensor<?x3xf32>) {
  ^bb0(%p: f32, %out: f32):
    %0 = arith.addf %p, %out : f32
    linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  return %a, %s : tensor<?x3x8xf32>, tensor<?x3xf32>
}

// -----

// What is split and moved: the ops before the move run in the parts, and in the order of their reader.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[TR:.*]] = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
// CHECK-DAG: #[[BIAS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @parts
// CHECK-DAG: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} : tensor<3x8xf32> into tensor<3x2x4xf32>
// CHECK-DAG: %[[B:.*]] = tensor.expand_shape %arg1 {{.*}} : tensor<8xf32> into tensor<2x4xf32>
// CHECK: %[[A:.*]] = linalg.generic {indexing_maps = [#[[TR]], #[[BIAS]], #[[ID]]], {{.*}} ins(%[[X]], %[[B]] :
// CHECK-NOT: linalg.generic
// CHECK: return %[[A]] : tensor<2x3x4xf32>
func.func @parts(%x: tensor<3x8xf32>, %b: tensor<8xf32>) -> tensor<2x3x4xf32> {
  %e = tensor.empty() : tensor<3x8xf32>
  %o = tensor.empty() : tensor<2x3x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<3x8xf32>, tensor<8xf32>) outs(%e : tensor<3x8xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  %v = tensor.expand_shape %a [[0], [1, 2]] output_shape [3, 2, 4] : tensor<3x8xf32> into tensor<3x2x4xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v : tensor<3x2x4xf32>) outs(%o : tensor<2x3x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<2x3x4xf32>
  return %t : tensor<2x3x4xf32>
}

// -----

// Element-wise work on inputs that only what is joined reads: a residual's cast joins the rows, too.
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @residual
// CHECK: %[[X:.*]] = tensor.collapse_shape %arg1 {{.*}} : tensor<2x3x8xbf16> into tensor<6x8xbf16>
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<6x8xbf16>)
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[W]] : tensor<6x8xf32>, tensor<6x8xf32>)
// CHECK: tensor.expand_shape %[[S]]
func.func @residual(%m: tensor<6x8xf32>, %x: tensor<2x3x8xbf16>) -> tensor<2x3x8xf32> {
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
  return %s : tensor<2x3x8xf32>
}
