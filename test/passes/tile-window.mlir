// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse)' | FileCheck %s

// A pooling: its window one element at a time, the accumulator a vector. The second operand only gives its sizes.
// CHECK-LABEL: @max_pool
// CHECK: scf.forall (%[[C:.*]], %[[H:.*]]) = (0, 0) to (8, 4) step (2, 1)
// CHECK:   scf.for %[[KH:.*]] = %c0 to %c3 step %c1 iter_args({{.*}}) -> (vector<2x1x4xf32>)
// CHECK:     scf.for %[[KW:.*]] = %c0 to %c3 step %c1 iter_args(%[[ACC:.*]] = {{.*}}) -> (vector<2x1x4xf32>)
// CHECK:       %[[V:.*]] = vector.transfer_read {{.*}} : tensor<8x5x2x5x2xf32>, vector<2x1x1x4x1xf32>
// CHECK:       %[[E:.*]] = vector.shape_cast %[[V]] : vector<2x1x1x4x1xf32> to vector<2x1x4xf32>
// CHECK:       arith.maximumf %[[ACC]], %[[E]] : vector<2x1x4xf32>
func.func private @max_pool(%x: tensor<8x5x2x5x2xf32>, %out: tensor<8x4x4xf32>) -> tensor<8x4x4xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 2, 1, 0, 1, 1>}} {
  %least = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3x3xf32>
  %f = linalg.fill ins(%least : f32) outs(%out : tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, h, w, kh, kw) -> (c, h + kh floordiv 2, kh mod 2, w + kw floordiv 2, kw mod 2)>, affine_map<(c, h, w, kh, kw) -> (kh, kw)>, affine_map<(c, h, w, kh, kw) -> (c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %window : tensor<8x5x2x5x2xf32>, tensor<3x3xf32>) outs(%f : tensor<8x4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %m: f32):
    %y = arith.maximumf %m, %a : f32
    linalg.yield %y : f32
  } -> tensor<8x4x4xf32>
  return %r : tensor<8x4x4xf32>
}

// Every other element of a row that is no multiple of two: all of it is read, past its end as well, and half kept.
// CHECK-LABEL: @odd_pool
// CHECK: scf.forall (%{{.*}}, %[[H:.*]]) = (0, 0) to (8, 4) step (2, 1)
// CHECK:   scf.for %[[KH:.*]] = %c0 to %c3
// CHECK:     scf.for %[[KW:.*]] = %c0 to %c3
// CHECK:       %[[ROW:.*]] = affine.apply {{.*}}(%[[H]], %[[KH]]
// CHECK:       %[[V:.*]] = vector.transfer_read %{{.*}}[%{{.*}}, %[[ROW]], %[[KW]]], {{.*}} {in_bounds = [true, true, false]} : tensor<8x9x9xf32>, vector<2x1x8xf32>
// CHECK:       %[[E:.*]], %{{.*}} = vector.deinterleave %[[V]] : vector<2x1x8xf32> -> vector<2x1x4xf32>
// CHECK:       arith.maximumf %{{.*}}, %[[E]] : vector<2x1x4xf32>
func.func private @odd_pool(%x: tensor<8x9x9xf32>, %out: tensor<8x4x4xf32>) -> tensor<8x4x4xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 2, 1, 0, 1, 1>}} {
  %least = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3x3xf32>
  %f = linalg.fill ins(%least : f32) outs(%out : tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, h, w, kh, kw) -> (c, h * 2 + kh, w * 2 + kw)>, affine_map<(c, h, w, kh, kw) -> (kh, kw)>, affine_map<(c, h, w, kh, kw) -> (c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %window : tensor<8x9x9xf32>, tensor<3x3xf32>) outs(%f : tensor<8x4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %m: f32):
    %y = arith.maximumf %m, %a : f32
    linalg.yield %y : f32
  } -> tensor<8x4x4xf32>
  return %r : tensor<8x4x4xf32>
}

// Every third is not read at once: a tile has one position along the row.
// CHECK-LABEL: @thirds
// CHECK: vector.transfer_read {{.*}} : tensor<8x14xf32>, vector<8x1xf32>
// CHECK-NOT: vector.deinterleave
// CHECK: return
func.func private @thirds(%x: tensor<8x14xf32>, %out: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 0, 1, 1>}} {
  %zero = arith.constant 0.0 : f32
  %window = tensor.empty() : tensor<5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, k) -> (c, w * 3 + k)>, affine_map<(c, w, k) -> (k)>, affine_map<(c, w, k) -> (c, w)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %window : tensor<8x14xf32>, tensor<5xf32>) outs(%f : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %m: f32):
    %y = arith.addf %m, %a : f32
    linalg.yield %y : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// Two results that depend on each other are carried together.
// CHECK-LABEL: @argmax
// CHECK: scf.for %[[J:.*]] = %c0 to %c77 step %c1 iter_args(%[[M:.*]] = {{.*}}, %[[I:.*]] = {{.*}}) -> (vector<4xf32>, vector<4xi64>)
// CHECK:   vector.transfer_read {{.*}} : tensor<100x77xf32>, vector<4x1xf32>
// CHECK:   %[[C:.*]] = arith.cmpf ogt
// CHECK-DAG: arith.select %[[C]], %{{.*}}, %[[M]] : vector<4xi1>, vector<4xf32>
// CHECK-DAG: arith.select %[[C]], %{{.*}}, %[[I]] : vector<4xi1>, vector<4xi64>
func.func private @argmax(%x: tensor<100x77xf32>, %m: tensor<100xf32>, %i: tensor<100xi64>) -> (tensor<100xf32>, tensor<100xi64>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 4, 0>}} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %f = linalg.fill ins(%least : f32) outs(%m : tensor<100xf32>) -> tensor<100xf32>
  %g = linalg.fill ins(%zero : i64) outs(%i : tensor<100xi64>) -> tensor<100xi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<100x77xf32>) outs(%f, %g : tensor<100xf32>, tensor<100xi64>) {
  ^bb0(%a: f32, %v: f32, %w: i64):
    %k = linalg.index 1 : index
    %j = arith.index_cast %k : index to i64
    %c = arith.cmpf ogt, %a, %v : f32
    %y = arith.select %c, %a, %v : f32
    %z = arith.select %c, %j, %w : i64
    linalg.yield %y, %z : f32, i64
  } -> (tensor<100xf32>, tensor<100xi64>)
  return %r#0, %r#1 : tensor<100xf32>, tensor<100xi64>
}

// What needs all of the row is made before the loop along it: the sum that the searched elements are divided by.
// CHECK-LABEL: @argmax_of_normalized
// CHECK: %[[ROW:.*]] = vector.transfer_read {{.*}} : tensor<100x77xf32>, vector<4x77xf32>
// CHECK: %[[ALL:.*]] = math.exp %[[ROW]]
// CHECK: %[[SUM:.*]] = vector.multi_reduction <add>, %[[ALL]], {{.*}} : vector<4x77xf32> to vector<4xf32>
// CHECK: scf.for %
// CHECK-NOT: vector.multi_reduction
// CHECK:   %[[E:.*]] = math.exp {{.*}} : vector<4x1xf32>
// CHECK:   %[[S:.*]] = vector.shape_cast %[[SUM]]
// CHECK:   arith.divf %[[E]], %[[S]] : vector<4x1xf32>
func.func private @argmax_of_normalized(%x: tensor<100x77xf32>, %m: tensor<100xf32>, %i: tensor<100xi64>) -> (tensor<100xf32>, tensor<100xi64>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 4, 0>}} {
  %least = arith.constant 0xFF800000 : f32
  %none = arith.constant 0.0 : f32
  %zero = arith.constant 0 : i64
  %row = tensor.empty() : tensor<100xf32>
  %all = tensor.empty() : tensor<100x77xf32>
  %n = linalg.fill ins(%none : f32) outs(%row : tensor<100xf32>) -> tensor<100xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<100x77xf32>) outs(%all : tensor<100x77xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<100x77xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<100x77xf32>) outs(%n : tensor<100xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %o : f32
    linalg.yield %y : f32
  } -> tensor<100xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%e, %s : tensor<100x77xf32>, tensor<100xf32>) outs(%all : tensor<100x77xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<100x77xf32>
  %f = linalg.fill ins(%least : f32) outs(%m : tensor<100xf32>) -> tensor<100xf32>
  %g = linalg.fill ins(%zero : i64) outs(%i : tensor<100xi64>) -> tensor<100xi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<100x77xf32>) outs(%f, %g : tensor<100xf32>, tensor<100xi64>) {
  ^bb0(%a: f32, %v: f32, %w: i64):
    %k = linalg.index 1 : index
    %j = arith.index_cast %k : index to i64
    %c = arith.cmpf ogt, %a, %v : f32
    %y = arith.select %c, %a, %v : f32
    %z = arith.select %c, %j, %w : i64
    linalg.yield %y, %z : f32, i64
  } -> (tensor<100xf32>, tensor<100xi64>)
  return %r#0, %r#1 : tensor<100xf32>, tensor<100xi64>
}
