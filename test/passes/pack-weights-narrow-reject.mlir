// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-pack-weights{vector-bits=256})' | FileCheck %s

// 24 channels of the result are no multiple of a window's strip.
#x = affine_map<(o, h, w, c, kh, kw) -> (c, h + kh, w + kw)>
#k = affine_map<(o, h, w, c, kh, kw) -> (kh, kw, c, o)>
#y = affine_map<(o, h, w, c, kh, kw) -> (o, h, w)>
// CHECK: reason = "24 columns are no multiple of 16"
// CHECK-LABEL: func.func @window
// CHECK-NOT: "pack"
// CHECK: return
func.func @window(%x: tensor<8x9x9xf32>, %w: tensor<3x3x8x24xf32> {mlopt.weight}) -> tensor<24x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x7x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<24x7x7xf32>) -> tensor<24x7x7xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<8x9x9xf32>, tensor<3x3x8x24xf32>) outs(%f : tensor<24x7x7xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<24x7x7xf32>
  return %r : tensor<24x7x7xf32>
}
