// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-hoist)' --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// A vector broadcast to 4 MB is not worth keeping.
// CHECK-NOT: @prepare
// CHECK-LABEL: func.func @main
// CHECK: linalg.generic {{.*}}{mlopt.op = "broadcast"}
func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<1024xf32> {mlopt.weight}) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %b = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1024xf32>) outs(%e : tensor<1024x1024xf32>) attrs = {mlopt.op = "broadcast"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1024x1024xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

// -----

// A buffer that each call writes onto is not kept, though all that is in it so far comes from a weight.
// CHECK-NOT: @prepare
// CHECK-LABEL: func.func @main
// CHECK: tensor.insert_slice %arg1
// CHECK: tensor.insert_slice %arg0
func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {mlopt.weight}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = tensor.insert_slice %w into %e[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %b = tensor.insert_slice %x into %a[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

// Without weights and constants there is nothing to prepare.
// CHECK-NOT: @prepare
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
