// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// The bias and the ReLU of a grouped convolution run on its result before the groups are joined.
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[GROUP:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2)>
// CHECK-LABEL: func.func @groups
// CHECK: %[[BIAS:.*]] = tensor.expand_shape %arg2 {{.*}} : tensor<16xf32> into tensor<2x8xf32>
// CHECK: %[[C:.*]] = linalg.generic {{.*}}mlopt.op = "conv2d"
// CHECK: %[[B:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[GROUP]], #{{.*}}], {{.*}} ins(%[[C]], %[[BIAS]] : tensor<3x2x8x5x5xf32>, tensor<2x8xf32>) {{.*}}mlopt.op = "add"
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[B]] : tensor<3x2x8x5x5xf32>) {{.*}}mlopt.op = "tanh"
// CHECK: %[[Y:.*]] = tensor.collapse_shape %[[R]] {{.*}} into tensor<3x16x5x5xf32>
// CHECK: return %[[Y]]
func.func @groups(%x: tensor<3x2x4x7x7xf32>, %w: tensor<2x8x4x3x3xf32>, %bias: tensor<16xf32>) -> tensor<3x16x5x5xf32> {
  %e = tensor.empty() : tensor<3x16x5x5xf32>
  %b = linalg.broadcast ins(%bias : tensor<16xf32>) outs(%e : tensor<3x16x5x5xf32>) dimensions = [0, 2, 3]
  %b5 = tensor.expand_shape %b [[0], [1, 2], [3], [4]] output_shape [3, 2, 8, 5, 5] : tensor<3x16x5x5xf32> into tensor<3x2x8x5x5xf32>
  %c = linalg.conv_2d_ngchw_gfchw ins(%x, %w : tensor<3x2x4x7x7xf32>, tensor<2x8x4x3x3xf32>) outs(%b5 : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %y = tensor.collapse_shape %c [[0], [1, 2], [3], [4]] : tensor<3x2x8x5x5xf32> into tensor<3x16x5x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<3x16x5x5xf32>) outs(%e : tensor<3x16x5x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<3x16x5x5xf32>
  return %r : tensor<3x16x5x5xf32>
}

// -----

// Two element-wise readers, as of silu, and a result: all of them take the parts, and the view of them comes last.
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @read_by_several
// CHECK: %[[C:.*]] = linalg.generic {{.*}}mlopt.op = "conv2d"
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<3x2x8x5x5xf32>) {{.*}}mlopt.op = "tanh"
// CHECK: linalg.generic {{.*}} ins(%[[C]], %[[T]] : tensor<3x2x8x5x5xf32>, tensor<3x2x8x5x5xf32>) {{.*}}mlopt.op = "mul"
func.func @read_by_several(%x: tensor<3x2x4x7x7xf32>, %w: tensor<2x8x4x3x3xf32>) -> (tensor<3x16x5x5xf32>, tensor<3x16x5x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x16x5x5xf32>
  %e5 = tensor.empty() : tensor<3x2x8x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e5 : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %c = linalg.conv_2d_ngchw_gfchw ins(%x, %w : tensor<3x2x4x7x7xf32>, tensor<2x8x4x3x3xf32>) outs(%f : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %y = tensor.collapse_shape %c [[0], [1, 2], [3], [4]] : tensor<3x2x8x5x5xf32> into tensor<3x16x5x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<3x16x5x5xf32>) outs(%e : tensor<3x16x5x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<3x16x5x5xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %r : tensor<3x16x5x5xf32>, tensor<3x16x5x5xf32>) outs(%e : tensor<3x16x5x5xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %t = arith.mulf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<3x16x5x5xf32>
  return %y, %m : tensor<3x16x5x5xf32>, tensor<3x16x5x5xf32>
}
