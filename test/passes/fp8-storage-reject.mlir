// RUN: not mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-fp8-storage)' 2>&1 | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK: error: 'arith.mulf' computes in f8E5M2, but 8-bit floats are stored only
func.func @product(%x: tensor<6xf8E5M2>) -> tensor<6xf8E5M2> {
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<6xf8E5M2>) outs(%x : tensor<6xf8E5M2>) {
  ^bb0(%a: f8E5M2, %o: f8E5M2):
    %b = arith.mulf %a, %a : f8E5M2
    linalg.yield %b : f8E5M2
  } -> tensor<6xf8E5M2>
  return %y : tensor<6xf8E5M2>
}

// -----

// CHECK: error: 'linalg.matmul' computes in f8E4M3FN
func.func @matmul(%x: tensor<4x4xf8E4M3FN>, %o: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %y = linalg.matmul ins(%x, %x : tensor<4x4xf8E4M3FN>, tensor<4x4xf8E4M3FN>) outs(%o : tensor<4x4xf16>) -> tensor<4x4xf16>
  return %y : tensor<4x4xf16>
}

// -----

// CHECK: error: a constant tensor<2xf8E4M3FN> with several values
func.func @values() -> tensor<2xf8E4M3FN> {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf8E4M3FN>
  return %c : tensor<2xf8E4M3FN>
}
