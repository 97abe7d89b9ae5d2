// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-split-products)' | FileCheck %s

// It has blocks for all multiprocessors.
// CHECK-LABEL: @large
// CHECK-NOT: tensor.expand_shape
func.func @large(%a: tensor<4096x8192xbf16>, %b: tensor<8192x4096xbf16>) -> tensor<4096x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4096x8192xbf16>, tensor<8192x4096xbf16>) outs(%f : tensor<4096x4096xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// A sum of parts would take longer than what they save.
// CHECK-LABEL: @shallow
// CHECK-NOT: tensor.expand_shape
func.func @shallow(%a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%f : tensor<512x512xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}

// No number of parts leaves whole steps.
// CHECK-LABEL: @ragged
// CHECK-NOT: tensor.expand_shape
func.func @ragged(%a: tensor<512x8176xbf16>, %b: tensor<8176x512xbf16>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<512x8176xbf16>, tensor<8176x512xbf16>) outs(%f : tensor<512x512xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}

// Nobody knows how much it is.
// CHECK-LABEL: @dynamic
// CHECK-NOT: tensor.expand_shape
func.func @dynamic(%a: tensor<?x8192xbf16>, %b: tensor<8192x512xbf16>) -> tensor<?x512xf32> {
  %zero = arith.constant 0.0 : f32
  %c = arith.constant 512 : index
  %e = tensor.empty(%c) : tensor<?x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x512xf32>) -> tensor<?x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<?x8192xbf16>, tensor<8192x512xbf16>) outs(%f : tensor<?x512xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<?x512xf32>
  return %r : tensor<?x512xf32>
}

// Tensor cores would not be exact.
// CHECK-LABEL: @exact
// CHECK-NOT: tensor.expand_shape
func.func @exact(%a: tensor<512x8192xf32>, %b: tensor<8192x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<512x8192xf32>, tensor<8192x512xf32>) outs(%f : tensor<512x512xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}

// Its sums do not start from zero.
// CHECK-LABEL: @onto
// CHECK-NOT: tensor.expand_shape
func.func @onto(%a: tensor<512x8192xbf16>, %b: tensor<8192x512xbf16>) -> tensor<512x512xf32> {
  %zero = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<512x8192xbf16>, tensor<8192x512xbf16>) outs(%f : tensor<512x512xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}
