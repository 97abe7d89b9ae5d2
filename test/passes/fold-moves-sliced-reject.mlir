// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// Overlapping parts would be computed twice.
// CHECK-LABEL: @twice
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x12xf32>) {{.*}}"exp", mlopt.whole = "parts of it overlap, and exp would be computed twice there"}
func.func @twice(%x: tensor<8x12xf32>) -> tensor<8x11xf32> {
  %e = math.exp %x : tensor<8x12xf32>
  %a = tensor.extract_slice %e[0, 1] [8, 11] [1, 1] : tensor<8x12xf32> to tensor<8x11xf32>
  %b = tensor.extract_slice %e[0, 0] [8, 11] [1, 1] : tensor<8x12xf32> to tensor<8x11xf32>
  %d = arith.subf %a, %b : tensor<8x11xf32>
  return %d : tensor<8x11xf32>
}

// -----

// A product's epilogue stays with it.
// CHECK-LABEL: @epilogue
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x12xf32>) {{.*}}"exp"
func.func @epilogue(%x: tensor<8x16xf32>, %w: tensor<16x12xf32>) -> tensor<3x12xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x12xf32>) -> tensor<8x12xf32>
  %m = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x12xf32>) outs(%f : tensor<8x12xf32>) -> tensor<8x12xf32>
  %r = math.exp %m : tensor<8x12xf32>
  %p = tensor.extract_slice %r[4, 0] [3, 12] [1, 1] : tensor<8x12xf32> to tensor<3x12xf32>
  return %p : tensor<3x12xf32>
}

// -----

// A division by zero is an error wherever it is.
// CHECK-LABEL: @checked
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x12xi32>) {{.*}}"div", mlopt.whole = "div checks all of its divisors (arith.divsi), so all of it is computed"}
func.func @checked(%x: tensor<8x12xi32>, %y: tensor<8x12xi32>) -> tensor<8x5xi32> {
  %r = arith.divsi %x, %y : tensor<8x12xi32>
  %p = tensor.extract_slice %r[0, 4] [8, 5] [1, 1] : tensor<8x12xi32> to tensor<8x5xi32>
  return %p : tensor<8x5xi32>
}

// -----

// The cast ends a chain of ops behind a product, and is stored by the product's kernel: none of them is taken apart.
// CHECK-LABEL: @epilogue_of_two
// CHECK: %[[R:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8x12xf32>) {{.*}}"exp"
// CHECK: linalg.generic {{.*}} ins(%[[R]] : tensor<8x12xf32>) outs(%{{.*}} : tensor<8x12xbf16>) {{.*}}"cast"
func.func @epilogue_of_two(%x: tensor<8x16xf32>, %w: tensor<16x12xf32>) -> tensor<3x12xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x12xf32>) -> tensor<8x12xf32>
  %m = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x12xf32>) outs(%f : tensor<8x12xf32>) -> tensor<8x12xf32>
  %r = math.exp %m : tensor<8x12xf32>
  %h = arith.truncf %r : tensor<8x12xf32> to tensor<8x12xbf16>
  %p = tensor.extract_slice %h[4, 0] [3, 12] [1, 1] : tensor<8x12xbf16> to tensor<3x12xbf16>
  return %p : tensor<3x12xbf16>
}

// -----

// Where the first part begins is not known: the places are not added up.
// CHECK-LABEL: @unknown
// CHECK: %[[A:.*]] = tensor.extract_slice %arg0[0, %arg1]
// CHECK: tensor.extract_slice %[[A]][0, 1]
func.func @unknown(%x: tensor<8x12xf32>, %at: index) -> tensor<8x2xf32> {
  %a = tensor.extract_slice %x[0, %at] [8, 5] [1, 1] : tensor<8x12xf32> to tensor<8x5xf32>
  %b = tensor.extract_slice %a[0, 1] [8, 2] [1, 2] : tensor<8x5xf32> to tensor<8x2xf32>
  return %b : tensor<8x2xf32>
}
