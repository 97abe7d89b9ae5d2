// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-channels-last)' --split-input-file | FileCheck %s

// What comes from outside is turned, with its padding; what the second convolution reads is made with its channels
// last, a residual too; what is returned stays as it is.
#x = affine_map<(n, o, i, j, c, k, l) -> (n, c, i + k, j + l)>
#w = affine_map<(n, o, i, j, c, k, l) -> (c, k, l, o)>
#y = affine_map<(n, o, i, j, c, k, l) -> (n, o, i, j)>
#px = affine_map<(n, o, i, j, c) -> (n, c, i, j)>
#pw = affine_map<(n, o, i, j, c) -> (c, o)>
#py = affine_map<(n, o, i, j, c) -> (n, o, i, j)>
#id = affine_map<(n, o, i, j) -> (n, o, i, j)>
#bias = affine_map<(n, o, i, j) -> (o)>
// CHECK-DAG: #[[TURN:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d5, d2 + d6, d4)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
// CHECK-DAG: #[[BIAS:.*]] = affine_map<(d0, d1, d2, d3) -> (d3)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>
// CHECK-LABEL: func.func @chain
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [#[[TURN]], {{.*}} ins(%arg0 : tensor<32x64x56x56xbf16>) outs(%{{.*}} : tensor<32x56x56x64xbf16>) attrs = {mlopt.op = "transpose", mlopt.whole = "conv2d takes {{.*}} behind a copy of {{.*}} with channels last, alone {{.*}}"}
// CHECK: %[[P:.*]] = tensor.insert_slice %[[T]] into %{{.*}}[0, 1, 1, 0] [32, 56, 56, 64] [1, 1, 1, 1] {{.*}} into tensor<32x58x58x64xbf16>
// CHECK: %[[C:.*]] = linalg.generic {indexing_maps = [#[[IN]], #[[W]], {{.*}} ins(%[[P]], %arg1 : {{.*}} outs(%{{.*}} : tensor<32x56x56x64xbf16>)
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[BIAS]], #[[TURN]], {{.*}} ins(%[[C]], %arg2, %arg0 : {{.*}} outs(%{{.*}} : tensor<32x56x56x64xbf16>)
// CHECK: %[[D:.*]] = linalg.generic {indexing_maps = [#[[ROWS]], {{.*}} ins(%[[R]], %arg3 : {{.*}} outs(%{{.*}} : tensor<32x128x56x56xbf16>)
// CHECK: return %[[D]]
func.func @chain(%x: tensor<32x64x56x56xbf16>, %w: tensor<64x3x3x64xbf16>, %b: tensor<64xbf16>, %v: tensor<64x128xbf16>) -> tensor<32x128x56x56xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<32x64x58x58xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64x58x58xbf16>) -> tensor<32x64x58x58xbf16>
  %p = tensor.insert_slice %x into %f[0, 0, 1, 1] [32, 64, 56, 56] [1, 1, 1, 1] {mlopt.op = "pad"} : tensor<32x64x56x56xbf16> into tensor<32x64x58x58xbf16>
  %ey = tensor.empty() : tensor<32x64x56x56xbf16>
  %fy = linalg.fill ins(%zero : bf16) outs(%ey : tensor<32x64x56x56xbf16>) -> tensor<32x64x56x56xbf16>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %w : tensor<32x64x58x58xbf16>, tensor<64x3x3x64xbf16>) outs(%fy : tensor<32x64x56x56xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x56x56xbf16>
  %r = linalg.generic {indexing_maps = [#id, #bias, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %b, %x : tensor<32x64x56x56xbf16>, tensor<64xbf16>, tensor<32x64x56x56xbf16>) outs(%ey : tensor<32x64x56x56xbf16>) attrs = {mlopt.op = "add"} {
  ^bb0(%a: bf16, %u: bf16, %z: bf16, %o: bf16):
    %m = arith.addf %a, %u : bf16
    %s = arith.addf %m, %z : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x56x56xbf16>
  %ed = tensor.empty() : tensor<32x128x56x56xbf16>
  %fd = linalg.fill ins(%zero : bf16) outs(%ed : tensor<32x128x56x56xbf16>) -> tensor<32x128x56x56xbf16>
  %d = linalg.generic {indexing_maps = [#px, #pw, #py], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %v : tensor<32x64x56x56xbf16>, tensor<64x128xbf16>) outs(%fd : tensor<32x128x56x56xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x128x56x56xbf16>
  return %d : tensor<32x128x56x56xbf16>
}

// -----

// The blocks of a strided window are those of the turned image; a pooling is turned with it.
#x = affine_map<(o, i, j, c, k, l) -> (c, i + (k + 1) floordiv 2, (k + 1) mod 2, j + (l + 1) floordiv 2, (l + 1) mod 2)>
#w = affine_map<(o, i, j, c, k, l) -> (c, k, l, o)>
#y = affine_map<(o, i, j, c, k, l) -> (o, i, j)>
#p = affine_map<(c, i, j, k, l) -> (c, i + k, j + l)>
#k = affine_map<(c, i, j, k, l) -> (k, l)>
#q = affine_map<(c, i, j, k, l) -> (c, i, j)>
// CHECK-DAG: #[[POOL:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0 + d3, d1 + d4)>
// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1 + (d4 + 1) floordiv 2, (d4 + 1) mod 2, d2 + (d5 + 1) floordiv 2, (d5 + 1) mod 2, d3)>
// CHECK-LABEL: func.func @strided
// CHECK: %[[M:.*]] = linalg.generic {indexing_maps = [#[[POOL]], {{.*}} ins(%arg0, {{.*}} outs(%{{.*}} : tensor<28x28x64xf16>)
// CHECK: %[[E:.*]] = tensor.expand_shape %[[M]] {{\[\[}}0, 1], [2, 3], [4]] output_shape [14, 2, 14, 2, 64]
// CHECK: %[[P:.*]] = tensor.insert_slice %[[E]] into %{{.*}}[1, 0, 1, 0, 0] [14, 2, 14, 2, 64]
// CHECK: linalg.generic {indexing_maps = [#[[IN]], {{.*}} ins(%[[P]], %arg1
func.func @strided(%x: tensor<64x29x29xf16>, %w: tensor<64x3x3x64xf16>) -> tensor<64x14x14xf16> {
  %zero = arith.constant 0.0 : f16
  %low = arith.constant 0xFC00 : f16
  %window = tensor.empty() : tensor<2x2xf16>
  %em = tensor.empty() : tensor<64x28x28xf16>
  %fm = linalg.fill ins(%low : f16) outs(%em : tensor<64x28x28xf16>) -> tensor<64x28x28xf16>
  %m = linalg.generic {indexing_maps = [#p, #k, #q], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %window : tensor<64x29x29xf16>, tensor<2x2xf16>) outs(%fm : tensor<64x28x28xf16>) attrs = {mlopt.op = "max_pool"} {
  ^bb0(%a: f16, %unused: f16, %o: f16):
    %t = arith.maximumf %o, %a : f16
    linalg.yield %t : f16
  } -> tensor<64x28x28xf16>
  %b = tensor.expand_shape %m [[0], [1, 2], [3, 4]] output_shape [64, 14, 2, 14, 2] : tensor<64x28x28xf16> into tensor<64x14x2x14x2xf16>
  %e = tensor.empty() : tensor<64x15x2x15x2xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<64x15x2x15x2xf16>) -> tensor<64x15x2x15x2xf16>
  %p = tensor.insert_slice %b into %f[0, 1, 0, 1, 0] [64, 14, 2, 14, 2] [1, 1, 1, 1, 1] {mlopt.op = "pad"} : tensor<64x14x2x14x2xf16> into tensor<64x15x2x15x2xf16>
  %ey = tensor.empty() : tensor<64x14x14xf16>
  %fy = linalg.fill ins(%zero : f16) outs(%ey : tensor<64x14x14xf16>) -> tensor<64x14x14xf16>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %w : tensor<64x15x2x15x2xf16>, tensor<64x3x3x64xf16>) outs(%fy : tensor<64x14x14xf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f16, %u: f16, %o: f16):
    %t = arith.mulf %a, %u : f16
    %s = arith.addf %o, %t : f16
    linalg.yield %s : f16
  } -> tensor<64x14x14xf16>
  return %c : tensor<64x14x14xf16>
}
