// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// What is behind views is computed where it is gathered: the place in the parts of a dim, and the other way round.
#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#vec = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @behind_a_collapse
// CHECK-SAME: %[[X:.*]]: tensor<?x48x5xf32>
// CHECK-NOT: mlopt.op = "exp"
// CHECK: ^bb0(%[[IN:.*]]: i64
// CHECK: %[[I:.*]] = arith.index_cast %[[IN]]
// CHECK: %[[K:.*]] = arith.remui %[[I]], %c5
// CHECK: %[[R:.*]] = arith.divui %[[I]], %c5
// CHECK: %[[J:.*]] = arith.remui %[[R]], %c48
// CHECK: %[[H:.*]] = arith.divui %[[R]], %c48
// CHECK: %[[E:.*]] = tensor.extract %[[X]][%[[H]], %[[J]], %[[K]]]
// CHECK: math.exp %[[E]]
func.func @behind_a_collapse(%x: tensor<?x48x5xf32>, %t: tensor<7xi64>) -> tensor<7xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x48x5xf32>
  %e = tensor.empty(%n) : tensor<?x48x5xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x48x5xf32>) outs(%e : tensor<?x48x5xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<?x48x5xf32>
  %c = tensor.collapse_shape %d [[0, 1, 2]] : tensor<?x48x5xf32> into tensor<?xf32>
  %o = tensor.empty() : tensor<7xf32>
  %g = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%t : tensor<7xi64>) outs(%o : tensor<7xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %0 = tensor.extract %c[%i] : tensor<?xf32>
    linalg.yield %0 : f32
  } -> tensor<7xf32>
  return %g : tensor<7xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#vec = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @behind_an_expansion
// CHECK-SAME: %[[X:.*]]: tensor<12xf32>, %[[M:.*]]: tensor<f32>
// CHECK-NOT: mlopt.op = "sub"
// CHECK: %[[I:.*]] = arith.index_cast
// CHECK: %[[J:.*]] = linalg.index 0
// CHECK: %[[S:.*]] = arith.muli %[[I]], %c4
// CHECK: %[[P:.*]] = arith.addi %[[S]], %[[J]]
// CHECK: tensor.extract %[[X]][%[[P]]]
func.func @behind_an_expansion(%x: tensor<12xf32>, %m: tensor<f32>, %t: tensor<4xi64>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<12xf32>
  %d = linalg.generic {indexing_maps = [#vec, affine_map<(d0) -> ()>, #vec], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<12xf32>, tensor<f32>) outs(%e : tensor<12xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<12xf32>
  %v = tensor.expand_shape %d [[0, 1, 2]] output_shape [1, 3, 4] : tensor<12xf32> into tensor<1x3x4xf32>
  %o = tensor.empty() : tensor<4xf32>
  %g = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%t : tensor<4xi64>) outs(%o : tensor<4xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %j = linalg.index 0 : index
    %0 = tensor.extract %v[%c0, %i, %j] : tensor<1x3x4xf32>
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %g : tensor<4xf32>
}
