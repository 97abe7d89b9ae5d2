// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse,mlopt-outline)' --split-input-file | FileCheck %s

// The padded tensor is a result, too: it is made, and the pooling has a pad of its own.
#x = affine_map<(i, k) -> (i + k)>
#k = affine_map<(i, k) -> (k)>
#y = affine_map<(i, k) -> (i)>
// CHECK-LABEL: func.func @main
// CHECK: @kernel_{{[0-9]}}_pad(
// CHECK: @kernel_{{[0-9]}}_pad_max_pool(%arg0
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<10xf32>) {
  %inf = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<10xf32>
  %f = linalg.fill ins(%inf : f32) outs(%e : tensor<10xf32>) -> tensor<10xf32>
  %p = tensor.insert_slice %x into %f[1] [8] [1] {mlopt.op = "pad"} : tensor<8xf32> into tensor<10xf32>
  %k3 = tensor.empty() : tensor<3xf32>
  %e3 = tensor.empty() : tensor<8xf32>
  %i3 = linalg.fill ins(%inf : f32) outs(%e3 : tensor<8xf32>) -> tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "reduction"]}
      ins(%p, %k3 : tensor<10xf32>, tensor<3xf32>) outs(%i3 : tensor<8xf32>) attrs = {mlopt.op = "max_pool"} {
  ^bb0(%in: f32, %unused: f32, %out: f32):
    %m = arith.maximumf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  return %a, %p : tensor<8xf32>, tensor<10xf32>
}

// -----

// Zeros between the elements are no padding around them.
#x = affine_map<(i, k) -> (i + k)>
#k = affine_map<(i, k) -> (k)>
#y = affine_map<(i, k) -> (i)>
// CHECK-LABEL: func.func @main
// CHECK: @kernel_{{[0-9]}}_fill
// CHECK: @kernel_{{[0-9]}}_insert(
// CHECK: @kernel_{{[0-9]}}_max_pool(
func.func @main(%x: tensor<5xf32>) -> tensor<8xf32> {
  %inf = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<10xf32>
  %f = linalg.fill ins(%inf : f32) outs(%e : tensor<10xf32>) -> tensor<10xf32>
  %p = tensor.insert_slice %x into %f[1] [5] [2] {mlopt.op = "insert"} : tensor<5xf32> into tensor<10xf32>
  %k3 = tensor.empty() : tensor<3xf32>
  %e3 = tensor.empty() : tensor<8xf32>
  %i3 = linalg.fill ins(%inf : f32) outs(%e3 : tensor<8xf32>) -> tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "reduction"]}
      ins(%p, %k3 : tensor<10xf32>, tensor<3xf32>) outs(%i3 : tensor<8xf32>) attrs = {mlopt.op = "max_pool"} {
  ^bb0(%in: f32, %unused: f32, %out: f32):
    %m = arith.maximumf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  return %a : tensor<8xf32>
}
