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
// CHECK: mlopt.fusion = ["concat -> concat: matmul's kernel writes one part of a buffer, there would be 2"]
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

// -----

// More parts than one kernel writes.
// CHECK: mlopt.fusion = ["concat -> concat: a kernel writes at most 16 parts of buffers, so that it compiles in bounded time"]
func.func @many(%x: tensor<64x4xf32>) -> tensor<64x68xf32> {
  %0 = tensor.empty() : tensor<64x68xf32>
  %1 = tensor.insert_slice %x into %0[0, 0] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %2 = tensor.insert_slice %x into %1[0, 4] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %3 = tensor.insert_slice %x into %2[0, 8] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %4 = tensor.insert_slice %x into %3[0, 12] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %5 = tensor.insert_slice %x into %4[0, 16] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %6 = tensor.insert_slice %x into %5[0, 20] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %7 = tensor.insert_slice %x into %6[0, 24] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %8 = tensor.insert_slice %x into %7[0, 28] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %9 = tensor.insert_slice %x into %8[0, 32] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %10 = tensor.insert_slice %x into %9[0, 36] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %11 = tensor.insert_slice %x into %10[0, 40] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %12 = tensor.insert_slice %x into %11[0, 44] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %13 = tensor.insert_slice %x into %12[0, 48] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %14 = tensor.insert_slice %x into %13[0, 52] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %15 = tensor.insert_slice %x into %14[0, 56] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %16 = tensor.insert_slice %x into %15[0, 60] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  %17 = tensor.insert_slice %x into %16[0, 64] [64, 4] [1, 1] {mlopt.op = "concat"} : tensor<64x4xf32> into tensor<64x68xf32>
  return %17 : tensor<64x68xf32>
}
