// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-pad-windows)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-pad-windows{vector-bits=512})' | FileCheck %s --check-prefix=WIDE

#x = affine_map<(c, h, w, i, j) -> (c, h + i, w + j)>
#k = affine_map<(c, h, w, i, j) -> (c, i, j)>
#y = affine_map<(c, h, w, i, j) -> (c, h, w)>

// LLVM writes out 9 positions, and knows their masks.
// CHECK-LABEL: @small
// CHECK: tensor.insert_slice %arg0 into
func.func private @small(%x: tensor<8x56x56xf32>, %k: tensor<8x3x3xf32>, %out: tensor<8x56x56xf32>) -> tensor<8x56x56xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x58x58xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x58x58xf32>) -> tensor<8x58x58xf32>
  %p = tensor.insert_slice %x into %z[0, 1, 1] [8, 56, 56] [1, 1, 1] : tensor<8x56x56xf32> into tensor<8x58x58xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<8x56x56xf32>) -> tensor<8x56x56xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %k : tensor<8x58x58xf32>, tensor<8x3x3xf32>) outs(%f : tensor<8x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x56x56xf32>
  return %y : tensor<8x56x56xf32>
}

// What is computed before the window is a stage already.
// CHECK-LABEL: @computed
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @computed(%x: tensor<8x56x56xf32>, %k: tensor<8x7x7xf32>, %out: tensor<8x56x56xf32>) -> tensor<8x56x56xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x62x62xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x62x62xf32>) -> tensor<8x62x62xf32>
  %r0 = tensor.empty() : tensor<8x56x56xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, h, w) -> (c, h, w)>, affine_map<(c, h, w) -> (c, h, w)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<8x56x56xf32>) outs(%r0 : tensor<8x56x56xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<8x56x56xf32>
  %p = tensor.insert_slice %r into %z[0, 3, 3] [8, 56, 56] [1, 1, 1] : tensor<8x56x56xf32> into tensor<8x62x62xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<8x56x56xf32>) -> tensor<8x56x56xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %k : tensor<8x62x62xf32>, tensor<8x7x7xf32>) outs(%f : tensor<8x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x56x56xf32>
  return %y : tensor<8x56x56xf32>
}

// The pixels around one result take more than a task's scratch.
// CHECK-LABEL: @huge
// CHECK: tensor.insert_slice %arg0 into
func.func private @huge(%x: tensor<1x512x512xf32>, %k: tensor<1x301x301xf32>, %out: tensor<1x512x512xf32>) -> tensor<1x512x512xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x812x812xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x812x812xf32>) -> tensor<1x812x812xf32>
  %p = tensor.insert_slice %x into %z[0, 150, 150] [1, 512, 512] [1, 1, 1] : tensor<1x512x512xf32> into tensor<1x812x812xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x512x512xf32>) -> tensor<1x512x512xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %k : tensor<1x812x812xf32>, tensor<1x301x301xf32>) outs(%f : tensor<1x512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x512x512xf32>
  return %y : tensor<1x512x512xf32>
}

// Pixels of a product are shared by the columns of its weights: their borders are left to mlopt-cpu-strip-mine.
// CHECK-LABEL: @product
// CHECK: tensor.insert_slice %arg0 into
func.func private @product(%x: tensor<16x56x56xf32>, %k: tensor<16x7x7x16xf32>, %out: tensor<16x56x56xf32>) -> tensor<16x56x56xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x62x62xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x62x62xf32>) -> tensor<16x62x62xf32>
  %p = tensor.insert_slice %x into %z[0, 3, 3] [16, 56, 56] [1, 1, 1] : tensor<16x56x56xf32> into tensor<16x62x62xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<16x56x56xf32>) -> tensor<16x56x56xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(o, h, w, c, i, j) -> (c, h + i, w + j)>, affine_map<(o, h, w, c, i, j) -> (c, i, j, o)>, affine_map<(o, h, w, c, i, j) -> (o, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %k : tensor<16x62x62xf32>, tensor<16x7x7x16xf32>) outs(%f : tensor<16x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x56x56xf32>
  return %y : tensor<16x56x56xf32>
}

// Masks of AVX-512 cost nothing.
// CHECK-LABEL: @wide
// WIDE-LABEL: @wide
// WIDE: tensor.insert_slice %arg0 into
func.func private @wide(%x: tensor<8x56x56xf32>, %k: tensor<8x7x7xf32>, %out: tensor<8x56x56xf32>) -> tensor<8x56x56xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x62x62xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x62x62xf32>) -> tensor<8x62x62xf32>
  %p = tensor.insert_slice %x into %z[0, 3, 3] [8, 56, 56] [1, 1, 1] : tensor<8x56x56xf32> into tensor<8x62x62xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<8x56x56xf32>) -> tensor<8x56x56xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %k : tensor<8x62x62xf32>, tensor<8x7x7xf32>) outs(%f : tensor<8x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x56x56xf32>
  return %y : tensor<8x56x56xf32>
}
