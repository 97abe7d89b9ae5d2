// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-join-products)' --split-input-file | FileCheck %s

// Results of the function: parts of one would have to be copied.
// CHECK: mlopt.decisions = [{bytes = 1024 : i64, from = -1 : i64, ops = "{{.*}}: matmul | matmul", reason = "the caller reads one of them, and only products and attention read a part where it is", seconds = {{.*}}, to = -1 : i64, where = ["{{.*}}:{{[0-9]+}}", "{{.*}}:{{[0-9]+}}"]}]
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor.insert_slice
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @main(%x: tensor<16x16xf32>, %v: tensor<16x16xf32> {mlopt.weight}, %w: tensor<16x16xf32> {mlopt.weight}) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %n = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %m, %n : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Inputs are not concatenated, each call would have to do it.
// CHECK: mlopt.decisions = [{bytes = 1024 : i64, {{.*}}reason = "their right factors are no weights, and would be put side by side in each call"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor.insert_slice
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @main(%x: tensor<16x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>, %y: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %n = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %g = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%m, %y : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %h = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%n, %y : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %g, %h : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Products of two tensors.
// CHECK: module {
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor.insert_slice
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @main(%x: tensor<16x16xf32>, %z: tensor<16x16xf32>, %v: tensor<16x16xf32> {mlopt.weight}, %w: tensor<16x16xf32> {mlopt.weight}, %y: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %n = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%z, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %g = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%m, %y : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %h = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%n, %y : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %g, %h : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// An element-wise reader would have been fused with its product.
// CHECK: mlopt.decisions = [{{.*}}reason = "gate reads one of them, and only products and attention read a part where it is"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor.insert_slice
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @main(%x: tensor<16x16xf32>, %v: tensor<16x16xf32> {mlopt.weight}, %w: tensor<16x16xf32> {mlopt.weight}, %y: tensor<16x16xf32>) -> (tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %n = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %n : tensor<16x16xf32>, tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) attrs = {mlopt.op = "gate"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}
