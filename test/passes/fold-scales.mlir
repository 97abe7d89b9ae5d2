// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-scales)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-scales,mlopt-hoist,mlopt-fuse,mlopt-outline)' --split-input-file | FileCheck %s --check-prefix=KERNELS

// A bias, then a batch norm behind a convolution: the weight is scaled, the bias scaled and shifted.
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d1)>
#y = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#co = affine_map<(d0, d1, d2, d3) -> (d1)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1, d2, d3) -> (d3)>
// CHECK: mlopt.rewrites = {"mlopt-fold-scales" = [{bytes = 128 : i64, from = -1 : i64, kept = 4672 : i64, ops = "conv2d -> mul", reason = "", seconds = {{[1-9]}}
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:arg0]]: {{.*}}, %[[W:arg1]]: {{.*}}, %[[BIAS:arg2]]: {{.*}}, %[[SCALE:arg3]]: {{.*}}, %[[SHIFT:arg4]]: tensor
// CHECK: %[[V:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[LAST]], #{{.*}}], {{.*}} ins(%[[W]], %[[SCALE]] : {{.*}}mlopt.op = "mul"
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[V]] : {{.*}}mlopt.op = "conv2d"
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[BIAS]], %[[SCALE]] : {{.*}}mlopt.op = "mul"
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[SHIFT]] : {{.*}}mlopt.op = "add"
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[C]], %[[T]] : {{.*}}mlopt.op = "add"
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]
// KERNELS: @kernel_0_mul_add({{.*}} -> (tensor<8x3x3x16xf32>, tensor<16xf32>)
// KERNELS: func.func @prepare
// KERNELS: func.func private @kernel_1_conv2d_add(
// KERNELS: func.func @main
func.func @main(%x: tensor<2x8x7x7xf32>, %w: tensor<8x3x3x16xf32> {mlopt.weight}, %bias: tensor<16xf32> {mlopt.weight}, %scale: tensor<16xf32> {mlopt.weight}, %shift: tensor<16xf32> {mlopt.weight}) -> tensor<2x16x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x16x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x16x5x5xf32>) -> tensor<2x16x5x5xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<2x8x7x7xf32>, tensor<8x3x3x16xf32>) outs(%f : tensor<2x16x5x5xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x16x5x5xf32>
  %cb = linalg.generic {indexing_maps = [#id, #co, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %bias : tensor<2x16x5x5xf32>, tensor<16xf32>) outs(%e : tensor<2x16x5x5xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<2x16x5x5xf32>
  %cs = linalg.generic {indexing_maps = [#co, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%scale, %cb : tensor<16xf32>, tensor<2x16x5x5xf32>) outs(%e : tensor<2x16x5x5xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<2x16x5x5xf32>
  %ct = linalg.generic {indexing_maps = [#id, #co, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%cs, %shift : tensor<2x16x5x5xf32>, tensor<16xf32>) outs(%e : tensor<2x16x5x5xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<2x16x5x5xf32>
  return %ct : tensor<2x16x5x5xf32>
}

// -----

// The scale is made behind the contraction, from other weights: the contraction moves there.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>
#v = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @main
// CHECK: %[[SCALE:.*]] = linalg.generic {{.*}}mlopt.op = "sqrt"
// CHECK: %[[V:.*]] = linalg.generic {{.*}} ins(%arg1, %[[SCALE]] : {{.*}}mlopt.op = "mul"
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%arg0, %[[V]] : {{.*}}mlopt.op = "matmul"
// CHECK: return %[[M]]
// KERNELS: @kernel_{{[0-9]+}}_matmul(
// KERNELS-NOT: func private
func.func @main(%x: tensor<5x8xf64>, %w: tensor<8x16xf64> {mlopt.weight}, %var: tensor<16xf64> {mlopt.weight}) -> tensor<5x16xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<5x16xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<5x16xf64>) -> tensor<5x16xf64>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x8xf64>, tensor<8x16xf64>) outs(%f : tensor<5x16xf64>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f64, %q: f64, %o: f64):
    %r = arith.mulf %p, %q : f64
    %s = arith.addf %o, %r : f64
    linalg.yield %s : f64
  } -> tensor<5x16xf64>
  %e1 = tensor.empty() : tensor<16xf64>
  %scale = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%var : tensor<16xf64>) outs(%e1 : tensor<16xf64>) attrs = {mlopt.op = "sqrt"} {
  ^bb0(%p: f64, %o: f64):
    %s = math.sqrt %p : f64
    linalg.yield %s : f64
  } -> tensor<16xf64>
  %r = linalg.generic {indexing_maps = [#id, #n, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %scale : tensor<5x16xf64>, tensor<16xf64>) outs(%e : tensor<5x16xf64>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f64, %q: f64, %o: f64):
    %s = arith.mulf %p, %q : f64
    linalg.yield %s : f64
  } -> tensor<5x16xf64>
  return %r : tensor<5x16xf64>
}
