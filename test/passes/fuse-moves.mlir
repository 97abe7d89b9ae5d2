// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves, mlopt-fuse)' | FileCheck %s

// A transpose that mlopt-fold-moves leaves, since sums would not read along rows without it, is fused with what
// reads it: as a kernel of its own it would move 16384 bytes, which are not there to be saved any more.
// CHECK: mlopt.decisions = [{bytes = 16384 : i64, {{.*}}ops = "transpose -> sum", reason = ""
// CHECK: mlopt.rewrites = {"mlopt-fold-moves" = [{bytes = 0 : i64, {{.*}}ops = "transpose", reason = "sum would not read along rows without it; it is fused with others", seconds = 0.000000e+00
// CHECK-LABEL: func.func @left
// CHECK: mlopt.group = 0 : i64, mlopt.op = "transpose"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "sum"
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @left(%x: tensor<64x32xf32>) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x64xf32>
  %s = tensor.empty() : tensor<32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<32xf32>) -> tensor<32xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x32xf32>) outs(%e : tensor<32x64xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<32x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%t : tensor<32x64xf32>) outs(%f : tensor<32xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  return %r : tensor<32xf32>
}
