// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-dense-pixels,mlopt-verify)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-dense-pixels,mlopt-fuse,mlopt-outline,mlopt-collapse-dims)' --split-input-file | FileCheck %s --check-prefix=FUSED

// One pixel of four is copied, and what the product reads lies side by side: the copy stays in memory.
#x = affine_map<(o, h, w, c) -> (c, h, 0, w, 1)>
#k = affine_map<(o, h, w, c) -> (c, o)>
#y = affine_map<(o, h, w, c) -> (o, h, w)>
// CHECK-DAG: #[[READ:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, 0, d2, 1)>
// CHECK-DAG: #[[DENSE:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>
// CHECK: mlopt.rewrites = {"mlopt-dense-pixels" = [{bytes = -2240 : i64, {{.*}}ops = "pixels of conv2d", {{.*}}reason = ""
// CHECK-LABEL: func.func @conv
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#[[READ]], {{.*}} ins(%arg0 : tensor<8x7x2x5x2xf32>) {{.*}}mlopt.op = "pixels", mlopt.stored =
// CHECK: linalg.generic {indexing_maps = [#[[DENSE]], {{.*}} ins(%[[P]], %arg1 : tensor<8x7x5xf32>, tensor<8x64xf32>)
// FUSED: func.func private @kernel_0_pixels
// FUSED-NOT: mlopt.stored
// FUSED: func.func private @kernel_1_conv2d(%arg0: tensor<8x35xf32>
func.func @conv(%x: tensor<8x7x2x5x2xf32>, %w: tensor<8x64xf32> {mlopt.weight}) -> tensor<64x7x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x7x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x7x5xf32>) -> tensor<64x7x5xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x7x2x5x2xf32>, tensor<8x64xf32>) outs(%f : tensor<64x7x5xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x7x5xf32>
  return %r : tensor<64x7x5xf32>
}
