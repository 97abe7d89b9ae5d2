// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// Two left factors: tiles of both would have to be read for each tile of the result.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#first = affine_map<(m, n, k) -> (k, n mod 54)>
#second = affine_map<(m, n, k) -> (k, n + 27)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK: mlopt.fusion = [{{.*}}: a kernel has one contraction
// CHECK-LABEL: @lefts
// CHECK: mlopt.group = [[G:[0-9]+]] : i64, mlopt.op = "a"
// CHECK-NOT: mlopt.group = [[G]]
// CHECK: mlopt.op = "b"
func.func @lefts(%x: tensor<17x33xf32>, %y: tensor<17x33xf32>, %w: tensor<33x27xf32>) -> tensor<17x27xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17x27xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<17x27xf32>) -> tensor<17x27xf32>
  %a0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "a"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %b0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %w : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "b"} {
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

// The left factor of one is read the other way round.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#first = affine_map<(m, n, k) -> (k, n mod 54)>
#second = affine_map<(m, n, k) -> (k, n + 27)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#at = affine_map<(m, n, k) -> (k, m)>
// CHECK: mlopt.fusion = [{{.*}}: a kernel has one contraction
// CHECK-LABEL: @turned
// CHECK: mlopt.group = [[G:[0-9]+]] : i64, mlopt.op = "a"
// CHECK-NOT: mlopt.group = [[G]]
// CHECK: mlopt.op = "b"
func.func @turned(%x: tensor<17x33xf32>, %t: tensor<33x17xf32>, %w: tensor<33x54xf32>) -> tensor<17x27xf32> {
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
  %b0 = linalg.generic {indexing_maps = [#at, #second, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%t, %w : tensor<33x17xf32>, tensor<33x54xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "b"} {
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

// More than four tiles of products do not fit a task's registers and caches.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#first = affine_map<(m, n, k) -> (k, n mod 54)>
#second = affine_map<(m, n, k) -> (k, n + 27)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK: mlopt.decisions = [{{.*}}reason = "a task would make tiles of 5 products, and has room for 4"
// CHECK-LABEL: @five
func.func @five(%x: tensor<17x33xf32>, %wa: tensor<33x27xf32>, %wb: tensor<33x27xf32>, %wc: tensor<33x27xf32>, %wd: tensor<33x27xf32>, %we: tensor<33x27xf32>) -> (tensor<17x27xf32>, tensor<17x27xf32>, tensor<17x27xf32>, tensor<17x27xf32>, tensor<17x27xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17x27xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<17x27xf32>) -> tensor<17x27xf32>
  %a0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wa : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "a"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %b0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wb : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "b"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %c0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wc : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "c"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %d0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wd : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "d"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %e0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %we : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "e"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  return %a0, %b0, %c0, %d0, %e0 : tensor<17x27xf32>, tensor<17x27xf32>, tensor<17x27xf32>, tensor<17x27xf32>, tensor<17x27xf32>
}

// -----

// Results of two widths, as queries and keys of grouped heads have: the tasks of one would be too many.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK: mlopt.decisions = [{bytes = 2244 : i64, from = {{.*}}, ops = "a | b", reason = "products of one left factor share a kernel's tasks if they have one shape, not 17x27 and 17x9", seconds =
// CHECK-LABEL: @widths
// CHECK: mlopt.group = [[G:[0-9]+]] : i64, mlopt.op = "a"
// CHECK-NOT: mlopt.group = [[G]]
// CHECK: mlopt.op = "b"
func.func @widths(%x: tensor<17x33xf32>, %w: tensor<33x27xf32>, %v: tensor<33x9xf32>) -> (tensor<17x27xf32>, tensor<17x9xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17x27xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<17x27xf32>) -> tensor<17x27xf32>
  %a0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<17x33xf32>, tensor<33x27xf32>) outs(%f : tensor<17x27xf32>) attrs = {mlopt.op = "a"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x27xf32>
  %d = tensor.empty() : tensor<17x9xf32>
  %g = linalg.fill ins(%zero : f32) outs(%d : tensor<17x9xf32>) -> tensor<17x9xf32>
  %b0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<17x33xf32>, tensor<33x9xf32>) outs(%g : tensor<17x9xf32>) attrs = {mlopt.op = "b"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<17x9xf32>
  return %a0, %b0 : tensor<17x27xf32>, tensor<17x9xf32>
}
