// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-hoist)' --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// A vector broadcast to 4 MB is not worth keeping.
// CHECK-NOT: @prepare
// CHECK-LABEL: func.func @main
// CHECK: linalg.generic {{.*}}{mlopt.op = "broadcast"}
func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<1024xf32> {mlopt.weight}) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %b = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1024xf32>) outs(%e : tensor<1024x1024xf32>) attrs = {mlopt.op = "broadcast"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1024x1024xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

// -----

// A buffer that each call writes onto is not kept, though all that is in it so far comes from a weight.
// CHECK-NOT: @prepare
// CHECK-LABEL: func.func @main
// CHECK: tensor.insert_slice %arg1
// CHECK: tensor.insert_slice %arg0
func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {mlopt.weight}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = tensor.insert_slice %w into %e[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %b = tensor.insert_slice %x into %a[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

// Without weights and constants there is nothing to prepare.
// CHECK-NOT: @prepare
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// A bias that is cast where it is added costs no more there, and is kept in half the bytes; a matrix is cast once,
// for its product.
// CHECK-LABEL: func.func @prepare
// CHECK-SAME: -> tensor<64x32xf32>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[B:[a-z0-9]*]]: tensor<32xbf16> {mlopt.weight}
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[B]] : tensor<32xbf16>) {{.*}}{mlopt.op = "cast"}
// CHECK: tensor.expand_shape %[[C]]
#id = affine_map<(d0, d1) -> (d0, d1)>
#vec = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x32xbf16> {mlopt.weight}, %b: tensor<32xbf16> {mlopt.weight})
    -> tensor<8x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x32xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<64x32xbf16>) outs(%0 : tensor<64x32xf32>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: bf16, %out: f32):
    %t = arith.extf %in : bf16 to f32
    linalg.yield %t : f32
  } -> tensor<64x32xf32>
  %1 = tensor.empty() : tensor<32xf32>
  %c = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%b : tensor<32xbf16>) outs(%1 : tensor<32xf32>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: bf16, %out: f32):
    %t = arith.extf %in : bf16 to f32
    linalg.yield %t : f32
  } -> tensor<32xf32>
  %2 = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%2 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<8x64xf32>, tensor<64x32xf32>) outs(%f : tensor<8x32xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e = tensor.expand_shape %p [[0], [1, 2]] output_shape [8, 4, 8] : tensor<8x32xf32> into tensor<8x4x8xf32>
  %d = tensor.expand_shape %c [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %3 = tensor.empty() : tensor<8x4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %d : tensor<8x4x8xf32>, tensor<4x8xf32>) outs(%3 : tensor<8x4x8xf32>) {
  ^bb0(%l: f32, %q: f32, %out: f32):
    %s = arith.addf %l, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x4x8xf32>
  return %r : tensor<8x4x8xf32>
}

// -----

// Bytes that each call is to widen stay bytes, and nothing says so any more.
// CHECK-NOT: @prepare
// CHECK-LABEL: func.func @main
// CHECK: linalg.generic {{.*}} ins(%arg1 : tensor<256x256xi8>)
// CHECK-SAME: {mlopt.op = "cast"}
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<256x256xbf16>, %w: tensor<256x256xi8> {mlopt.weight}) -> tensor<256x256xbf16> {
  %e = tensor.empty() : tensor<256x256xbf16>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<256x256xi8>) outs(%e : tensor<256x256xbf16>) attrs = {mlopt.op = "cast", mlopt.widens = 1 : i64} {
  ^bb0(%in: i8, %out: bf16):
    %0 = arith.sitofp %in : i8 to bf16
    linalg.yield %0 : bf16
  } -> tensor<256x256xbf16>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %v : tensor<256x256xbf16>, tensor<256x256xbf16>) outs(%e : tensor<256x256xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %out: bf16):
    %0 = arith.addf %p, %q : bf16
    linalg.yield %0 : bf16
  } -> tensor<256x256xbf16>
  return %r : tensor<256x256xbf16>
}
