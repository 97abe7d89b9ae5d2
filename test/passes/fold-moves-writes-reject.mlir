// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// Two tensors would be read across their rows, instead of their sum.
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @two
// CHECK: linalg.generic {{.*}}mlopt.op = "add"
// CHECK: linalg.generic {{.*}}mlopt.op = "transpose"
func.func @two(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %o = tensor.empty() : tensor<8x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x8xf32>) outs(%o : tensor<8x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<8x4xf32>
  return %t : tensor<8x4xf32>
}

// -----

// Others read it, too, in its own order.
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @both
// CHECK: linalg.generic {{.*}}mlopt.op = "exp"
// CHECK: linalg.generic {{.*}}mlopt.op = "transpose"
func.func @both(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %o = tensor.empty() : tensor<8x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x8xf32>) outs(%o : tensor<8x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<8x4xf32>
  return %t, %a : tensor<8x4xf32>, tensor<4x8xf32>
}

// -----

// An op that adds to its init, and one behind a sum of rows, which stays in the kernel of that sum.
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @starts
// CHECK: linalg.generic {{.*}}mlopt.op = "add"
// CHECK: linalg.generic {{.*}}mlopt.op = "transpose"
// CHECK: linalg.generic {{.*}}mlopt.op = "sum"
// CHECK: linalg.generic {{.*}}mlopt.op = "exp"
// CHECK: linalg.generic {{.*}}mlopt.op = "transpose"
func.func @starts(%x: tensor<4x8xf32>, %init: tensor<4x8xf32>, %zero: tensor<4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %o = tensor.empty() : tensor<8x4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%init : tensor<4x8xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %out: f32):
    %0 = arith.addf %p, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x8xf32>) outs(%o : tensor<8x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<8x4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%zero : tensor<4xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %out: f32):
    %0 = arith.addf %p, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %b = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4xf32>) outs(%e : tensor<4x8xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<4x8xf32>) outs(%o : tensor<8x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<8x4xf32>
  return %t, %u : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// A product whose vectors would turn, and one that adds to what is there.
#cols = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#rows = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#a = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#b = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#c = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @products
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<3x7x4xf32>)
// CHECK: linalg.generic {{.*}}mlopt.op = "columns"
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<3x7x4xf32>)
// CHECK: linalg.generic {{.*}}mlopt.op = "rows"
func.func @products(%x: tensor<3x7x5xf32>, %y: tensor<3x5x4xf32>, %init: tensor<3x7x4xf32>)
    -> (tensor<3x4x7xf32>, tensor<7x3x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x7x4xf32>
  %o = tensor.empty() : tensor<3x4x7xf32>
  %u = tensor.empty() : tensor<7x3x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x7x4xf32>) -> tensor<3x7x4xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<3x7x5xf32>, tensor<3x5x4xf32>) outs(%f : tensor<3x7x4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x7x4xf32>
  %t = linalg.generic {indexing_maps = [#cols, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%m : tensor<3x7x4xf32>) outs(%o : tensor<3x4x7xf32>) attrs = {mlopt.op = "columns"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<3x4x7xf32>
  %n = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<3x7x5xf32>, tensor<3x5x4xf32>) outs(%init : tensor<3x7x4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x7x4xf32>
  %r = linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%n : tensor<3x7x4xf32>) outs(%u : tensor<7x3x4xf32>) attrs = {mlopt.op = "rows"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<7x3x4xf32>
  return %t, %r : tensor<3x4x7xf32>, tensor<7x3x4xf32>
}
