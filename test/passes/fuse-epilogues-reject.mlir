// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse,mlopt-fuse)' --split-input-file | FileCheck %s

// Each of many columns would compute the factor of its batch again.
// CHECK: mlopt.fusion = ["exp -> bmm: what would be computed again costs more than is saved: exp, 256 times"]
// CHECK-LABEL: @batches
func.func @batches(%x: tensor<4x64x64xf32>, %y: tensor<4x64x512xf32>) -> tensor<4x64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %n = math.exp %x : tensor<4x64x64xf32>
  %e = tensor.empty() : tensor<4x64x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x64x512xf32>) -> tensor<4x64x512xf32>
  %m = linalg.batch_matmul ins(%n, %y : tensor<4x64x64xf32>, tensor<4x64x512xf32>)
      outs(%f : tensor<4x64x512xf32>) -> tensor<4x64x512xf32>
  return %m : tensor<4x64x512xf32>
}

// -----

// What follows a convolution in its kernel is element-wise.
// CHECK: mlopt.fusion = ["conv2d -> conv2d: a kernel has one contraction, not conv2d and conv2d"
// CHECK-LABEL: @convolution
func.func @convolution(%x: tensor<1x8x16x16xf32>, %w: tensor<16x8x3x3xf32>, %v: tensor<16x16x3x3xf32>) -> tensor<1x16x12x12xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x14x14xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %c = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x8x16x16xf32>, tensor<16x8x3x3xf32>)
      outs(%f : tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %e2 = tensor.empty() : tensor<1x16x12x12xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x16x12x12xf32>) -> tensor<1x16x12x12xf32>
  %d = linalg.conv_2d_nchw_fchw ins(%c, %v : tensor<1x16x14x14xf32>, tensor<16x16x3x3xf32>)
      outs(%f2 : tensor<1x16x12x12xf32>) -> tensor<1x16x12x12xf32>
  return %d : tensor<1x16x12x12xf32>
}
