// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' | FileCheck %s

// What is computed before running totals and behind them is in their kernel.
// CHECK-LABEL: @beside
// CHECK: mlopt.group = [[G:[0-9]+]] : i64
// CHECK: math.exp
// CHECK: "mlopt.scan"{{.*}} mlopt.group = [[G]] : i64
// CHECK: mlopt.group = [[G]] : i64
// CHECK: arith.mulf
#id = affine_map<(i, j) -> (i, j)>
func.func @beside(%x: tensor<1000x512xf32>) -> tensor<1000x512xf32> {
  %e = tensor.empty() : tensor<1000x512xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1000x512xf32>) outs(%e : tensor<1000x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %y = math.exp %p : f32
    linalg.yield %y : f32
  } -> tensor<1000x512xf32>
  %s = "mlopt.scan"(%a, %e) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<1000x512xf32>, tensor<1000x512xf32>) -> tensor<1000x512xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<1000x512xf32>) outs(%e : tensor<1000x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %y = arith.mulf %p, %p : f32
    linalg.yield %y : f32
  } -> tensor<1000x512xf32>
  return %r : tensor<1000x512xf32>
}
