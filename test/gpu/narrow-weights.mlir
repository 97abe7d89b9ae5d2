// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-narrow-weights)' --split-input-file | FileCheck %s

// 16 rows wait for 16 MB of weights, or for 32: they read the bytes as they lie, cast and scaled at each call.
#id = affine_map<(n, k) -> (n, k)>
#turned = affine_map<(k, n) -> (n, k)>
#row = affine_map<(n, k) -> (n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK: #[[W:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK: mlopt.rewrites = {"mlopt-gpu-narrow-weights" = [{bytes = 16777216 : i64, {{.*}}ops = "matmul", reason = ""
// CHECK-LABEL: @main
// CHECK: %[[V:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<4096x4096xi8>) {{.*}}mlopt.op = "cast", mlopt.widens = 1 : i64
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[V]], %arg2 : {{.*}}mlopt.op = "mul", mlopt.widens = 1 : i64
// CHECK-NOT: transpose
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[W]], #{{.*}}], {{.*}} ins(%arg0, %[[S]] : tensor<16x4096xbf16>, tensor<4096x4096xbf16>) {{.*}}mlopt.op = "matmul"
func.func @main(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xi8> {mlopt.weight}, %s: tensor<4096xbf16> {mlopt.weight}) -> tensor<16x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x4096xbf16>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4096x4096xi8>) outs(%e : tensor<4096x4096xbf16>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: i8, %out: bf16):
    %0 = arith.sitofp %in : i8 to bf16
    linalg.yield %0 : bf16
  } -> tensor<4096x4096xbf16>
  %m = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %s : tensor<4096x4096xbf16>, tensor<4096xbf16>) outs(%e : tensor<4096x4096xbf16>) attrs = {mlopt.op = "mul"} {
  ^bb0(%in: bf16, %scale: bf16, %out: bf16):
    %0 = arith.mulf %in, %scale : bf16
    linalg.yield %0 : bf16
  } -> tensor<4096x4096xbf16>
  %t = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<4096x4096xbf16>) outs(%e : tensor<4096x4096xbf16>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<4096x4096xbf16>
  %0 = tensor.empty() : tensor<16x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<16x4096xbf16>, tensor<4096x4096xbf16>) outs(%f : tensor<16x4096xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%l: bf16, %q: bf16, %out: f32):
    %1 = arith.extf %l : bf16 to f32
    %2 = arith.extf %q : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<16x4096xf32>
  return %r : tensor<16x4096xf32>
}
