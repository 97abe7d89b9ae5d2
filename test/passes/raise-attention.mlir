// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention,canonicalize,cse)' | FileCheck %s

// Called: the weights are divided after the second product, and rows of -inf alone are zero. Keys are read where
// they lay before they were transposed; the mask stays an op of its own.
// CHECK-DAG: #[[KEYS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[VALUES:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @called
// CHECK-SAME: (%[[Q:arg0]]: {{.*}}, %[[K:arg1]]: {{.*}}, %[[V:arg2]]: {{.*}}, %[[MASK:arg3]]: tensor
// CHECK: %[[S:.*]] = linalg.generic {indexing_maps = [#[[ROWS]], #[[KEYS]], #[[OUT]]], {{.*}} ins(%[[Q]], %[[K]] : {{.*}}mlopt.op = "scores"
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[MASK]] : {{.*}}mlopt.op = "add"
// CHECK: %[[E:.*]] = tensor.empty() : tensor<6x40x8xf32>
// CHECK: %[[R:.*]] = "mlopt.attention"(%[[T]], %[[V]], %[[E]]) {causal = -1 : i64, indexing_maps = [#[[ROWS]], #[[VALUES]], #[[OUT]]], {{.*}}mlopt.op = "attention", zero_nans = false, zero_rows = true}
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]
func.func @called(%q: tensor<6x40x16xf32>, %k: tensor<6x50x16xf32>, %v: tensor<6x50x8xf32>, %mask: tensor<40x50xf32>) -> tensor<6x40x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %lows = arith.constant dense<0xFF800000> : tensor<6x40xf32>
  %zeros = arith.constant dense<0.0> : tensor<6x40xf32>
  %ones = arith.constant dense<1.0> : tensor<6x40xf32>
  %e0 = tensor.empty() : tensor<6x16x50xf32>
  %e1 = tensor.empty() : tensor<6x40x50xf32>
  %e2 = tensor.empty() : tensor<6x40xf32>
  %e3 = tensor.empty() : tensor<6x40x8xf32>
  %kt = linalg.transpose ins(%k : tensor<6x50x16xf32>) outs(%e0 : tensor<6x16x50xf32>) permutation = [0, 2, 1]
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<6x40x50xf32>) -> tensor<6x40x50xf32>
  %s = linalg.batch_matmul ins(%q, %kt : tensor<6x40x16xf32>, tensor<6x16x50xf32>) outs(%f1 : tensor<6x40x50xf32>) -> tensor<6x40x50xf32>
  %bm = linalg.broadcast ins(%mask : tensor<40x50xf32>) outs(%e1 : tensor<6x40x50xf32>) dimensions = [0]
  %t = arith.addf %s, %bm : tensor<6x40x50xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<6x40xf32>) -> tensor<6x40xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<6x40x50xf32>) outs(%f2 : tensor<6x40xf32>) dimensions = [2]
  %none = arith.cmpf oeq, %top, %lows : tensor<6x40xf32>
  %safe = arith.select %none, %zeros, %top : tensor<6x40xi1>, tensor<6x40xf32>
  %bt = linalg.broadcast ins(%safe : tensor<6x40xf32>) outs(%e1 : tensor<6x40x50xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<6x40x50xf32>
  %w = math.exp %d : tensor<6x40x50xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x40xf32>) -> tensor<6x40xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<6x40x50xf32>) outs(%f3 : tensor<6x40xf32>) dimensions = [2]
  %no = arith.cmpf oeq, %sum, %zeros : tensor<6x40xf32>
  %total = arith.select %no, %ones, %sum : tensor<6x40xi1>, tensor<6x40xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<6x40x8xf32>) -> tensor<6x40x8xf32>
  %o = linalg.batch_matmul ins(%w, %v : tensor<6x40x50xf32>, tensor<6x50x8xf32>) outs(%f4 : tensor<6x40x8xf32>) -> tensor<6x40x8xf32>
  %bs = linalg.broadcast ins(%total : tensor<6x40xf32>) outs(%e3 : tensor<6x40x8xf32>) dimensions = [2]
  %r = arith.divf %o, %bs : tensor<6x40x8xf32>
  return %r : tensor<6x40x8xf32>
}

// -----

// Written out, with grouped heads: 4 x 21 rows of the products are 2 x 6 x 7 of the softmax. The finest dims are
// 2 x 2 x 3 x 7; what is done to the result comes before they are joined. The causal mask is computed in place.
// CHECK-LABEL: func.func @written_out
// CHECK-SAME: (%[[Q:arg0]]: {{.*}}, %[[K:arg1]]: {{.*}}, %[[V:arg2]]: tensor
// CHECK: %[[Q5:.*]] = tensor.expand_shape %[[Q]] {{.*}} into tensor<2x2x3x7x8xf16>
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[Q5]], %[[K]] : tensor<2x2x3x7x8xf16>, tensor<2x2x7x8xf16>) outs({{.*}} : tensor<2x2x3x7x7xf32>)
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]] : {{.*}}mlopt.op = "where"
// CHECK-DAG: linalg.index 3
// CHECK-DAG: linalg.index 4
// CHECK: %[[R:.*]] = "mlopt.attention"(%[[T]], %[[V]], %{{.*}}) {causal = 3 : i64, {{.*}}mlopt.rounds = "f16", zero_nans = false, zero_rows = false}
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[R]] : tensor<2x2x3x7x8xf32>) outs({{.*}} : tensor<2x2x3x7x8xf16>)
// CHECK: %[[J:.*]] = tensor.collapse_shape %[[H]] {{.*}} into tensor<2x6x7x8xf16>
// CHECK: return %[[J]]
func.func @written_out(%q: tensor<2x6x7x8xf16>, %k: tensor<2x2x7x8xf16>, %v: tensor<2x2x7x8xf16>) -> tensor<2x6x7x8xf16> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %lows = arith.constant dense<0xFF800000> : tensor<2x6x7x7xf32>
  %q1 = tensor.collapse_shape %q [[0], [1, 2], [3]] : tensor<2x6x7x8xf16> into tensor<2x42x8xf16>
  %q2 = tensor.expand_shape %q1 [[0], [1, 2], [3]] output_shape [2, 2, 21, 8] : tensor<2x42x8xf16> into tensor<2x2x21x8xf16>
  %q3 = tensor.collapse_shape %q2 [[0, 1], [2], [3]] : tensor<2x2x21x8xf16> into tensor<4x21x8xf16>
  %k3 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x2x7x8xf16> into tensor<4x7x8xf16>
  %v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x2x7x8xf16> into tensor<4x7x8xf16>
  %e0 = tensor.empty() : tensor<4x8x7xf16>
  %e1 = tensor.empty() : tensor<4x21x7xf32>
  %e2 = tensor.empty() : tensor<2x6x7xf32>
  %e3 = tensor.empty() : tensor<4x21x8xf32>
  %e4 = tensor.empty() : tensor<2x6x7x7xf32>
  %kt = linalg.transpose ins(%k3 : tensor<4x7x8xf16>) outs(%e0 : tensor<4x8x7xf16>) permutation = [0, 2, 1]
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x21x7xf32>) -> tensor<4x21x7xf32>
  %s = linalg.batch_matmul ins(%q3, %kt : tensor<4x21x8xf16>, tensor<4x8x7xf16>) outs(%f1 : tensor<4x21x7xf32>) -> tensor<4x21x7xf32>
  %s1 = tensor.collapse_shape %s [[0, 1], [2]] : tensor<4x21x7xf32> into tensor<84x7xf32>
  %s2 = tensor.expand_shape %s1 [[0, 1, 2], [3]] output_shape [2, 6, 7, 7] : tensor<84x7xf32> into tensor<2x6x7x7xf32>
  %ei = tensor.empty() : tensor<7xi32>
  %count = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%ei : tensor<7xi32>) {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i32
    linalg.yield %c : i32
  } -> tensor<7xi32>
  %eb = tensor.empty() : tensor<7x7xi1>
  %seen = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%count, %count : tensor<7xi32>, tensor<7xi32>) outs(%eb : tensor<7x7xi1>) {
  ^bb0(%i: i32, %j: i32, %out: i1):
    %c = arith.cmpi sge, %i, %j : i32
    linalg.yield %c : i1
  } -> tensor<7x7xi1>
  %e5 = tensor.empty() : tensor<2x6x7x7xi1>
  %mask = linalg.broadcast ins(%seen : tensor<7x7xi1>) outs(%e5 : tensor<2x6x7x7xi1>) dimensions = [0, 1]
  %t = arith.select %mask, %s2, %lows : tensor<2x6x7x7xi1>, tensor<2x6x7x7xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x6x7xf32>) -> tensor<2x6x7xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x6x7x7xf32>) outs(%f2 : tensor<2x6x7xf32>) dimensions = [3]
  %bt = linalg.broadcast ins(%top : tensor<2x6x7xf32>) outs(%e4 : tensor<2x6x7x7xf32>) dimensions = [3]
  %d = arith.subf %t, %bt : tensor<2x6x7x7xf32>
  %w = math.exp %d : tensor<2x6x7x7xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x6x7xf32>) -> tensor<2x6x7xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x6x7x7xf32>) outs(%f3 : tensor<2x6x7xf32>) dimensions = [3]
  %bs = linalg.broadcast ins(%sum : tensor<2x6x7xf32>) outs(%e4 : tensor<2x6x7x7xf32>) dimensions = [3]
  %p = arith.divf %w, %bs : tensor<2x6x7x7xf32>
  %ph = arith.truncf %p : tensor<2x6x7x7xf32> to tensor<2x6x7x7xf16>
  %p1 = tensor.collapse_shape %ph [[0, 1, 2], [3]] : tensor<2x6x7x7xf16> into tensor<84x7xf16>
  %p2 = tensor.expand_shape %p1 [[0, 1], [2]] output_shape [4, 21, 7] : tensor<84x7xf16> into tensor<4x21x7xf16>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<4x21x8xf32>) -> tensor<4x21x8xf32>
  %o = linalg.batch_matmul ins(%p2, %v3 : tensor<4x21x7xf16>, tensor<4x7x8xf16>) outs(%f4 : tensor<4x21x8xf32>) -> tensor<4x21x8xf32>
  %o1 = tensor.collapse_shape %o [[0, 1], [2]] : tensor<4x21x8xf32> into tensor<84x8xf32>
  %o2 = tensor.expand_shape %o1 [[0, 1, 2], [3]] output_shape [2, 6, 7, 8] : tensor<84x8xf32> into tensor<2x6x7x8xf32>
  %r = arith.truncf %o2 : tensor<2x6x7x8xf32> to tensor<2x6x7x8xf16>
  return %r : tensor<2x6x7x8xf16>
}

// -----

// A mask of numbers in i8, of which 128 is -128: the last rows see other keys than causal ones.
// CHECK-LABEL: func.func @counts_that_wrap
// CHECK: %[[MASK:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<200x200xi1>)
// CHECK: linalg.generic {{.*}} ins(%[[MASK]], %{{.*}} : tensor<200x200xi1>, tensor<2x200x200xf32>)
// CHECK: "mlopt.attention"(%{{.*}}) {causal = -1 : i64
func.func @counts_that_wrap(%q: tensor<2x200x8xf32>, %k: tensor<2x8x200xf32>, %v: tensor<2x200x8xf32>) -> tensor<2x200x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %lows = arith.constant dense<0xFF800000> : tensor<2x200x200xf32>
  %e1 = tensor.empty() : tensor<2x200x200xf32>
  %e2 = tensor.empty() : tensor<2x200xf32>
  %e3 = tensor.empty() : tensor<2x200x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x200x200xf32>) -> tensor<2x200x200xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x200x8xf32>, tensor<2x8x200xf32>) outs(%f1 : tensor<2x200x200xf32>) -> tensor<2x200x200xf32>
  %ei = tensor.empty() : tensor<200xi8>
  %count = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%ei : tensor<200xi8>) {
  ^bb0(%out: i8):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i8
    linalg.yield %c : i8
  } -> tensor<200xi8>
  %eb = tensor.empty() : tensor<200x200xi1>
  %seen = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%count, %count : tensor<200xi8>, tensor<200xi8>) outs(%eb : tensor<200x200xi1>) {
  ^bb0(%i: i8, %j: i8, %out: i1):
    %c = arith.cmpi sge, %i, %j : i8
    linalg.yield %c : i1
  } -> tensor<200x200xi1>
  %e5 = tensor.empty() : tensor<2x200x200xi1>
  %mask = linalg.broadcast ins(%seen : tensor<200x200xi1>) outs(%e5 : tensor<2x200x200xi1>) dimensions = [0]
  %t = arith.select %mask, %s, %lows : tensor<2x200x200xi1>, tensor<2x200x200xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x200xf32>) -> tensor<2x200xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x200x200xf32>) outs(%f2 : tensor<2x200xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x200xf32>) outs(%e1 : tensor<2x200x200xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x200x200xf32>
  %w = math.exp %d : tensor<2x200x200xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x200xf32>) -> tensor<2x200xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x200x200xf32>) outs(%f3 : tensor<2x200xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x200xf32>) outs(%e1 : tensor<2x200x200xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x200x200xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x200x8xf32>) -> tensor<2x200x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x200x200xf32>, tensor<2x200x8xf32>) outs(%f4 : tensor<2x200x8xf32>) -> tensor<2x200x8xf32>
  return %o : tensor<2x200x8xf32>
}
