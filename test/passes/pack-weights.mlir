// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-pack-weights)' --split-input-file | FileCheck %s

// A transposed weight is packed from the weight itself; bias, GELU-like reuse and residual run on strips too.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[READ:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d3, d2)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK: mlopt.rewrites = {"mlopt-pack-weights" = [{bytes = 0 : i64, {{.*}}kept = 24576 : i64, ops = "weights of matmul", reason = ""
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[ARG:[^:]+]]: tensor<?x32xf32>, %[[WT:[^:]+]]: tensor<192x32xf32>
// CHECK-NOT: "transpose"
// CHECK: %[[V:.*]] = tensor.expand_shape %[[WT]] {{\[\[}}0, 1], [2]] {{.*}} into tensor<3x64x32xf32>
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#[[READ]], {{.*}}ins(%[[V]] : {{.*}}mlopt.op = "pack"
// CHECK: -> tensor<3x32x64xf32>
// CHECK: %[[M:.*]] = linalg.generic {indexing_maps = [#[[X]], #[[W]], #[[OUT]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[ARG]], %[[P]] : {{.*}} {mlopt.op = "matmul"}
// CHECK: %[[B:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] {{.*}} into tensor<3x64xf32>
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%[[M]], %[[B]] : tensor<?x3x64xf32>, tensor<3x64xf32>) {{.*}}mlopt.op = "add"
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<?x3x64xf32>) {{.*}}mlopt.op = "mul"
// CHECK: %[[R:.*]] = tensor.expand_shape %{{.*}} into tensor<?x3x64xf32>
// CHECK: %[[L:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[S]], %[[R]] : {{.*}}mlopt.op = "pointwise"
// CHECK: %[[Y:.*]] = tensor.collapse_shape %[[L]] {{\[\[}}0], [1, 2]] : tensor<?x3x64xf32> into tensor<?x192xf32>
// CHECK: return %[[Y]]
func.func @main(%x: tensor<?x32xf32>, %w: tensor<192x32xf32> {mlopt.weight}, %bias: tensor<192xf32> {mlopt.weight},
                %res: tensor<?x192xf32>) -> tensor<?x192xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<32x192xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<192x32xf32>) outs(%e : tensor<32x192xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<32x192xf32>
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %e0 = tensor.empty(%n) : tensor<?x192xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x192xf32>) -> tensor<?x192xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<?x32xf32>, tensor<32x192xf32>) outs(%f0 : tensor<?x192xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x192xf32>
  %y = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q, %bias : tensor<?x192xf32>, tensor<192xf32>) outs(%e0 : tensor<?x192xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.addf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<?x192xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x192xf32>) outs(%e0 : tensor<?x192xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %out: f32):
    %s = arith.mulf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x192xf32>
  %g = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %z, %res : tensor<?x192xf32>, tensor<?x192xf32>, tensor<?x192xf32>)
      outs(%e0 : tensor<?x192xf32>) attrs = {mlopt.op = "pointwise"} {
  ^bb0(%p: f32, %r: f32, %v: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %s, %v : f32
    linalg.yield %t : f32
  } -> tensor<?x192xf32>
  return %g : tensor<?x192xf32>
}

// -----

// The output channels of a convolution are its columns.
#x = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>
#w = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3, d0)>
#y = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d2 + d5, d3 + d6)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d5, d6, d4, d1)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = linalg.generic {{.*}}mlopt.op = "pack"
// CHECK: %[[C:.*]] = linalg.generic {indexing_maps = [#[[X]], #[[W]], #[[Y]]], {{.*}} ins(%{{.*}}, %[[P]] : {{.*}}mlopt.op = "conv2d"
// CHECK: %[[D:.*]] = tensor.collapse_shape %[[C]] {{\[\[}}0, 1], [2], [3]] : tensor<2x64x6x6xf32> into tensor<128x6x6xf32>
// CHECK: return %[[D]]
func.func @main(%x: tensor<16x8x8xf32>, %w: tensor<3x3x16x128xf32> {mlopt.weight})
    -> tensor<128x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x6x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x6x6xf32>) -> tensor<128x6x6xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<16x8x8xf32>, tensor<3x3x16x128xf32>) outs(%f : tensor<128x6x6xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x6x6xf32>
  return %c : tensor<128x6x6xf32>
}

// -----

// The columns of each head are a strip already: only their rows are put in order, and no loop is split.
#x = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
#w = affine_map<(d0, d1, d2, d3) -> (d3, d0, d2)>
#y = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
// CHECK-DAG: #[[P:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<8x3x32xf32>) outs(%{{.*}} : tensor<3x8x32xf32>) {{.*}}mlopt.op = "pack"
// CHECK: %[[M:.*]] = linalg.generic {indexing_maps = [#[[X]], #[[P]], #[[Y]]], {{.*}} ins(%arg0, %[[W]] :
// CHECK: return %[[M]] : tensor<3x6x32xf32>
func.func @main(%x: tensor<6x8xf32>, %w: tensor<8x3x32xf32> {mlopt.weight}) -> tensor<3x6x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x6x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x6x32xf32>) -> tensor<3x6x32xf32>
  %m = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<6x8xf32>, tensor<8x3x32xf32>) outs(%f : tensor<3x6x32xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x6x32xf32>
  return %m : tensor<3x6x32xf32>
}

// -----

// Channels of 32x32 pixels are a page apart: weights stay as they lie, so that pixels, copied into panels, are lanes.
#w = affine_map<(c, o) -> (o, c)>
#t = affine_map<(c, o) -> (c, o)>
#x = affine_map<(o, h, w, c) -> (c, h, w)>
#k = affine_map<(o, h, w, c) -> (c, o)>
#y = affine_map<(o, h, w, c) -> (o, h, w)>
// CHECK: reason = "tasks copy the other factor, whose steps are whole pages apart, into a panel"
// CHECK-LABEL: func.func @pages
// CHECK-NOT: "pack"
// CHECK-NOT: "transpose"
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<16x32x32xf32>, tensor<128x16xf32>)
func.func @pages(%data: tensor<16x32x32xf32>, %weights: tensor<128x16xf32> {mlopt.weight}) -> tensor<128x32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %te = tensor.empty() : tensor<16x128xf32>
  %turned = linalg.generic {indexing_maps = [#w, #t], iterator_types = ["parallel", "parallel"]} ins(%weights : tensor<128x16xf32>) outs(%te : tensor<16x128xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<16x128xf32>
  %e = tensor.empty() : tensor<128x32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x32x32xf32>) -> tensor<128x32x32xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%data, %turned : tensor<16x32x32xf32>, tensor<16x128xf32>) outs(%f : tensor<128x32x32xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x32x32xf32>
  return %r : tensor<128x32x32xf32>
}
