// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-hoist)' | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d1)>
#vec = affine_map<(d0) -> (d0)>

// The transposed weight and the mask, which depends on nothing, are made once; a view of the weight is not.
// CHECK-LABEL: func.func @prepare
// CHECK-SAME: (%[[PW:.*]]: tensor<8x4xf32> {mlopt.bool, mlopt.weight}, %{{.*}}: tensor<2x4xf32> {mlopt.weight}) -> (tensor<4x8xf32>, tensor<8xi64>)
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[PW]] {{.*}}{mlopt.op = "transpose"}
// CHECK: %[[A:.*]] = linalg.generic {{.*}}{mlopt.op = "arange"}
// CHECK: return %[[T]], %[[A]]

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4x8xf32>, %{{.*}}: tensor<8x4xf32> {mlopt.bool, mlopt.weight}, %[[B:[a-z0-9]*]]: tensor<2x4xf32> {mlopt.weight}
// CHECK-SAME: %[[PT:[a-z0-9]*]]: tensor<4x8xf32> {mlopt.prepared}, %[[PA:[a-z0-9]*]]: tensor<8xi64> {mlopt.prepared}
// CHECK-NOT: transpose
// CHECK: tensor.collapse_shape %[[B]]
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[PT]], %[[PA]]
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x4xf32> {mlopt.weight, mlopt.bool}, %b: tensor<2x4xf32> {mlopt.weight})
    -> (tensor<4x8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8xf32>
  %ei = tensor.empty() : tensor<8xi64>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%ei : tensor<8xi64>)
      attrs = {mlopt.op = "arange"} {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<8xi64>
  %v = tensor.collapse_shape %b [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #row, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t, %a, %v : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xi64>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %i: i64, %s: f32, %out: f32):
    %f = arith.sitofp %i : i64 to f32
    %0 = arith.addf %p, %q : f32
    %1 = arith.mulf %0, %f : f32
    %2 = arith.addf %1, %s : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  return %r, %v : tensor<4x8xf32>, tensor<8xf32>
}
