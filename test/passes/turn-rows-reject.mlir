// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-turn-rows)' --split-input-file | FileCheck %s
// CHECK-NOT: "transpose"

// How many rows there are is not known.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "transpose"
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<?x512xf32>, %w: tensor<1024x512xf32> {mlopt.weight},
                %e: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
  %zero = arith.constant 0.0 : f32
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
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<100x512xf32>, %w: tensor<1024x512xf32> {mlopt.weight},
                %e: tensor<100x1024xf32>) -> tensor<100x1024xf32> {
  %zero = arith.constant 0.0 : f32
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
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<512x2048xf32>, %w: tensor<256x2048xf32> {mlopt.weight},
                %e: tensor<512x256xf32>) -> tensor<512x256xf32> {
  %zero = arith.constant 0.0 : f32
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
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<1024x512xf32>, %w: tensor<2048x512xf32> {mlopt.weight},
                %e: tensor<1024x2048xf32>) -> tensor<1024x2048xf32> {
  %zero = arith.constant 0.0 : f32
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
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<128x512xbf16>, %w: tensor<1024x512xbf16> {mlopt.weight},
                %e: tensor<128x1024xbf16>) -> tensor<128x1024xbf16> {
  %zero = arith.constant 0.0 : bf16
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
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<128x512xf32>, %w: tensor<512x1024xf32> {mlopt.weight},
                %e: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %zero = arith.constant 0.0 : f32
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
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<128x512xf32>, %w: tensor<1024x512xf32>,
                %e: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %zero = arith.constant 0.0 : f32
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
// CHECK: mlopt.op = "matmul"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<128x32xf32>, %w: tensor<192x32xf32> {mlopt.weight},
                %e: tensor<128x192xf32>) -> tensor<128x192xf32> {
  %zero = arith.constant 0.0 : f32
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
