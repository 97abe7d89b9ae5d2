// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// A norm of groups of channels, with a weight for each channel: all of it runs over group, channel and pixel.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[GROUP:.*]] = affine_map<(d0, d1, d2) -> (d0)>
// CHECK-DAG: #[[CHANNEL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @channels
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{\[\[0\], \[1, 2\]\]}} {{.*}} into tensor<4x8x32xf32>
// CHECK: %[[S:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[GROUP]]], {{.*}}"reduction", "reduction"]} ins(%[[X]] :
// CHECK: %[[N:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[GROUP]], #[[ALL]]], {{.*}} ins(%{{.*}}, %[[S]] : tensor<4x8x32xf32>
// CHECK: %[[B:.*]] = tensor.expand_shape %arg1 {{.*}} into tensor<4x8xf32>
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[CHANNEL]], #[[ALL]]], {{.*}} ins(%[[N]], %[[B]] :
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[Y]] {{\[\[0, 1\], \[2\]\]}} : tensor<4x8x32xf32> into tensor<32x32xf32>
// CHECK: return %[[C]]
func.func @channels(%x: tensor<4x256xf32>, %b: tensor<32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x256xf32>) outs(%f : tensor<4xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %w = tensor.empty() : tensor<4x256xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x256xf32>, tensor<4xf32>) outs(%w : tensor<4x256xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x256xf32>
  %c = tensor.collapse_shape %n [[0, 1]] : tensor<4x256xf32> into tensor<1024xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [32, 32] : tensor<1024xf32> into tensor<32x32xf32>
  %u = tensor.empty() : tensor<32x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %b : tensor<32x32xf32>, tensor<32xf32>) outs(%u : tensor<32x32xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
