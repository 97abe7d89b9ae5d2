// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// A weight whose innermost dim would become an outer one is transposed once, beforehand; so is a factor along
// whose columns the result is written, if the other factor's summed dim is not the innermost, or sizes are unknown.
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @weight
// CHECK: %[[T:.*]] = linalg.generic {{.*}}{mlopt.op = "transpose"}
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[T]] :
func.func @weight(%x: tensor<4x8xf32>, %w: tensor<16x8xf32> {mlopt.weight}, %init: tensor<4x16xf32>)
    -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK: mlopt.rewrites = {"mlopt-fold-moves" = [{bytes = 1024 : i64, {{.*}}ops = "transpose", reason = "generic would not read along rows without it", seconds = {{[1-9]}}
// CHECK-LABEL: func.func @columns
// CHECK: %[[T:.*]] = linalg.generic {{.*}}{mlopt.op = "transpose"}
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[T]] :
func.func @columns(%x: tensor<8x4xf32>, %w: tensor<16x8xf32>, %init: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<8x4xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @unknown
// CHECK: %[[T:.*]] = linalg.generic {{.*}}{mlopt.op = "transpose"}
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[T]] :
func.func @unknown(%x: tensor<4x?xf32>, %w: tensor<16x?xf32>, %init: tensor<4x16xf32>, %k: index) -> tensor<4x16xf32> {
  %e = tensor.empty(%k) : tensor<?x16xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x?xf32>) outs(%e : tensor<?x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x16xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<4x?xf32>, tensor<?x16xf32>) outs(%init : tensor<4x16xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// Steps that do not divide a dim, starts that are not known, and a part of a dynamic dim stay slices; a reshape does not pass a ragged one.
// CHECK: reason = "it starts at places that each call computes, or takes steps", seconds = {{[1-9]}}
// CHECK-LABEL: func.func @slices
// CHECK-COUNT-4: tensor.extract_slice
func.func @slices(%x: tensor<8x10xf32>, %y: tensor<?xf32>, %i: index)
    -> (tensor<3x10xf32>, tensor<2x10xf32>, tensor<4xf32>, tensor<?xf32>, tensor<8x2x3xf32>) {
  %a = tensor.extract_slice %x[1, 0] [3, 10] [3, 1] : tensor<8x10xf32> to tensor<3x10xf32>
  %b = tensor.extract_slice %x[%i, 0] [2, 10] [1, 1] : tensor<8x10xf32> to tensor<2x10xf32>
  %c = tensor.extract_slice %y[0] [4] [1] : tensor<?xf32> to tensor<4xf32>
  %d = tensor.extract_slice %y[0] [%i] [1] : tensor<?xf32> to tensor<?xf32>
  // CHECK: linalg.generic {{.*}}{mlopt.op = "slice"}
  // CHECK: tensor.expand_shape
  %e = tensor.extract_slice %x[0, 2] [8, 6] [1, 1] : tensor<8x10xf32> to tensor<8x6xf32>
  %f = tensor.expand_shape %e [[0], [1, 2]] output_shape [8, 2, 3] : tensor<8x6xf32> into tensor<8x2x3xf32>
  return %a, %b, %c, %d, %f : tensor<3x10xf32>, tensor<2x10xf32>, tensor<4xf32>, tensor<?xf32>, tensor<8x2x3xf32>
}

// -----

// What a gather reads stays in memory where its body can fail, where more would be read than is made, where memory
// would be read across its rows, and where weights alone determine it.
#id = affine_map<(d0, d1) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
#one = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @gathered
// CHECK: %[[D:.*]] = linalg.generic {{.*}}{mlopt.op = "div"}
// CHECK: %[[E:.*]] = linalg.generic {{.*}}{mlopt.op = "exp"}
// CHECK: %[[T:.*]] = linalg.generic {{.*}}{mlopt.op = "transpose"}
// CHECK: %[[C:.*]] = linalg.generic {{.*}}{mlopt.op = "cast"}
// CHECK: tensor.extract %[[D]][
// CHECK: tensor.extract %[[E]][
// CHECK: tensor.extract %[[T]][
// CHECK: tensor.extract %[[C]][
func.func @gathered(%a: tensor<10x8xi64>, %x: tensor<10x8xf32>, %w: tensor<10x8xf16> {mlopt.weight},
                    %t: tensor<100xi64>, %few: tensor<4xi64>)
    -> (tensor<4xi64>, tensor<100xf32>, tensor<4xf32>, tensor<4xf32>) {
  %e0 = tensor.empty() : tensor<10x8xi64>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<10x8xi64>) outs(%e0 : tensor<10x8xi64>) attrs = {mlopt.op = "div"} {
  ^bb0(%p: i64, %out: i64):
    %0 = arith.divsi %p, %p : i64
    linalg.yield %0 : i64
  } -> tensor<10x8xi64>
  %e1 = tensor.empty() : tensor<10x8xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<10x8xf32>) outs(%e1 : tensor<10x8xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<10x8xf32>
  %e2 = tensor.empty() : tensor<8x10xf32>
  %tr = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<10x8xf32>) outs(%e2 : tensor<8x10xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<8x10xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<10x8xf16>) outs(%e1 : tensor<10x8xf32>) attrs = {mlopt.op = "cast"} {
  ^bb0(%p: f16, %out: f32):
    %0 = arith.extf %p : f16 to f32
    linalg.yield %0 : f32
  } -> tensor<10x8xf32>
  %o0 = tensor.empty() : tensor<4xi64>
  %r0 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%few : tensor<4xi64>) outs(%o0 : tensor<4xi64>) attrs = {mlopt.op = "gather"} {
  ^bb0(%p: i64, %out: i64):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %p : i64 to index
    %2 = tensor.extract %d[%1, %0] : tensor<10x8xi64>
    linalg.yield %2 : i64
  } -> tensor<4xi64>
  %o1 = tensor.empty() : tensor<100xf32>
  %r1 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%t : tensor<100xi64>) outs(%o1 : tensor<100xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%p: i64, %out: f32):
    %1 = arith.index_cast %p : i64 to index
    %2 = tensor.extract %e[%1, %1] : tensor<10x8xf32>
    linalg.yield %2 : f32
  } -> tensor<100xf32>
  %o2 = tensor.empty() : tensor<4xf32>
  %r2 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%few : tensor<4xi64>) outs(%o2 : tensor<4xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%p: i64, %out: f32):
    %1 = arith.index_cast %p : i64 to index
    %2 = tensor.extract %tr[%1, %1] : tensor<8x10xf32>
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  %r3 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%few : tensor<4xi64>) outs(%o2 : tensor<4xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%p: i64, %out: f32):
    %1 = arith.index_cast %p : i64 to index
    %2 = tensor.extract %c[%1, %1] : tensor<10x8xf32>
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %r0, %r1, %r2, %r3 : tensor<4xi64>, tensor<100xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Heads that lie between the rows cannot be joined with the batch before they are moved: they are copied.
#tr = affine_map<(b, h, n, d) -> (b, n, h, d)>
#id = affine_map<(b, h, n, d) -> (b, h, n, d)>
#a = affine_map<(b, m, n, d) -> (b, m, d)>
#b = affine_map<(b, m, n, d) -> (b, n, d)>
#c = affine_map<(b, m, n, d) -> (b, m, n)>
// CHECK-LABEL: func.func @heads_apart
// CHECK: linalg.generic {{.*}}{mlopt.op = "transpose"}
// CHECK: tensor.collapse_shape
func.func @heads_apart(%x: tensor<6x4x8xf32>, %y: tensor<2x5x3x8xf32>, %init: tensor<6x4x5xf32>) -> tensor<6x4x5xf32> {
  %e = tensor.empty() : tensor<2x3x5x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<2x5x3x8xf32>) outs(%e : tensor<2x3x5x8xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x3x5x8xf32>
  %f = tensor.collapse_shape %t [[0, 1], [2], [3]] : tensor<2x3x5x8xf32> into tensor<6x5x8xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %f : tensor<6x4x8xf32>, tensor<6x5x8xf32>) outs(%init : tensor<6x4x5xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<6x4x5xf32>
  return %r : tensor<6x4x5xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// What yields its input and something else is no move: the second result is not the input.
// CHECK-LABEL: @value_and_place
// CHECK: %[[BOTH:.*]]:2 = linalg.generic
// CHECK: linalg.generic {{.*}} ins(%[[BOTH]]#1 : tensor<?xi64>)
func.func @value_and_place(%x: tensor<?xi64>, %n: index) -> (tensor<?xi64>, tensor<?xi64>) {
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %e = tensor.empty(%n) : tensor<?xi64>
  %b:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x : tensor<?xi64>) outs(%e, %e : tensor<?xi64>, tensor<?xi64>) {
  ^bb0(%a: i64, %o: i64, %p: i64):
    linalg.yield %a, %none : i64, i64
  } -> (tensor<?xi64>, tensor<?xi64>)
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b#1 : tensor<?xi64>) outs(%e : tensor<?xi64>) {
  ^bb0(%a: i64, %o: i64):
    %s = arith.addi %a, %one : i64
    linalg.yield %s : i64
  } -> tensor<?xi64>
  return %b#0, %r : tensor<?xi64>, tensor<?xi64>
}
