// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves, mlopt-fuse)' | FileCheck %s

// A product of which both factors are read against their order: the transpose stays, as a kernel of its own, and
// what it moves stays told.
// CHECK: mlopt.rewrites = {"mlopt-fold-moves" = [{bytes = 1024 : i64, {{.*}}ops = "transpose", reason = "matmul would not read along rows without it", seconds = {{[1-9]}}
// CHECK-LABEL: func.func @apart
// CHECK: mlopt.group = 1 : i64, mlopt.op = "transpose"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "matmul"
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @apart(%x: tensor<8x4xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %o = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<8x4xf32>, tensor<8x16xf32>) outs(%f : tensor<4x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
