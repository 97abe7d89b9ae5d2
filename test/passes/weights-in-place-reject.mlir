// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-weights-in-place)' --split-input-file | FileCheck %s

// How many rows there are is not known: it may be one.
// CHECK-LABEL: func.func @main
// CHECK: mlopt.op = "transpose"
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<?x512xf32>, %w: tensor<1024x512xf32> {mlopt.weight},
                %e: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
  %e0 = tensor.empty() : tensor<512x1024xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1024x512xf32>) outs(%e0 : tensor<512x1024xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x1024xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<?x512xf32>, tensor<512x1024xf32>) outs(%f : tensor<?x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x1024xf32>
  return %q : tensor<?x1024xf32>
}

// -----

// Fewer rows than pay for turning weights that a cache keeps.
// CHECK-LABEL: func.func @main
// CHECK: mlopt.op = "transpose"
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<127x512xf32>, %w: tensor<1024x512xf32> {mlopt.weight},
                %e: tensor<127x1024xf32>) -> tensor<127x1024xf32> {
  %e0 = tensor.empty() : tensor<512x1024xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1024x512xf32>) outs(%e0 : tensor<512x1024xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x1024xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<127x1024xf32>) -> tensor<127x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<127x512xf32>, tensor<512x1024xf32>) outs(%f : tensor<127x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<127x1024xf32>
  return %q : tensor<127x1024xf32>
}

// -----

// Fewer rows than pay for turning weights that come from memory.
// CHECK-LABEL: func.func @main
// CHECK: mlopt.op = "transpose"
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<31x4096xf32>, %w: tensor<2048x4096xf32> {mlopt.weight},
                %e: tensor<31x2048xf32>) -> tensor<31x2048xf32> {
  %e0 = tensor.empty() : tensor<4096x2048xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<2048x4096xf32>) outs(%e0 : tensor<4096x2048xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<4096x2048xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<31x2048xf32>) -> tensor<31x2048xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<31x4096xf32>, tensor<4096x2048xf32>) outs(%f : tensor<31x2048xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<31x2048xf32>
  return %q : tensor<31x2048xf32>
}

// -----

// A copy of less than 1 MB is no matter.
// CHECK-LABEL: func.func @main
// CHECK: mlopt.op = "transpose"
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<128x512xf32>, %w: tensor<511x512xf32> {mlopt.weight},
                %e: tensor<128x511xf32>) -> tensor<128x511xf32> {
  %e0 = tensor.empty() : tensor<512x511xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<511x512xf32>) outs(%e0 : tensor<512x511xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x511xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x511xf32>) -> tensor<128x511xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<128x512xf32>, tensor<512x511xf32>) outs(%f : tensor<128x511xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x511xf32>
  return %q : tensor<128x511xf32>
}

// -----

// Half floats are packed for the dot products of their pairs.
// CHECK-LABEL: func.func @main
// CHECK: mlopt.op = "transpose"
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<128x512xbf16>, %w: tensor<1024x512xbf16> {mlopt.weight},
                %e: tensor<128x1024xbf16>) -> tensor<128x1024xbf16> {
  %e0 = tensor.empty() : tensor<512x1024xbf16>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1024x512xbf16>) outs(%e0 : tensor<512x1024xbf16>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: bf16, %out: bf16):
    linalg.yield %p : bf16
  } -> tensor<512x1024xbf16>
  %zero = arith.constant 0.0 : bf16
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<128x1024xbf16>) -> tensor<128x1024xbf16>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<128x512xbf16>, tensor<512x1024xbf16>) outs(%f : tensor<128x1024xbf16>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: bf16, %r: bf16, %out: bf16):
    %s = arith.mulf %p, %r : bf16
    %t = arith.addf %out, %s : bf16
    linalg.yield %t : bf16
  } -> tensor<128x1024xbf16>
  return %q : tensor<128x1024xbf16>
}

// -----

// Not weights: the transpose is done at each call anyway.
// CHECK-LABEL: func.func @main
// CHECK: mlopt.op = "transpose"
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<128x512xf32>, %w: tensor<1024x512xf32>,
                %e: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %e0 = tensor.empty() : tensor<512x1024xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1024x512xf32>) outs(%e0 : tensor<512x1024xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x1024xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<128x512xf32>, tensor<512x1024xf32>) outs(%f : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  return %q : tensor<128x1024xf32>
}

// -----

// The rows lie in columns: lanes run along them, not along those of the weights.
// CHECK-LABEL: func.func @main
// CHECK: mlopt.op = "transpose"
// CHECK: mlopt.op = "matmul"
#first = affine_map<(d0, d1, d2) -> (d2, d0)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<512x128xf32>, %w: tensor<1024x512xf32> {mlopt.weight},
                %e: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %e0 = tensor.empty() : tensor<512x1024xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1024x512xf32>) outs(%e0 : tensor<512x1024xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x1024xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %q = linalg.generic {indexing_maps = [#first, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<512x128xf32>, tensor<512x1024xf32>) outs(%f : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  return %q : tensor<128x1024xf32>
}

// -----

// The summed loop runs down the columns of the weights as they are, and along the rows of their transpose.
// CHECK-LABEL: func.func @main
// CHECK: mlopt.op = "transpose"
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#own = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<128x512xf32>, %w: tensor<512x1024xf32> {mlopt.weight},
                %e: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %e0 = tensor.empty() : tensor<1024x512xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<512x1024xf32>) outs(%e0 : tensor<1024x512xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<1024x512xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #own, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<128x512xf32>, tensor<1024x512xf32>) outs(%f : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  return %q : tensor<128x1024xf32>
}

// -----

// Products of 1024 and 512 columns that mlopt-join-products makes one: a product reads both.
// CHECK-LABEL: func.func @main
// CHECK: mlopt.op = "transpose"
// CHECK: mlopt.op = "transpose"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
#left = affine_map<(d0, d1, d2) -> (d2, d0)>
func.func @main(%x: tensor<128x512xf32>, %wq: tensor<1024x512xf32> {mlopt.weight},
                %wk: tensor<512x512xf32> {mlopt.weight}) -> tensor<1024x512xf32> {
  %zero = arith.constant 0.0 : f32
  %eq = tensor.empty() : tensor<512x1024xf32>
  %tq = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%wq : tensor<1024x512xf32>) outs(%eq : tensor<512x1024xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x1024xf32>
  %iq = tensor.empty() : tensor<128x1024xf32>
  %fq = linalg.fill ins(%zero : f32) outs(%iq : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %tq : tensor<128x512xf32>, tensor<512x1024xf32>) outs(%fq : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  %ek = tensor.empty() : tensor<512x512xf32>
  %tk = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%wk : tensor<512x512xf32>) outs(%ek : tensor<512x512xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x512xf32>
  %ik = tensor.empty() : tensor<128x512xf32>
  %fk = linalg.fill ins(%zero : f32) outs(%ik : tensor<128x512xf32>) -> tensor<128x512xf32>
  %k = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %tk : tensor<128x512xf32>, tensor<512x512xf32>) outs(%fk : tensor<128x512xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x512xf32>
  %e = tensor.empty() : tensor<1024x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x512xf32>) -> tensor<1024x512xf32>
  %y = linalg.generic {indexing_maps = [#left, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<128x1024xf32>, tensor<128x512xf32>) outs(%f : tensor<1024x512xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<1024x512xf32>
  return %y : tensor<1024x512xf32>
}
