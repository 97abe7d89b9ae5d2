// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// What is returned twice is written twice by the kernel that makes it.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: @twice
// CHECK: %[[MADE:.*]] = linalg.generic {{.*}}mlopt.group = 0 : i64, mlopt.op = "double"
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}}ins(%[[MADE]] {{.*}}mlopt.group = 0 : i64, mlopt.op = "copy"
// CHECK: return %[[MADE]], %[[COPY]]
func.func @twice(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %e = tensor.empty() : tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) attrs = {mlopt.op = "double"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %in : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  return %d, %d : tensor<64x128xf32>, tensor<64x128xf32>
}

// -----

// An argument that is returned is copied by what reads it.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: @argument
// CHECK-SAME: %[[X:.*]]: tensor<64x128xf32>
// CHECK: %[[MADE:.*]] = linalg.generic {{.*}}mlopt.group = 0 : i64, mlopt.op = "double"
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}}ins(%[[X]] {{.*}}mlopt.group = 0 : i64, mlopt.op = "copy"
// CHECK: return %[[COPY]], %[[MADE]]
func.func @argument(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %e = tensor.empty() : tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) attrs = {mlopt.op = "double"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %in : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  return %x, %d : tensor<64x128xf32>, tensor<64x128xf32>
}

// -----

// Of a view it is what it views that is copied, whatever its size.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: @viewed
// CHECK: %[[MADE:.*]] = linalg.generic {{.*}}mlopt.group = 0 : i64, mlopt.op = "double"
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}}ins(%[[MADE]] {{.*}}mlopt.group = 0 : i64, mlopt.op = "copy"
// CHECK: %[[VIEW:.*]] = tensor.expand_shape %[[COPY]]
// CHECK: return %[[MADE]], %[[VIEW]]
func.func @viewed(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?x1xf32>) {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) attrs = {mlopt.op = "double"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %in : f32
    linalg.yield %a : f32
  } -> tensor<?xf32>
  %v = tensor.expand_shape %d [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  return %d, %v : tensor<?xf32>, tensor<?x1xf32>
}
