// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse,mlopt-fuse)' --split-input-file | FileCheck %s

// A batch of products: what is before one factor, and what comes after it.
// CHECK: mlopt.fusion = []
// CHECK-LABEL: @batches
// CHECK: mlopt.group = 0 : i64, mlopt.op = "neg"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "bmm"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "exp"
// CHECK-NOT: mlopt.group = 1
func.func @batches(%x: tensor<4x128x256xf32>, %y: tensor<4x256x8xf32>) -> tensor<4x128x8xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.negf %x : tensor<4x128x256xf32>
  %e = tensor.empty() : tensor<4x128x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x128x8xf32>) -> tensor<4x128x8xf32>
  %m = linalg.batch_matmul ins(%n, %y : tensor<4x128x256xf32>, tensor<4x256x8xf32>)
      outs(%f : tensor<4x128x8xf32>) -> tensor<4x128x8xf32>
  %r = math.exp %m : tensor<4x128x8xf32>
  return %r : tensor<4x128x8xf32>
}

// -----

// A convolution, its bias and relu; its weights are turned before.
#image = affine_map<(n, c, h, w) -> (n, c, h, w)>
#channel = affine_map<(n, c, h, w) -> (c)>
// CHECK: mlopt.fusion = ["transpose -> conv2d: conv2d would read an operand against its order in memory, again for each tile"]
// CHECK-LABEL: @convolution
// CHECK: mlopt.group = 1 : i64, mlopt.op = "transpose"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "conv2d"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "relu"
func.func @convolution(%x: tensor<1x8x16x16xf32>, %w: tensor<16x8x3x3xf32>, %b: tensor<16xf32>) -> tensor<1x16x14x14xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x14x14xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %c = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x8x16x16xf32>, tensor<16x8x3x3xf32>)
      outs(%f : tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %r = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %b : tensor<1x16x14x14xf32>, tensor<16xf32>) outs(%e : tensor<1x16x14x14xf32>)
      attrs = {mlopt.op = "relu"} {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %s = arith.addf %in, %bias : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  } -> tensor<1x16x14x14xf32>
  return %r : tensor<1x16x14x14xf32>
}

// -----

// The place of the largest of what is computed in each row.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK: mlopt.fusion = []
// CHECK-LABEL: @places
// CHECK: mlopt.group = 0 : i64, mlopt.op = "exp"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "argmax"
// CHECK-NOT: mlopt.group = 1
func.func @places(%x: tensor<100x77xf32>) -> (tensor<100xf32>, tensor<100xi64>) {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %n = math.exp %x : tensor<100x77xf32>
  %em = tensor.empty() : tensor<100xf32>
  %ei = tensor.empty() : tensor<100xi64>
  %f = linalg.fill ins(%least : f32) outs(%em : tensor<100xf32>) -> tensor<100xf32>
  %g = linalg.fill ins(%zero : i64) outs(%ei : tensor<100xi64>) -> tensor<100xi64>
  %r:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%n : tensor<100x77xf32>) outs(%f, %g : tensor<100xf32>, tensor<100xi64>) {
  ^bb0(%a: f32, %v: f32, %w: i64):
    %k = linalg.index 1 : index
    %j = arith.index_cast %k : index to i64
    %c = arith.cmpf ogt, %a, %v : f32
    %y = arith.select %c, %a, %v : f32
    %z = arith.select %c, %j, %w : i64
    linalg.yield %y, %z : f32, i64
  } -> (tensor<100xf32>, tensor<100xi64>)
  return %r#0, %r#1 : tensor<100xf32>, tensor<100xi64>
}
