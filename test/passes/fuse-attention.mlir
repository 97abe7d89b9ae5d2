// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse,mlopt-outline,mlopt-schedule,mlopt-tile,canonicalize,cse)' | FileCheck %s --check-prefix=TILE

// One row for each of twelve heads: twelve tasks are fewer than the sixteen that are wanted, and enough.
// CHECK: mlopt.fusion = []
// CHECK-LABEL: func.func @one_row
// CHECK: mlopt.group = 0 : i64, mlopt.op = "scores"
// CHECK: mlopt.group = 0 : i64, {{.*}}zero_rows = true
// The scores of a task are sums along each of its keys.
// TILE: scf.forall (%{{.*}}) in (12)
// TILE:   scf.for
// TILE:     vector.multi_reduction <add>, %{{.*}} [2] : vector<1x64x64xf32> to vector<1x64xf32>
// TILE:     vector.multi_reduction <maximumf>
// TILE:     vector.contract
#rows = affine_map<(b, n, d) -> (b, d)>
#keys = affine_map<(b, n, d) -> (b, n, d)>
#scores = affine_map<(b, n, d) -> (b, n)>
#weights = affine_map<(b, d, n) -> (b, n)>
#values = affine_map<(b, d, n) -> (b, n, d)>
#sums = affine_map<(b, d, n) -> (b, d)>
func.func @one_row(%q: tensor<12x64xf32>, %k: tensor<12x512x64xf32>, %v: tensor<12x512x64xf32>) -> tensor<12x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<12x512xf32>) -> tensor<12x512xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<12x64xf32>, tensor<12x512x64xf32>) outs(%f : tensor<12x512xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<12x512xf32>
  %e2 = tensor.empty() : tensor<12x64xf32>
  %r = "mlopt.attention"(%s, %v, %e2) {indexing_maps = [#weights, #values, #sums], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], mlopt.op = "attention", zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<12x512xf32>, tensor<12x512x64xf32>, tensor<12x64xf32>) -> tensor<12x64xf32>
  return %r : tensor<12x64xf32>
}
