// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// A rotary embedding: both halves are computed from halves of what is there, and put together once.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#rows = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[HIGH:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2 + 12)>
// CHECK-DAG: #[[LOW:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2 mod 24)>
// CHECK-DAG: #[[LOWROWS:.*]] = affine_map<(d0, d1, d2) -> (d1, d2 mod 24)>
// CHECK-DAG: #[[HIGHROWS:.*]] = affine_map<(d0, d1, d2) -> (d1, d2 + 12)>
// CHECK-LABEL: @rope
// CHECK-SAME: %[[X:.*]]: tensor<4x?x24xf32>, %[[COS:.*]]: tensor<?x24xf32>, %[[SIN:.*]]: tensor<?x24xf32>
// CHECK: linalg.generic {indexing_maps = [#[[LOW]], #[[LOWROWS]], {{.*}} ins(%[[X]], %[[COS]] :{{.*}}"mul"
// CHECK: linalg.generic {indexing_maps = [#[[HIGH]], #[[HIGHROWS]], {{.*}} ins(%[[X]], %[[COS]] :{{.*}}"mul"
// CHECK: %[[A1:.*]] = linalg.generic {{.*}}"add"
// CHECK: %[[A2:.*]] = linalg.generic {{.*}}"add"
// CHECK: %[[P:.*]] = tensor.insert_slice %[[A1]] into %{{.*}}[0, 0, 0] [4, %{{.*}}, 12]
// CHECK: %[[R:.*]] = tensor.insert_slice %[[A2]] into %[[P]][0, 0, 12] [4, %{{.*}}, 12]
// CHECK-NOT: insert_slice
// CHECK: return %[[R]]
func.func @rope(%x: tensor<4x?x24xf32>, %cos: tensor<?x24xf32>, %sin: tensor<?x24xf32>) -> tensor<4x?x24xf32> {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<4x?x24xf32>
  %e = tensor.empty(%n) : tensor<4x?x24xf32>
  %h = tensor.empty(%n) : tensor<4x?x12xf32>
  %high = tensor.extract_slice %x[0, 0, 12] [4, %n, 12] [1, 1, 1] : tensor<4x?x24xf32> to tensor<4x?x12xf32>
  %neg = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%high : tensor<4x?x12xf32>) outs(%h : tensor<4x?x12xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x?x12xf32>
  %low = tensor.extract_slice %x[0, 0, 0] [4, %n, 12] [1, 1, 1] : tensor<4x?x24xf32> to tensor<4x?x12xf32>
  %turned = tensor.concat dim(2) %neg, %low : (tensor<4x?x12xf32>, tensor<4x?x12xf32>) -> tensor<4x?x24xf32>
  %a = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %cos : tensor<4x?x24xf32>, tensor<?x24xf32>) outs(%e : tensor<4x?x24xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %0 = arith.mulf %l, %r : f32
    linalg.yield %0 : f32
  } -> tensor<4x?x24xf32>
  %b = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%turned, %sin : tensor<4x?x24xf32>, tensor<?x24xf32>) outs(%e : tensor<4x?x24xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %0 = arith.mulf %l, %r : f32
    linalg.yield %0 : f32
  } -> tensor<4x?x24xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<4x?x24xf32>, tensor<4x?x24xf32>) outs(%e : tensor<4x?x24xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %0 = arith.addf %l, %r : f32
    linalg.yield %0 : f32
  } -> tensor<4x?x24xf32>
  return %r : tensor<4x?x24xf32>
}

// -----

// A sum of rows, of rows put below each other; what fills the sums at first is made for each part.
#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: @sums
// CHECK-SAME: %[[A:.*]]: tensor<5x8xf32>, %[[B:.*]]: tensor<3x8xf32>
// CHECK-DAG: linalg.generic {{.*}} ins(%[[A]] : tensor<5x8xf32>) outs(%{{.*}} : tensor<5xf32>)
// CHECK-DAG: linalg.generic {{.*}} ins(%[[B]] : tensor<3x8xf32>) outs(%{{.*}} : tensor<3xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0] [5]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[5] [3]
// CHECK-NOT: tensor<8x8xf32>
func.func @sums(%a: tensor<5x8xf32>, %b: tensor<3x8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %c = tensor.concat dim(0) %a, %b : (tensor<5x8xf32>, tensor<3x8xf32>) -> tensor<8x8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// What is put together again afterwards: those parts take the place of the sums, and are looked at, too.
#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: @sums_twice
// CHECK-SAME: %[[A:.*]]: tensor<5x8xf32>, %[[B:.*]]: tensor<3x8xf32>
// CHECK-DAG: linalg.generic {{.*}} ins(%[[A]] : tensor<5x8xf32>) outs(%{{.*}} : tensor<5xf32>)
// CHECK-DAG: linalg.generic {{.*}} ins(%[[B]] : tensor<3x8xf32>) outs(%{{.*}} : tensor<3xf32>)
// CHECK: return %{{.*}} : tensor<8x2xf32>
func.func @sums_twice(%a: tensor<5x8xf32>, %b: tensor<3x8xf32>) -> tensor<8x2xf32> {
  %zero = arith.constant 0.0 : f32
  %c = tensor.concat dim(0) %a, %b : (tensor<5x8xf32>, tensor<3x8xf32>) -> tensor<8x8xf32>
  %e = tensor.empty() : tensor<8x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x1xf32>) -> tensor<8x1xf32>
  %s = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<8x8xf32>) outs(%f : tensor<8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<8x1xf32>
  %r = tensor.concat dim(1) %s, %s : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x2xf32>
  return %r : tensor<8x2xf32>
}

// -----

// Halves of what is multiplied with the concat are cast; the other product, which reads all of it, casts it again.
// CHECK-LABEL: @cast_for_others
// CHECK-DAG: linalg.generic {{.*}} ins(%arg3 : tensor<8x8xbf16>) outs({{.*}} : tensor<8x4xf32>) attrs = {mlopt.op = "cast"}
// CHECK-DAG: linalg.generic {{.*}} ins(%arg3 : tensor<8x8xbf16>) outs({{.*}} : tensor<8x4xf32>) attrs = {mlopt.op = "cast"}
// CHECK-DAG: linalg.generic {{.*}} ins(%arg3 : tensor<8x8xbf16>) outs({{.*}} : tensor<8x8xf32>) attrs = {mlopt.op = "cast"}
// CHECK-NOT: "cast"
// CHECK: return
func.func @cast_for_others(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %x: tensor<8x8xf32>, %y: tensor<8x8xbf16>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %w = arith.extf %y : tensor<8x8xbf16> to tensor<8x8xf32>
  %c = tensor.concat dim(1) %a, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %r = arith.mulf %c, %w : tensor<8x8xf32>
  %s = arith.mulf %x, %w : tensor<8x8xf32>
  return %r, %s : tensor<8x8xf32>, tensor<8x8xf32>
}
