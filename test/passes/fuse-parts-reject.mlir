// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// The second part covers some of the first.
// CHECK: mlopt.fusion = ["first -> second: a part may lie over another one"]
func.func @over(%a: tensor<64x24xf32>, %b: tensor<64x24xf32>) -> tensor<64x40xf32> {
  %o = tensor.empty() : tensor<64x40xf32>
  %1 = tensor.insert_slice %a into %o[0, 0] [64, 24] [1, 1] {mlopt.op = "first"} : tensor<64x24xf32> into tensor<64x40xf32>
  %2 = tensor.insert_slice %b into %1[0, 16] [64, 24] [1, 1] {mlopt.op = "second"} : tensor<64x24xf32> into tensor<64x40xf32>
  return %2 : tensor<64x40xf32>
}

// -----

// Where a part lies is not known.
// CHECK: mlopt.fusion = ["first -> second: a part may lie over another one"]
func.func @anywhere(%a: tensor<64x20xf32>, %b: tensor<64x20xf32>, %at: index) -> tensor<64x40xf32> {
  %o = tensor.empty() : tensor<64x40xf32>
  %1 = tensor.insert_slice %a into %o[0, 0] [64, 20] [1, 1] {mlopt.op = "first"} : tensor<64x20xf32> into tensor<64x40xf32>
  %2 = tensor.insert_slice %b into %1[0, %at] [64, 20] [1, 1] {mlopt.op = "second"} : tensor<64x20xf32> into tensor<64x40xf32>
  return %2 : tensor<64x40xf32>
}

// -----

// Large parts of different sizes: a task would write all of their rows.
// CHECK: mlopt.fusion = ["concat -> concat: of parts of different sizes one task would write all"]
func.func @long(%a: tensor<4000x64xf32>, %b: tensor<96x64xf32>) -> tensor<4096x64xf32> {
  %o = tensor.empty() : tensor<4096x64xf32>
  %1 = tensor.insert_slice %a into %o[0, 0] [4000, 64] [1, 1] {mlopt.op = "concat"} : tensor<4000x64xf32> into tensor<4096x64xf32>
  %2 = tensor.insert_slice %b into %1[4000, 0] [96, 64] [1, 1] {mlopt.op = "concat"} : tensor<96x64xf32> into tensor<4096x64xf32>
  return %2 : tensor<4096x64xf32>
}

// -----

// A product writes one part.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: mlopt.fusion = ["concat -> concat: a kernel with a contraction or a full reduction writes one part of a buffer"]
func.func @product(%x: tensor<64x16xf32>, %w: tensor<16x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x16xf32>, tensor<16x64xf32>) outs(%f : tensor<64x64xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<64x64xf32>
  %o = tensor.empty() : tensor<64x128xf32>
  %1 = tensor.insert_slice %p into %o[0, 0] [64, 64] [1, 1] {mlopt.op = "concat"} : tensor<64x64xf32> into tensor<64x128xf32>
  %2 = tensor.insert_slice %y into %1[0, 64] [64, 64] [1, 1] {mlopt.op = "concat"} : tensor<64x64xf32> into tensor<64x128xf32>
  return %2 : tensor<64x128xf32>
}
