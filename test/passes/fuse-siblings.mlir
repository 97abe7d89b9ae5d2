// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// The halves of a gated linear unit: a task makes a tile of each, and what is made of both.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#first = affine_map<(m, n, k) -> (k, n mod 54)>
#second = affine_map<(m, n, k) -> (k, n + 27)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: @halves
// CHECK: mlopt.group = [[G:[0-9]+]] : i64, mlopt.op = "a"
// CHECK: mlopt.group = [[G]] : i64, mlopt.op = "b"
// CHECK: mlopt.group = [[G]] : i64, mlopt.op = "mul"
func.func @halves(%x: tensor<17x33xf32>, %w: tensor<33x54xf32>) -> tensor<17x27xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17x27xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<17x27xf32>) -> tensor<17x27xf32>
  %a0 = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<17x33xf32>, tensor<33x54xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "a"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %b0 = linalg.generic {indexing_maps = [#a, #second, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<17x33xf32>, tensor<33x54xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "b"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a0, %b0 : tensor<17x27xf32>, tensor<17x27xf32>) outs(%e : tensor<17x27xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<17x27xf32>
  return %r : tensor<17x27xf32>
}

// -----

// Products by two weights.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#first = affine_map<(m, n, k) -> (k, n mod 54)>
#second = affine_map<(m, n, k) -> (k, n + 27)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: @weights
// CHECK: mlopt.group = [[G:[0-9]+]] : i64, mlopt.op = "a"
// CHECK: mlopt.group = [[G]] : i64, mlopt.op = "b"
// CHECK: mlopt.group = [[G]] : i64, mlopt.op = "mul"
func.func @weights(%x: tensor<17x33xf32>, %u: tensor<33x27xf32>, %v: tensor<33x27xf32>) -> tensor<17x27xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17x27xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<17x27xf32>) -> tensor<17x27xf32>
  %a0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "a"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %b0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "b"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a0, %b0 : tensor<17x27xf32>, tensor<17x27xf32>) outs(%e : tensor<17x27xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<17x27xf32>
  return %r : tensor<17x27xf32>
}

// -----

// Nothing is made of both: they run side by side, as both read one factor.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#first = affine_map<(m, n, k) -> (k, n mod 54)>
#second = affine_map<(m, n, k) -> (k, n + 27)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: @apart
// CHECK: mlopt.group = [[G:[0-9]+]] : i64, mlopt.op = "a"
// CHECK: mlopt.group = [[G]] : i64, mlopt.op = "b"
func.func @apart(%x: tensor<17x33xf32>, %w: tensor<33x54xf32>) -> (tensor<17x27xf32>, tensor<17x27xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17x27xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<17x27xf32>) -> tensor<17x27xf32>
  %a0 = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<17x33xf32>, tensor<33x54xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "a"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %b0 = linalg.generic {indexing_maps = [#a, #second, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<17x33xf32>, tensor<33x54xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "b"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  return %a0, %b0 : tensor<17x27xf32>, tensor<17x27xf32>
}
