// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-spread-planes,mlopt-verify)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-spread-planes,mlopt-fuse,mlopt-outline,mlopt-collapse-dims)' --split-input-file | FileCheck %s --check-prefix=FUSED

// Channels of 32x32 f32 are a page apart: a padded copy, which stays in memory, has them 4624 bytes apart.
#x = affine_map<(o, h, w, c, i, j) -> (c, h + i, w + j)>
#k = affine_map<(o, h, w, c, i, j) -> (c, i, j, o)>
#y = affine_map<(o, h, w, c, i, j) -> (o, h, w)>
// CHECK: mlopt.rewrites = {"mlopt-spread-planes" = [{bytes = -147968 : i64, {{.*}}ops = "planes of conv2d", {{.*}}reason = ""
// CHECK-LABEL: func.func @padded
// CHECK: %[[PAD:.*]] = tensor.insert_slice %arg0 into %{{.*}}[0, 1, 1] [16, 32, 32] [1, 1, 1] {{.*}} into tensor<16x34x34xf32>
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[PAD]] : tensor<16x34x34xf32>) {{.*}}mlopt.op = "pixels", mlopt.stored =
// CHECK: linalg.generic {{.*}} ins(%[[COPY]], %arg1 : tensor<16x34x34xf32>, tensor<16x3x3x8xf32>)
// FUSED: func.func private @kernel_0_pad_pixels
// FUSED: func.func private @kernel_1_conv2d(%arg0: tensor<16x34x34xf32>
func.func @padded(%x: tensor<16x32x32xf32>, %w: tensor<16x3x3x8xf32> {mlopt.weight}) -> tensor<8x32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.empty() : tensor<16x34x34xf32>
  %z = linalg.fill ins(%zero : f32) outs(%p : tensor<16x34x34xf32>) -> tensor<16x34x34xf32>
  %in = tensor.insert_slice %x into %z[0, 1, 1] [16, 32, 32] [1, 1, 1] {mlopt.op = "pad"} : tensor<16x32x32xf32> into tensor<16x34x34xf32>
  %e = tensor.empty() : tensor<8x32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32x32xf32>) -> tensor<8x32x32xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%in, %w : tensor<16x34x34xf32>, tensor<16x3x3x8xf32>) outs(%f : tensor<8x32x32xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x32x32xf32>
  return %r : tensor<8x32x32xf32>
}

// -----

// Nothing is padded, and a copy as it is would have pages again: its rows get one element more each.
#x = affine_map<(o, h, w, c, i, j) -> (c, h + i, w + j)>
#k = affine_map<(o, h, w, c, i, j) -> (c, i, j, o)>
#y = affine_map<(o, h, w, c, i, j) -> (o, h, w)>
// CHECK-LABEL: func.func @as_it_is
// CHECK: tensor.insert_slice %arg0 into %{{.*}}[0, 0, 0] [16, 64, 64] [1, 1, 1] {{.*}} into tensor<16x64x65xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %arg1 : tensor<16x64x65xf32>, tensor<16x3x3x8xf32>)
func.func @as_it_is(%x: tensor<16x64x64xf32>, %w: tensor<16x3x3x8xf32> {mlopt.weight}) -> tensor<8x62x62xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x62x62xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x62x62xf32>) -> tensor<8x62x62xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<16x64x64xf32>, tensor<16x3x3x8xf32>) outs(%f : tensor<8x62x62xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x62x62xf32>
  return %r : tensor<8x62x62xf32>
}

// -----

// A batch of any size.
#x = affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>
#k = affine_map<(n, o, h, w, c, i, j) -> (c, i, j, o)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
// CHECK-LABEL: func.func @batch
// CHECK: %[[N:.*]] = tensor.dim %arg0, %c0
// CHECK: tensor.insert_slice %arg0 into %{{.*}}[0, 0, 0, 0] [%{{.*}}, 16, 64, 32] [1, 1, 1, 1] {{.*}} into tensor<?x16x64x33xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %arg1 : tensor<?x16x64x33xf32>, tensor<16x3x3x8xf32>)
func.func @batch(%x: tensor<?x16x64x32xf32>, %w: tensor<16x3x3x8xf32> {mlopt.weight}) -> tensor<?x8x62x30xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x16x64x32xf32>
  %e = tensor.empty(%n) : tensor<?x8x62x30xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8x62x30xf32>) -> tensor<?x8x62x30xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<?x16x64x32xf32>, tensor<16x3x3x8xf32>) outs(%f : tensor<?x8x62x30xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x8x62x30xf32>
  return %r : tensor<?x8x62x30xf32>
}
