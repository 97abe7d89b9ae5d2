// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// Columns that both parts have would be computed twice.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> (d0, d1 mod 54)>
#two = affine_map<(d0, d1) -> (d0, d1 + 26)>
// CHECK-LABEL: func.func @overlap
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}} outs(%{{.*}} : tensor<8x54xf32>) attrs = {mlopt.whole = "parts of the product's columns that are read overlap"}
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @overlap(%x: tensor<8x5xf32>, %w: tensor<5x54xf32>) -> tensor<8x27xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x54xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x54xf32>) -> tensor<8x54xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x5xf32>, tensor<5x54xf32>) outs(%f : tensor<8x54xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x54xf32>
  %n = tensor.empty() : tensor<8x27xf32>
  %r = linalg.generic {indexing_maps = [#one, #two, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %m : tensor<8x54xf32>, tensor<8x54xf32>) outs(%n : tensor<8x27xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x27xf32>
  return %r : tensor<8x27xf32>
}

// -----

// All of the product is stored, too.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> (d0, d1 mod 54)>
#two = affine_map<(d0, d1) -> (d0, d1 + 27)>
// CHECK-LABEL: func.func @stored
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}} outs(%{{.*}} : tensor<8x54xf32>) attrs = {mlopt.whole = "return reads the product, too, as a whole"}
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @stored(%x: tensor<8x5xf32>, %w: tensor<5x54xf32>) -> (tensor<8x27xf32>, tensor<8x54xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x54xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x54xf32>) -> tensor<8x54xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x5xf32>, tensor<5x54xf32>) outs(%f : tensor<8x54xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x54xf32>
  %n = tensor.empty() : tensor<8x27xf32>
  %r = linalg.generic {indexing_maps = [#one, #two, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %m : tensor<8x54xf32>, tensor<8x54xf32>) outs(%n : tensor<8x27xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x27xf32>
  return %r, %m : tensor<8x27xf32>, tensor<8x54xf32>
}

// -----

// Weights of 192 columns are packed in strips of 64, those of 96 are not.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> (d0, d1 mod 192)>
#two = affine_map<(d0, d1) -> (d0, d1 + 96)>
// CHECK-LABEL: func.func @packed
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}} outs(%{{.*}} : tensor<8x192xf32>) attrs = {mlopt.whole = "of 96 columns, no multiple of 64, the weights would not be packed"}
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @packed(%x: tensor<8x5xf32>, %w: tensor<5x192xf32> {mlopt.weight}) -> tensor<8x96xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x192xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x192xf32>) -> tensor<8x192xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x5xf32>, tensor<5x192xf32>) outs(%f : tensor<8x192xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x192xf32>
  %n = tensor.empty() : tensor<8x96xf32>
  %r = linalg.generic {indexing_maps = [#one, #two, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %m : tensor<8x192xf32>, tensor<8x192xf32>) outs(%n : tensor<8x96xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x96xf32>
  return %r : tensor<8x96xf32>
}

// -----

// Each column is read twice.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> (d0, d1 mod 27)>
// CHECK-LABEL: func.func @wrap
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}} outs(%{{.*}} : tensor<8x27xf32>) {
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @wrap(%x: tensor<8x5xf32>, %w: tensor<5x27xf32>) -> tensor<8x54xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x27xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x27xf32>) -> tensor<8x27xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x5xf32>, tensor<5x27xf32>) outs(%f : tensor<8x27xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x27xf32>
  %n = tensor.empty() : tensor<8x54xf32>
  %r = linalg.generic {indexing_maps = [#one, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<8x27xf32>) outs(%n : tensor<8x54xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.negf %p : f32
    linalg.yield %0 : f32
  } -> tensor<8x54xf32>
  return %r : tensor<8x54xf32>
}

// -----

// No part of a bias that is a diagonal lies side by side.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#dg = affine_map<(d0, d1) -> (d1, d1)>
#one = affine_map<(d0, d1) -> (d0, d1 mod 54)>
#two = affine_map<(d0, d1) -> (d0, d1 + 27)>
// CHECK-LABEL: func.func @diag
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}} outs(%{{.*}} : tensor<8x54xf32>) attrs = {mlopt.whole = "what is read along a diagonal has no columns"}
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x54xf32>)
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @diag(%x: tensor<8x5xf32>, %w: tensor<5x54xf32> {mlopt.weight}, %b: tensor<54x54xf32> {mlopt.weight}) -> tensor<8x27xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x54xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x54xf32>) -> tensor<8x54xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x5xf32>, tensor<5x54xf32>) outs(%f : tensor<8x54xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x54xf32>
  %s = linalg.generic {indexing_maps = [#id, #dg, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %b : tensor<8x54xf32>, tensor<54x54xf32>) outs(%e : tensor<8x54xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x54xf32>
  %n = tensor.empty() : tensor<8x27xf32>
  %r = linalg.generic {indexing_maps = [#one, #two, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %s : tensor<8x54xf32>, tensor<8x54xf32>) outs(%n : tensor<8x27xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x27xf32>
  return %r : tensor<8x27xf32>
}

// -----

// A dot product has no columns, seen as a matrix of one number either.
#v = affine_map<(d0) -> (d0)>
#n = affine_map<(d0) -> ()>
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (0, 0)>
// CHECK-LABEL: func.func @dot
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%arg0, %arg1
// CHECK: tensor.expand_shape
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @dot(%x: tensor<4xf32>, %w: tensor<4xf32>, %y: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %m = linalg.generic {indexing_maps = [#v, #v, #n], iterator_types = ["reduction"]}
      ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  %s = tensor.expand_shape %m [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %n = tensor.empty() : tensor<3x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %s : tensor<3x5xf32>, tensor<1x1xf32>) outs(%n : tensor<3x5xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
