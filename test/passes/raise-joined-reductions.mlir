// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' | FileCheck %s

// CHECK: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d0)>

// The maximum along one dim after the other is one of all, and is split as such: %r needs no kernel and no memory.
// CHECK-LABEL: func.func @maximum
// CHECK: %[[P:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "reduction"]} ins(%arg0 : tensor<128x64x48xf32>)
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[P]] : tensor<128xf32>)
// CHECK: arith.maximumf
// CHECK-NOT: linalg.generic
func.func @maximum(%x: tensor<128x64x48xf32>) -> tensor<f32> {
  %least = arith.constant 0xFF800000 : f32
  %a = tensor.empty() : tensor<128x64xf32>
  %b = tensor.empty() : tensor<128xf32>
  %c = tensor.empty() : tensor<f32>
  %fa = linalg.fill ins(%least : f32) outs(%a : tensor<128x64xf32>) -> tensor<128x64xf32>
  %fb = linalg.fill ins(%least : f32) outs(%b : tensor<128xf32>) -> tensor<128xf32>
  %fc = linalg.fill ins(%least : f32) outs(%c : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce { arith.maximumf } ins(%x : tensor<128x64x48xf32>) outs(%fa : tensor<128x64xf32>) dimensions = [2]
  %s = linalg.reduce { arith.maximumf } ins(%r : tensor<128x64xf32>) outs(%fb : tensor<128xf32>) dimensions = [1]
  %t = linalg.reduce { arith.maximumf } ins(%s : tensor<128xf32>) outs(%fc : tensor<f32>) dimensions = [0]
  return %t : tensor<f32>
}

// What is reduced first may be computed: the squares stay.
// CHECK-LABEL: func.func @of_squares
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "reduction"]} ins(%arg0 : tensor<33x47xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
func.func @of_squares(%x: tensor<33x47xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %b = tensor.empty() : tensor<47xf32>
  %c = tensor.empty() : tensor<f32>
  %fb = linalg.fill ins(%zero : f32) outs(%b : tensor<47xf32>) -> tensor<47xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%c : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<33x47xf32>) outs(%fb : tensor<47xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<47xf32>
  %t = linalg.reduce { arith.addf } ins(%r : tensor<47xf32>) outs(%fc : tensor<f32>) dimensions = [0]
  return %t : tensor<f32>
}

// With rows that stay, and %r's dims in another order than the loops that make it.
// CHECK-LABEL: func.func @rows
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[ROWS]]], iterator_types = ["parallel", "reduction", "parallel", "reduction"]} ins(%arg0 : tensor<5x7x6x9xi32>)
// CHECK: arith.maxsi
// CHECK-NOT: linalg.generic
func.func @rows(%x: tensor<5x7x6x9xi32>) -> tensor<6x5xi32> {
  %least = arith.constant -2147483648 : i32
  %b = tensor.empty() : tensor<6x5x7xi32>
  %c = tensor.empty() : tensor<6x5xi32>
  %fb = linalg.fill ins(%least : i32) outs(%b : tensor<6x5x7xi32>) -> tensor<6x5x7xi32>
  %fc = linalg.fill ins(%least : i32) outs(%c : tensor<6x5xi32>) -> tensor<6x5xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, j, i, k) -> (b, j, i, k)>, affine_map<(b, j, i, k) -> (i, b, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x : tensor<5x7x6x9xi32>) outs(%fb : tensor<6x5x7xi32>) {
  ^bb0(%in: i32, %out: i32):
    %0 = arith.maxsi %in, %out : i32
    linalg.yield %0 : i32
  } -> tensor<6x5x7xi32>
  %t = linalg.reduce { arith.maxsi } ins(%r : tensor<6x5x7xi32>) outs(%fc : tensor<6x5xi32>) dimensions = [2]
  return %t : tensor<6x5xi32>
}
