// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-join-products)' --split-input-file | FileCheck %s

// Queries and keys of one tensor: one product with both weights, and the bias of both.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK: mlopt.decisions = [{bytes = 8192 : i64, from = -1 : i64, ops = "{{.*}}: matmul | matmul", reason = "", seconds = {{.*}}, to = -1 : i64, where = ["{{.*}}:30", "{{.*}}:45"]}]
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x32xf32>, %[[WQ:[^:]+]]: tensor<32x16xf32> {{.*}}, %[[WK:[^:]+]]: tensor<32x8xf32>
// CHECK: %[[E:.*]] = tensor.empty() : tensor<32x24xf32>
// CHECK: %[[Q:.*]] = tensor.insert_slice %[[WQ]] into %[[E]][0, 0] [32, 16]
// CHECK: %[[W:.*]] = tensor.insert_slice %[[WK]] into %[[Q]][0, 16] [32, 8]
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W]] : tensor<?x32xf32>, tensor<32x24xf32>) {{.*}}mlopt.op = "matmul"
// CHECK: %[[B:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[16] [8] [1] : tensor<8xf32> into tensor<24xf32>
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%[[M]], %[[B]] : tensor<?x24xf32>, tensor<24xf32>) {{.*}}mlopt.op = "add"
// CHECK: %[[L:.*]] = tensor.extract_slice %[[A]][0, 0] [%{{.*}}, 16] [1, 1] : tensor<?x24xf32> to tensor<?x16xf32>
// CHECK: %[[R:.*]] = tensor.extract_slice %[[A]][0, 16] [%{{.*}}, 8] [1, 1] : tensor<?x24xf32> to tensor<?x8xf32>
// CHECK: ins(%[[L]], %{{.*}}) {{.*}}mlopt.op = "product"
// CHECK: ins(%[[R]], %{{.*}}) {{.*}}mlopt.op = "product"
func.func @main(%x: tensor<?x32xf32>, %wq: tensor<32x16xf32> {mlopt.weight}, %wk: tensor<32x8xf32> {mlopt.weight},
                %bq: tensor<16xf32> {mlopt.weight}, %bk: tensor<8xf32> {mlopt.weight},
                %y: tensor<16x4xf32>, %z: tensor<8x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %e0 = tensor.empty(%n) : tensor<?x16xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x16xf32>) -> tensor<?x16xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wq : tensor<?x32xf32>, tensor<32x16xf32>) outs(%f0 : tensor<?x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x16xf32>
  %qb = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q, %bq : tensor<?x16xf32>, tensor<16xf32>) outs(%e0 : tensor<?x16xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.addf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<?x16xf32>
  %e1 = tensor.empty(%n) : tensor<?x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x8xf32>) -> tensor<?x8xf32>
  %k = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wk : tensor<?x32xf32>, tensor<32x8xf32>) outs(%f1 : tensor<?x8xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x8xf32>
  %kb = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%k, %bk : tensor<?x8xf32>, tensor<8xf32>) outs(%e1 : tensor<?x8xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.addf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  %e2 = tensor.empty(%n) : tensor<?x4xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x4xf32>) -> tensor<?x4xf32>
  %g = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%qb, %y : tensor<?x16xf32>, tensor<16x4xf32>) outs(%f2 : tensor<?x4xf32>) attrs = {mlopt.op = "product"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x4xf32>
  %h = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%kb, %z : tensor<?x8xf32>, tensor<8x4xf32>) outs(%f2 : tensor<?x4xf32>) attrs = {mlopt.op = "product"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x4xf32>
  return %g, %h : tensor<?x4xf32>, tensor<?x4xf32>
}
