// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-narrow-weights)' --split-input-file | FileCheck %s

// 256 rows are as long in multiplying: weights that are widened once come from memory while they do.
// CHECK: reason = "with its weights widened in its kernel it takes {{.*}}s, with them made once {{.*}}s"
// CHECK-LABEL: @main
// CHECK-NOT: mlopt.widens
#id = affine_map<(n, k) -> (n, k)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<256x4096xbf16>, %w: tensor<4096x4096xi8> {mlopt.weight}) -> tensor<256x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x4096xbf16>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4096x4096xi8>) outs(%e : tensor<4096x4096xbf16>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: i8, %out: bf16):
    %0 = arith.sitofp %in : i8 to bf16
    linalg.yield %0 : bf16
  } -> tensor<4096x4096xbf16>
  %0 = tensor.empty() : tensor<256x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%0 : tensor<256x4096xf32>) -> tensor<256x4096xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<256x4096xbf16>, tensor<4096x4096xbf16>) outs(%f : tensor<256x4096xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%l: bf16, %q: bf16, %out: f32):
    %1 = arith.extf %l : bf16 to f32
    %2 = arith.extf %q : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<256x4096xf32>
  return %r : tensor<256x4096xf32>
}

// -----

// What others read, too, is in memory in any case.
// CHECK: reason = "others read what is made of the weights, too"
// CHECK-LABEL: @main
// CHECK-NOT: mlopt.widens
#id = affine_map<(n, k) -> (n, k)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xi8> {mlopt.weight}) -> (tensor<16x4096xf32>, tensor<4096x4096xbf16>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x4096xbf16>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4096x4096xi8>) outs(%e : tensor<4096x4096xbf16>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: i8, %out: bf16):
    %0 = arith.sitofp %in : i8 to bf16
    linalg.yield %0 : bf16
  } -> tensor<4096x4096xbf16>
  %0 = tensor.empty() : tensor<16x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<16x4096xbf16>, tensor<4096x4096xbf16>) outs(%f : tensor<16x4096xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%l: bf16, %q: bf16, %out: f32):
    %1 = arith.extf %l : bf16 to f32
    %2 = arith.extf %q : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<16x4096xf32>
  return %r, %v : tensor<16x4096xf32>, tensor<4096x4096xbf16>
}

// -----

// An argument is no weight: each call casts it without this.
// CHECK-NOT: mlopt.rewrites
// CHECK-LABEL: @main
// CHECK-NOT: mlopt.widens
#id = affine_map<(n, k) -> (n, k)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xi8>) -> tensor<16x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x4096xbf16>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4096x4096xi8>) outs(%e : tensor<4096x4096xbf16>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: i8, %out: bf16):
    %0 = arith.sitofp %in : i8 to bf16
    linalg.yield %0 : bf16
  } -> tensor<4096x4096xbf16>
  %0 = tensor.empty() : tensor<16x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<16x4096xbf16>, tensor<4096x4096xbf16>) outs(%f : tensor<16x4096xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%l: bf16, %q: bf16, %out: f32):
    %1 = arith.extf %l : bf16 to f32
    %2 = arith.extf %q : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<16x4096xf32>
  return %r : tensor<16x4096xf32>
}
