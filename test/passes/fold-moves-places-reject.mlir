// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves,canonicalize,cse)' | FileCheck %s

// Behind a view with an inner part of unknown size a place is not known by numbers; what is in memory is read there.
#vec = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @not_behind
// CHECK-SAME: %[[X:.*]]: tensor<5x?xf32>, %[[Y:[a-z0-9]*]]: tensor<5x8xf32>
// CHECK: mlopt.op = "exp"
// CHECK-DAG: %[[C:.*]] = tensor.collapse_shape %{{.*}} : tensor<5x?xf32> into tensor<?xf32>
// CHECK-DAG: %[[M:.*]] = tensor.collapse_shape %[[Y]] {{.*}} : tensor<5x8xf32> into tensor<40xf32>
// CHECK-DAG: tensor.extract %[[C]][
// CHECK-DAG: tensor.extract %[[M]][
func.func @not_behind(%x: tensor<5x?xf32>, %y: tensor<5x8xf32>, %t: tensor<7xi64>) -> tensor<7xf32> {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<5x?xf32>
  %e = tensor.empty(%n) : tensor<5x?xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<5x?xf32>) outs(%e : tensor<5x?xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<5x?xf32>
  %c = tensor.collapse_shape %d [[0, 1]] : tensor<5x?xf32> into tensor<?xf32>
  %m = tensor.collapse_shape %y [[0, 1]] : tensor<5x8xf32> into tensor<40xf32>
  %o = tensor.empty() : tensor<7xf32>
  %g = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%t : tensor<7xi64>) outs(%o : tensor<7xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %0 = tensor.extract %c[%i] : tensor<?xf32>
    %1 = tensor.extract %m[%i] : tensor<40xf32>
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<7xf32>
  return %g : tensor<7xf32>
}
