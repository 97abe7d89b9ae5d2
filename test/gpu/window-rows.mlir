// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-window-rows)' --split-input-file | FileCheck %s

// ResNet's first layer, whose padded image is divided by the stride: rows of 7 places of 3 channels, filled up with
// zeros to 8. The weights, which lie in another order, are turned once.
#x = affine_map<(n, o, i, j, c, k, l) -> (n, c, i + (k + 1) floordiv 2, (k + 1) mod 2, j + (l + 1) floordiv 2, (l + 1) mod 2)>
#w = affine_map<(n, o, i, j, c, k, l) -> (c, k, l, o)>
#y = affine_map<(n, o, i, j, c, k, l) -> (n, o, i, j)>
#from = affine_map<(c, k, l, o) -> (o, c, k, l)>
#to = affine_map<(c, k, l, o) -> (c, k, l, o)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2, d3 + (d4 + 1) floordiv 2, (d4 + 1) mod 2)>
// CHECK-DAG: #[[TURN:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2, d0, d1)>
// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2 + (d4 + 1) floordiv 2, (d4 + 1) mod 2, d3, d5)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d1)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
// CHECK: mlopt-gpu-window-rows{{.*}}takes {{.*}} behind a copy of {{.*}} with the rows of its window side by side, alone
// CHECK-LABEL: func.func @first
// CHECK: %[[P:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 2, 0, 2, 0] [32, 3, 112, 2, 112, 2] {{.*}} into tensor<32x3x115x2x116x2xbf16>
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#[[ROWS]], {{.*}} ins(%[[P]] : {{.*}}) outs(%{{.*}} : tensor<32x115x2x112x8x3xbf16>) attrs = {mlopt.op = "rows"} {
// CHECK: %[[L:.*]] = linalg.index 4
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[L]], %c7
// CHECK: arith.select %[[IS]], %in, %{{.*}} : bf16
// CHECK: %[[S:.*]] = tensor.collapse_shape %[[R]] {{\[}}[0], [1], [2], [3], [4, 5]] : {{.*}} into tensor<32x115x2x112x24xbf16>
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [#[[TURN]], {{.*}} ins(%arg1 : tensor<64x3x7x7xbf16>) outs(%{{.*}} : tensor<7x7x3x64xbf16>)
// CHECK: %[[Q:.*]] = tensor.insert_slice %[[T]] into %{{.*}}[0, 0, 0, 0] [7, 7, 3, 64] {{.*}} into tensor<7x8x3x64xbf16>
// CHECK: %[[V:.*]] = tensor.collapse_shape %[[Q]] {{\[}}[0], [1, 2], [3]] : {{.*}} into tensor<7x24x64xbf16>
// CHECK: %[[C:.*]] = linalg.generic {indexing_maps = [#[[IN]], #[[W]], #[[OUT]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%[[S]], %[[V]] : {{.*}}) outs(%{{.*}} : tensor<32x64x112x112xf32>) attrs = {mlopt.op = "conv2d"}
// CHECK: return %[[C]]
func.func @first(%x: tensor<32x3x224x224xbf16>, %f: tensor<64x3x7x7xbf16>) -> tensor<32x64x112x112xf32> {
  %zero = arith.constant 0.0 : bf16
  %none = arith.constant 0.0 : f32
  %b = tensor.expand_shape %x [[0], [1], [2, 3], [4, 5]] output_shape [32, 3, 112, 2, 112, 2] : tensor<32x3x224x224xbf16> into tensor<32x3x112x2x112x2xbf16>
  %e = tensor.empty() : tensor<32x3x115x2x115x2xbf16>
  %z = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x3x115x2x115x2xbf16>) -> tensor<32x3x115x2x115x2xbf16>
  %p = tensor.insert_slice %b into %z[0, 0, 2, 0, 2, 0] [32, 3, 112, 2, 112, 2] [1, 1, 1, 1, 1, 1] {mlopt.op = "pad"} : tensor<32x3x112x2x112x2xbf16> into tensor<32x3x115x2x115x2xbf16>
  %ew = tensor.empty() : tensor<3x7x7x64xbf16>
  %w = linalg.generic {indexing_maps = [#from, #to], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%f : tensor<64x3x7x7xbf16>) outs(%ew : tensor<3x7x7x64xbf16>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<3x7x7x64xbf16>
  %ey = tensor.empty() : tensor<32x64x112x112xf32>
  %fy = linalg.fill ins(%none : f32) outs(%ey : tensor<32x64x112x112xf32>) -> tensor<32x64x112x112xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %w : tensor<32x3x115x2x115x2xbf16>, tensor<3x7x7x64xbf16>) outs(%fy : tensor<32x64x112x112xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: f32):
    %aw = arith.extf %a : bf16 to f32
    %uw = arith.extf %u : bf16 to f32
    %m = arith.mulf %aw, %uw : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<32x64x112x112xf32>
  return %c : tensor<32x64x112x112xf32>
}

// -----

// Without padding, in steps of one: rows of 3 places of 4 channels are 4 of 4 with zeros, which are read beyond the image.
#x = affine_map<(n, o, i, j, c, k, l) -> (n, c, i + k, j + l)>
#w = affine_map<(n, o, i, j, c, k, l) -> (c, k, l, o)>
#y = affine_map<(n, o, i, j, c, k, l) -> (n, o, i, j)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2 + d3)>
// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2 + d4, d3, d5)>
// CHECK-LABEL: func.func @valid
// CHECK: %[[P:.*]] = tensor.insert_slice %arg0 into %{{.*}}[0, 0, 0, 0] [32, 4, 56, 56] {{.*}} into tensor<32x4x56x57xf16>
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#[[ROWS]], {{.*}} ins(%[[P]] : {{.*}}) outs(%{{.*}} : tensor<32x56x54x4x4xf16>)
// CHECK: linalg.generic {indexing_maps = [#[[IN]], {{.*}} ins(%{{.*}}, %{{.*}} : tensor<32x56x54x16xf16>, tensor<3x16x64xf16>) outs(%{{.*}} : tensor<32x64x54x54xf16>)
func.func @valid(%x: tensor<32x4x56x56xf16>, %w: tensor<4x3x3x64xf16>) -> tensor<32x64x54x54xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<32x64x54x54xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<32x64x54x54xf16>) -> tensor<32x64x54x54xf16>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x4x56x56xf16>, tensor<4x3x3x64xf16>) outs(%f : tensor<32x64x54x54xf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f16, %u: f16, %o: f16):
    %m = arith.mulf %a, %u : f16
    %s = arith.addf %o, %m : f16
    linalg.yield %s : f16
  } -> tensor<32x64x54x54xf16>
  return %c : tensor<32x64x54x54xf16>
}
