// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda})' | FileCheck %s

// Windows that overlap along both dims: a thread has four results of each of four rows below each other.
// CHECK-LABEL: @padded
// CHECK-SAME: tile = array<i64: 1, 8, 0, 1, 1>, warps = array<i64: 1>
func.func private @padded(%x: tensor<8x32x64xf32>, %out: tensor<8x32x64xf32>) -> tensor<8x32x64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x34x66xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x34x66xf32>) -> tensor<8x34x66xf32>
  %p = tensor.insert_slice %x into %fill[0, 1, 1] [8, 32, 64] [1, 1, 1] : tensor<8x32x64xf32> into tensor<8x34x66xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<8x32x64xf32>) -> tensor<8x32x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, i, j, k, l) -> (n, i + k, j + l)>, affine_map<(n, i, j, k, l) -> (k, l)>, affine_map<(n, i, j, k, l) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %w : tensor<8x34x66xf32>, tensor<3x3xf32>) outs(%start : tensor<8x32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<8x32x64xf32>
  return %r : tensor<8x32x64xf32>
}

// Rows of 62, of 248 bytes, begin anywhere: nobody has neighbours at once.
// CHECK-LABEL: @odd_rows
// CHECK-SAME: tile = array<i64: 1, 8, 0, 1, 1>, warps = array<i64: 4>
func.func private @odd_rows(%x: tensor<8x32x62xf32>, %out: tensor<8x32x62xf32>) -> tensor<8x32x62xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x34x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x34x64xf32>) -> tensor<8x34x64xf32>
  %p = tensor.insert_slice %x into %fill[0, 1, 1] [8, 32, 62] [1, 1, 1] : tensor<8x32x62xf32> into tensor<8x34x64xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<8x32x62xf32>) -> tensor<8x32x62xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, i, j, k, l) -> (n, i + k, j + l)>, affine_map<(n, i, j, k, l) -> (k, l)>, affine_map<(n, i, j, k, l) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %w : tensor<8x34x64xf32>, tensor<3x3xf32>) outs(%start : tensor<8x32x62xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<8x32x62xf32>
  return %r : tensor<8x32x62xf32>
}
