// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-turn-rows)' --split-input-file | FileCheck %s
// CHECK-NOT: "transpose"

// How many rows there are is not known.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK-COUNT-2: mlopt.op = "matmul"
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%v: tensor<?x512xf32>, %u: tensor<512x512xf32>, %o: tensor<?x512xf32>,
                %w: tensor<1024x512xf32> {mlopt.weight},
                %e: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<?x512xf32>) -> tensor<?x512xf32>
  %x = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %u : tensor<?x512xf32>, tensor<512x512xf32>) outs(%g : tensor<?x512xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x512xf32>, tensor<1024x512xf32>) outs(%f : tensor<?x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x1024xf32>
  return %q : tensor<?x1024xf32>
}

// -----

// A hundred rows leave lanes empty.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK-COUNT-2: mlopt.op = "matmul"
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%v: tensor<100x512xf32>, %u: tensor<512x512xf32>, %o: tensor<100x512xf32>,
                %w: tensor<1024x512xf32> {mlopt.weight},
                %e: tensor<100x1024xf32>) -> tensor<100x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<100x512xf32>) -> tensor<100x512xf32>
  %x = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %u : tensor<100x512xf32>, tensor<512x512xf32>) outs(%g : tensor<100x512xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<100x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<100x1024xf32>) -> tensor<100x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<100x512xf32>, tensor<1024x512xf32>) outs(%f : tensor<100x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<100x1024xf32>
  return %q : tensor<100x1024xf32>
}

// -----

// More rows than columns: turning them costs more than what it is for.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK-COUNT-2: mlopt.op = "matmul"
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%v: tensor<512x2048xf32>, %u: tensor<2048x2048xf32>, %o: tensor<512x2048xf32>,
                %w: tensor<256x2048xf32> {mlopt.weight},
                %e: tensor<512x256xf32>) -> tensor<512x256xf32> {
  %zero = arith.constant 0.0 : f32
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<512x2048xf32>) -> tensor<512x2048xf32>
  %x = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %u : tensor<512x2048xf32>, tensor<2048x2048xf32>) outs(%g : tensor<512x2048xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<512x2048xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x256xf32>) -> tensor<512x256xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<512x2048xf32>, tensor<256x2048xf32>) outs(%f : tensor<512x256xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<512x256xf32>
  return %q : tensor<512x256xf32>
}

// -----

// More rows than a panel of close rows has.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK-COUNT-2: mlopt.op = "matmul"
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%v: tensor<1024x512xf32>, %u: tensor<512x512xf32>, %o: tensor<1024x512xf32>,
                %w: tensor<2048x512xf32> {mlopt.weight},
                %e: tensor<1024x2048xf32>) -> tensor<1024x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<1024x512xf32>) -> tensor<1024x512xf32>
  %x = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %u : tensor<1024x512xf32>, tensor<512x512xf32>) outs(%g : tensor<1024x512xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<1024x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x2048xf32>) -> tensor<1024x2048xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1024x512xf32>, tensor<2048x512xf32>) outs(%f : tensor<1024x2048xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<1024x2048xf32>
  return %q : tensor<1024x2048xf32>
}

// -----

// Half floats are packed for the dot products of their pairs.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK-COUNT-2: mlopt.op = "matmul"
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%v: tensor<128x512xbf16>, %u: tensor<512x512xbf16>, %o: tensor<128x512xbf16>,
                %w: tensor<1024x512xbf16> {mlopt.weight},
                %e: tensor<128x1024xbf16>) -> tensor<128x1024xbf16> {
  %zero = arith.constant 0.0 : bf16
  %g = linalg.fill ins(%zero : bf16) outs(%o : tensor<128x512xbf16>) -> tensor<128x512xbf16>
  %x = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %u : tensor<128x512xbf16>, tensor<512x512xbf16>) outs(%g : tensor<128x512xbf16>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: bf16, %r: bf16, %out: bf16):
    %s = arith.mulf %p, %r : bf16
    %t = arith.addf %out, %s : bf16
    linalg.yield %t : bf16
  } -> tensor<128x512xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<128x1024xbf16>) -> tensor<128x1024xbf16>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<128x512xbf16>, tensor<1024x512xbf16>) outs(%f : tensor<128x1024xbf16>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: bf16, %r: bf16, %out: bf16):
    %s = arith.mulf %p, %r : bf16
    %t = arith.addf %out, %s : bf16
    linalg.yield %t : bf16
  } -> tensor<128x1024xbf16>
  return %q : tensor<128x1024xbf16>
}

// -----

// The weights lie in columns: registers run along them.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK-COUNT-2: mlopt.op = "matmul"
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%v: tensor<128x512xf32>, %u: tensor<512x512xf32>, %o: tensor<128x512xf32>,
                %w: tensor<512x1024xf32> {mlopt.weight},
                %e: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<128x512xf32>) -> tensor<128x512xf32>
  %x = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %u : tensor<128x512xf32>, tensor<512x512xf32>) outs(%g : tensor<128x512xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<128x512xf32>, tensor<512x1024xf32>) outs(%f : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  return %q : tensor<128x1024xf32>
}

// -----

// Nothing is a weight: nothing would be kept.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK-COUNT-2: mlopt.op = "matmul"
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%v: tensor<128x512xf32>, %u: tensor<512x512xf32>, %o: tensor<128x512xf32>,
                %w: tensor<1024x512xf32>,
                %e: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<128x512xf32>) -> tensor<128x512xf32>
  %x = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %u : tensor<128x512xf32>, tensor<512x512xf32>) outs(%g : tensor<128x512xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<128x512xf32>, tensor<1024x512xf32>) outs(%f : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  return %q : tensor<128x1024xf32>
}

// -----

// A copy of such small weights is no matter.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK-COUNT-2: mlopt.op = "matmul"
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%v: tensor<128x32xf32>, %u: tensor<32x32xf32>, %o: tensor<128x32xf32>,
                %w: tensor<192x32xf32> {mlopt.weight},
                %e: tensor<128x192xf32>) -> tensor<128x192xf32> {
  %zero = arith.constant 0.0 : f32
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<128x32xf32>) -> tensor<128x32xf32>
  %x = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %u : tensor<128x32xf32>, tensor<32x32xf32>) outs(%g : tensor<128x32xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x192xf32>) -> tensor<128x192xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<128x32xf32>, tensor<192x32xf32>) outs(%f : tensor<128x192xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x192xf32>
  return %q : tensor<128x192xf32>
}

// -----

// Rows that are an argument: to turn them is a kernel more.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK: mlopt.op = "matmul"
// CHECK-NOT: "transpose"
// CHECK: return
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%h: tensor<128x1024xf32>,
                %w: tensor<768x1024xf32> {mlopt.weight}) -> tensor<128x768xf32> {
  %zero = arith.constant 0.0 : f32
  %e9 = tensor.empty() : tensor<128x768xf32>
  %f9 = linalg.fill ins(%zero : f32) outs(%e9 : tensor<128x768xf32>) -> tensor<128x768xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %w : tensor<128x1024xf32>, tensor<768x1024xf32>) outs(%f9 : tensor<128x768xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %q : tensor<128x768xf32>
}

// -----

// Rows that a norm made, which a task has whole: to turn them is a kernel more.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK: mlopt.op = "div"
// CHECK-NOT: "transpose"
// CHECK: return
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<128x1024xf32>,
                %w: tensor<768x1024xf32> {mlopt.weight}) -> tensor<128x768xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x1024xf32>
  %r0 = tensor.empty() : tensor<128xf32>
  %r1 = linalg.fill ins(%zero : f32) outs(%r0 : tensor<128xf32>) -> tensor<128xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<128x1024xf32>) outs(%r1 : tensor<128xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %out: f32):
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  %h = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<128x1024xf32>, tensor<128xf32>) outs(%e : tensor<128x1024xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.divf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<128x1024xf32>
  %e9 = tensor.empty() : tensor<128x768xf32>
  %f9 = linalg.fill ins(%zero : f32) outs(%e9 : tensor<128x768xf32>) -> tensor<128x768xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %w : tensor<128x1024xf32>, tensor<768x1024xf32>) outs(%f9 : tensor<128x768xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %q : tensor<128x768xf32>
}

// -----

// Rows that attention made, a task's at once.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK: mlopt.op = "relu"
// CHECK-NOT: "transpose"
// CHECK: return
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
#weights = affine_map<(d0, d1, d2) -> (d0, d2)>
#values = affine_map<(d0, d1, d2) -> (d2, d1)>
func.func @main(%x: tensor<128x128xf32>, %u: tensor<128x1024xf32>,
                %w: tensor<768x1024xf32> {mlopt.weight}) -> tensor<128x768xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x1024xf32>
  %o = "mlopt.attention"(%x, %u, %e) {indexing_maps = [#weights, #values, #c], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], mlopt.op = "attention", zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<128x128xf32>, tensor<128x1024xf32>, tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%o : tensor<128x1024xf32>) outs(%e : tensor<128x1024xf32>) attrs = {mlopt.op = "relu"} {
  ^bb0(%p: f32, %out: f32):
    %m = arith.maximumf %p, %zero : f32
    linalg.yield %m : f32
  } -> tensor<128x1024xf32>
  %e9 = tensor.empty() : tensor<128x768xf32>
  %f9 = linalg.fill ins(%zero : f32) outs(%e9 : tensor<128x768xf32>) -> tensor<128x768xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %w : tensor<128x1024xf32>, tensor<768x1024xf32>) outs(%f9 : tensor<128x768xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %q : tensor<128x768xf32>
}

// -----

// What a norm reads of a product: it has more readers than those that make the rows.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK: mlopt.op = "div"
// CHECK-NOT: "transpose"
// CHECK: return
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d0)>
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
func.func @main(%x: tensor<128x512xf32>, %u: tensor<512x1024xf32>,
                %w: tensor<768x1024xf32> {mlopt.weight}) -> tensor<128x768xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<128x1024xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %x0 = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<128x512xf32>, tensor<512x1024xf32>) outs(%f1 : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  %r0 = tensor.empty() : tensor<128xf32>
  %r1 = linalg.fill ins(%zero : f32) outs(%r0 : tensor<128xf32>) -> tensor<128xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x0 : tensor<128x1024xf32>) outs(%r1 : tensor<128xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %out: f32):
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  %h = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x0, %sum : tensor<128x1024xf32>, tensor<128xf32>) outs(%e1 : tensor<128x1024xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.divf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<128x1024xf32>
  %e9 = tensor.empty() : tensor<128x768xf32>
  %f9 = linalg.fill ins(%zero : f32) outs(%e9 : tensor<128x768xf32>) -> tensor<128x768xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %w : tensor<128x1024xf32>, tensor<768x1024xf32>) outs(%f9 : tensor<128x768xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %q : tensor<128x768xf32>
}

// -----

// Rows that two products make: one of them is read from memory.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK: mlopt.op = "mul"
// CHECK-NOT: "transpose"
// CHECK: return
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
#first = affine_map<(d0, d1, d2) -> (d2, d1)>
func.func @main(%x: tensor<128x512xf32>, %u: tensor<512x1024xf32>,
                %w: tensor<768x1024xf32> {mlopt.weight}) -> tensor<128x768xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<128x1024xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %k = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<128x512xf32>, tensor<512x1024xf32>) outs(%f1 : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  %e2 = tensor.empty() : tensor<128x1024xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %l = linalg.generic {indexing_maps = [#a, #first, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %u : tensor<128x512xf32>, tensor<512x1024xf32>) outs(%f2 : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%k, %l : tensor<128x1024xf32>, tensor<128x1024xf32>) outs(%e1 : tensor<128x1024xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<128x1024xf32>
  %e9 = tensor.empty() : tensor<128x768xf32>
  %f9 = linalg.fill ins(%zero : f32) outs(%e9 : tensor<128x768xf32>) -> tensor<128x768xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %w : tensor<128x1024xf32>, tensor<768x1024xf32>) outs(%f9 : tensor<128x768xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %q : tensor<128x768xf32>
}
