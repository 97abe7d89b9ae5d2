// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-split-products)' | FileCheck %s

// 16 blocks of 128 x 128 for 108 multiprocessors: four times as many, and a sum of four.
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
// CHECK-DAG: #[[P:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d0, d1)>
// CHECK-DAG: #[[S:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[R:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: @main
// CHECK-DAG: %[[X:.*]] = tensor.expand_shape %{{.*}} : tensor<512x8192xbf16> into tensor<512x4x2048xbf16>
// CHECK-DAG: %[[Y:.*]] = tensor.expand_shape %{{.*}} : tensor<8192x512xbf16> into tensor<4x2048x512xbf16>
// CHECK: %[[PARTS:.*]] = linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[P]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[X]], %[[Y]] : {{.*}} {mlopt.in_parts = "4 parts of its depth and their sum take 34.0 {{.*}}s, all of it at once 44.2 {{.*}}s", mlopt.op = "matmul"}
// CHECK: -> tensor<4x512x512xf32>
// CHECK: linalg.generic {indexing_maps = [#[[S]], #[[R]]], iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[PARTS]] : tensor<4x512x512xf32>) outs({{.*}} {mlopt.op = "sum"}
// CHECK: arith.addf
func.func @main(%a: tensor<512x8192xbf16>, %b: tensor<8192x512xbf16>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<512x8192xbf16>, tensor<8192x512xbf16>) outs(%f : tensor<512x512xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}

// A row: its columns alone are a few blocks.
// CHECK-LABEL: @row
// CHECK: -> tensor<16x1x1024xf32>
func.func @row(%a: tensor<1x4096xf16>, %b: tensor<4096x1024xf16>) -> tensor<1x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<1x4096xf16>, tensor<4096x1024xf16>) outs(%f : tensor<1x1024xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<1x1024xf32>
  return %r : tensor<1x1024xf32>
}

// What comes of a product stays with it: its result is viewed, so that the cast is in the product's kernel. What
// is computed of an argument goes along.
// CHECK-LABEL: @behind
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<512x8192xf32>) outs(%{{.*}} : tensor<512x8192xbf16>)
// CHECK-DAG: %[[X:.*]] = tensor.expand_shape %[[H]] {{.*}} : tensor<512x8192xbf16> into tensor<512x4x2048xbf16>
// CHECK-DAG: %[[Y:.*]] = tensor.expand_shape %arg2 {{.*}} : tensor<8192x512xf32> into tensor<4x2048x512xf32>
// CHECK-DAG: %[[W:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<4x2048x512xf32>) outs(%{{.*}} : tensor<4x2048x512xbf16>)
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[W]] : tensor<512x4x2048xbf16>, tensor<4x2048x512xbf16>) outs(%{{.*}} : tensor<4x512x512xf32>)
func.func @behind(%a: tensor<512x512xbf16>, %b: tensor<512x8192xbf16>, %c: tensor<8192x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %ue = tensor.empty() : tensor<512x8192xf32>
  %uf = linalg.fill ins(%zero : f32) outs(%ue : tensor<512x8192xf32>) -> tensor<512x8192xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<512x512xbf16>, tensor<512x8192xbf16>) outs(%uf : tensor<512x8192xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<512x8192xf32>
  %he = tensor.empty() : tensor<512x8192xbf16>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%u : tensor<512x8192xf32>) outs(%he : tensor<512x8192xbf16>) attrs = {mlopt.op = "cast"} {
  ^bb0(%x: f32, %o: bf16):
    %n = arith.truncf %x : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<512x8192xbf16>
  %we = tensor.empty() : tensor<8192x512xbf16>
  %w = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<8192x512xf32>) outs(%we : tensor<8192x512xbf16>) attrs = {mlopt.op = "cast"} {
  ^bb0(%x: f32, %o: bf16):
    %n = arith.truncf %x : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<8192x512xbf16>
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %w : tensor<512x8192xbf16>, tensor<8192x512xbf16>) outs(%f : tensor<512x512xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}
