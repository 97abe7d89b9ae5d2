// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-weights-in-place{tf32=true})' --split-input-file | FileCheck %s

// Half floats are turned on their way to tensor cores.
#turned = affine_map<(k, n) -> (n, k)>
#id = affine_map<(k, n) -> (k, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: @half
// CHECK: mlopt.op = "transpose"
func.func @half(%x: tensor<64x96xbf16>, %w: tensor<80x96xbf16> {mlopt.weight}) -> tensor<64x80xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96x80xbf16>
  %t = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<80x96xbf16>) outs(%e : tensor<96x80xbf16>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<96x80xbf16>
  %0 = tensor.empty() : tensor<64x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<64x96xbf16>, tensor<96x80xbf16>) outs(%f : tensor<64x80xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: bf16, %q: bf16, %s: f32):
    %u = arith.extf %p : bf16 to f32
    %v = arith.extf %q : bf16 to f32
    %1 = arith.mulf %u, %v : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x80xf32>
  return %r : tensor<64x80xf32>
}

// -----

// Tensor cores make no product of 15 rows.
#turned = affine_map<(k, n) -> (n, k)>
#id = affine_map<(k, n) -> (k, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: @few
// CHECK: mlopt.op = "transpose"
func.func @few(%x: tensor<15x96xf32>, %w: tensor<80x96xf32> {mlopt.weight}) -> tensor<15x80xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96x80xf32>
  %t = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<80x96xf32>) outs(%e : tensor<96x80xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<96x80xf32>
  %0 = tensor.empty() : tensor<15x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%0 : tensor<15x80xf32>) -> tensor<15x80xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<15x96xf32>, tensor<96x80xf32>) outs(%f : tensor<15x80xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %1 = arith.mulf %p, %q : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<15x80xf32>
  return %r : tensor<15x80xf32>
}

// -----

// What is no weight is left to mlopt-fold-moves, which knows who else reads it.
#turned = affine_map<(k, n) -> (n, k)>
#id = affine_map<(k, n) -> (k, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: @no_weight
// CHECK: mlopt.op = "transpose"
func.func @no_weight(%x: tensor<64x96xf32>, %w: tensor<80x96xf32>) -> tensor<64x80xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96x80xf32>
  %t = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<80x96xf32>) outs(%e : tensor<96x80xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<96x80xf32>
  %0 = tensor.empty() : tensor<64x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<64x96xf32>, tensor<96x80xf32>) outs(%f : tensor<64x80xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %1 = arith.mulf %p, %q : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x80xf32>
  return %r : tensor<64x80xf32>
}
