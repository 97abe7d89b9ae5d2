// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' | FileCheck %s

// Two tasks for all of two long heads: scores are made by more.
// CHECK: mlopt.fusion = ["scores -> attention: only 2 tasks would be left, 16 are wanted"]
// CHECK-LABEL: func.func @few_tasks
#rows = affine_map<(b, n, d) -> (b, d)>
#keys = affine_map<(b, n, d) -> (b, n, d)>
#scores = affine_map<(b, n, d) -> (b, n)>
#weights = affine_map<(b, d, n) -> (b, n)>
#values = affine_map<(b, d, n) -> (b, n, d)>
#sums = affine_map<(b, d, n) -> (b, d)>
func.func @few_tasks(%q: tensor<2x64xf32>, %k: tensor<2x8192x64xf32>, %v: tensor<2x8192x64xf32>) -> tensor<2x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8192xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8192xf32>) -> tensor<2x8192xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x64xf32>, tensor<2x8192x64xf32>) outs(%f : tensor<2x8192xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x8192xf32>
  %e2 = tensor.empty() : tensor<2x64xf32>
  %r = "mlopt.attention"(%s, %v, %e2) {indexing_maps = [#weights, #values, #sums], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], mlopt.op = "attention", zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<2x8192xf32>, tensor<2x8192x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  return %r : tensor<2x64xf32>
}
