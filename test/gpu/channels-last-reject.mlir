// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-channels-last)' | FileCheck %s
#x = affine_map<(n, o, i, j, c, k, l) -> (n, c, i + k, j + l)>
#w = affine_map<(n, o, i, j, c, k, l) -> (c, k, l, o)>
#y = affine_map<(n, o, i, j, c, k, l) -> (n, o, i, j)>
#px = affine_map<(n, o, i, j, c) -> (n, c, i, j)>
#pw = affine_map<(n, o, i, j, c) -> (c, o)>
#py = affine_map<(n, o, i, j, c) -> (n, o, i, j)>

// Exact f32 is not for tensor cores.
// CHECK-LABEL: @exact
// CHECK-NOT: transpose
// CHECK: return %{{.*}} : tensor<32x64x54x54xf32>
func.func @exact(%x: tensor<32x64x56x56xf32>, %w: tensor<64x3x3x64xf32>) -> tensor<32x64x54x54xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x64x54x54xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x64x54x54xf32>) -> tensor<32x64x54x54xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x64x56x56xf32>, tensor<64x3x3x64xf32>) outs(%f : tensor<32x64x54x54xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %u: f32, %o: f32):
    %m = arith.mulf %a, %u : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<32x64x54x54xf32>
  return %c : tensor<32x64x54x54xf32>
}

// The channels of a place are not whole pieces of 16 bytes.
// CHECK-LABEL: @few
// CHECK-NOT: transpose
// CHECK: return %{{.*}} : tensor<32x64x54x54xbf16>
func.func @few(%x: tensor<32x12x56x56xbf16>, %w: tensor<12x3x3x64xbf16>) -> tensor<32x64x54x54xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<32x64x54x54xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64x54x54xbf16>) -> tensor<32x64x54x54xbf16>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x12x56x56xbf16>, tensor<12x3x3x64xbf16>) outs(%f : tensor<32x64x54x54xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x54x54xbf16>
  return %c : tensor<32x64x54x54xbf16>
}

// What comes from outside lies along pieces of 16 bytes already: a copy costs more than it saves.
// CHECK-LABEL: @pieces
// CHECK-NOT: transpose
// CHECK: return %{{.*}} : tensor<32x64x56x56xbf16>
func.func @pieces(%x: tensor<32x64x56x56xbf16>, %w: tensor<64x64xbf16>) -> tensor<32x64x56x56xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<32x64x56x56xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64x56x56xbf16>) -> tensor<32x64x56x56xbf16>
  %c = linalg.generic {indexing_maps = [#px, #pw, #py], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<32x64x56x56xbf16>, tensor<64x64xbf16>) outs(%f : tensor<32x64x56x56xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x56x56xbf16>
  return %c : tensor<32x64x56x56xbf16>
}
