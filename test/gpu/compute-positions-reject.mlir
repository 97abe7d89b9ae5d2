// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-compute-positions)' --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#next = affine_map<(d0, d1) -> (d0 + d1)>
#vec = affine_map<(d0) -> (d0)>

// Loops run together: positions are read as they are.
// CHECK-LABEL: func.func @window
// CHECK: arith.index_cast
// CHECK: linalg.yield
// CHECK: linalg.generic {{.*}} ins(%arg0, %{{.*}} : tensor<4x5xi64>, tensor<8xi64>)
func.func @window(%x: tensor<4x5xi64>) -> tensor<4x5xi64> {
  %e = tensor.empty() : tensor<8xi64>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<8xi64>
  %r = linalg.generic {indexing_maps = [#id, #next, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %a : tensor<4x5xi64>, tensor<8xi64>) outs(%x : tensor<4x5xi64>) {
  ^bb0(%in: i64, %p: i64, %out: i64):
    %0 = arith.addi %in, %p : i64
    linalg.yield %0 : i64
  } -> tensor<4x5xi64>
  return %r : tensor<4x5xi64>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#column = affine_map<(d0, d1) -> (d0)>
#vec = affine_map<(d0) -> (d0)>

// Nothing else says how many columns there are.
// CHECK-LABEL: func.func @size
// CHECK: linalg.generic {{.*}} ins(%arg0, %{{.*}} : tensor<4xi64>, tensor<8xi64>)
func.func @size(%x: tensor<4xi64>) -> tensor<4xi64> {
  %e = tensor.empty() : tensor<8xi64>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<8xi64>
  %r = linalg.generic {indexing_maps = [#column, #row, #column], iterator_types = ["parallel", "reduction"]}
      ins(%x, %a : tensor<4xi64>, tensor<8xi64>) outs(%x : tensor<4xi64>) {
  ^bb0(%in: i64, %p: i64, %out: i64):
    %0 = arith.muli %in, %p : i64
    %1 = arith.addi %out, %0 : i64
    linalg.yield %1 : i64
  } -> tensor<4xi64>
  return %r : tensor<4xi64>
}

// -----

#vec = affine_map<(d0) -> (d0)>

// What takes a function of the position is worth its memory; what depends on the buffer is no position.
// CHECK-LABEL: func.func @dear
// CHECK: linalg.generic {{.*}} ins(%arg0, %{{.*}} : tensor<8xf32>, tensor<8xf32>)
func.func @dear(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    %1 = arith.sitofp %0 : i64 to f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#vec, #vec, #vec], iterator_types = ["parallel"]}
      ins(%x, %a : tensor<8xf32>, tensor<8xf32>) outs(%x : tensor<8xf32>) {
  ^bb0(%in: f32, %p: f32, %out: f32):
    %0 = arith.addf %in, %p : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
