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

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#vec = affine_map<(d0) -> (d0)>

// A body with regions is not written anew.
// CHECK-LABEL: func.func @region
// CHECK: linalg.generic {{.*}} ins(%arg0, %{{.*}} : tensor<4x8xi64>, tensor<8xi64>)
// CHECK: scf.if
func.func @region(%x: tensor<4x8xi64>) -> tensor<4x8xi64> {
  %e = tensor.empty() : tensor<8xi64>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<8xi64>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %a : tensor<4x8xi64>, tensor<8xi64>) outs(%x : tensor<4x8xi64>) {
  ^bb0(%in: i64, %p: i64, %out: i64):
    %c = arith.cmpi slt, %in, %p : i64
    %0 = scf.if %c -> i64 {
      %1 = arith.addi %in, %p : i64
      scf.yield %1 : i64
    } else {
      scf.yield %in : i64
    }
    linalg.yield %0 : i64
  } -> tensor<4x8xi64>
  return %r : tensor<4x8xi64>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#vec = affine_map<(d0) -> (d0)>

// Sums start with the positions: they are needed in memory.
// CHECK-LABEL: func.func @init
// CHECK: arith.index_cast
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<4x8xi64>) outs(%{{.*}} : tensor<8xi64>)
// CHECK-NOT: linalg.index
func.func @init(%x: tensor<4x8xi64>) -> tensor<8xi64> {
  %e = tensor.empty() : tensor<8xi64>
  %a = linalg.generic {indexing_maps = [#vec], iterator_types = ["parallel"]} outs(%e : tensor<8xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<8xi64>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<4x8xi64>) outs(%a : tensor<8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %0 = arith.addi %in, %out : i64
    linalg.yield %0 : i64
  } -> tensor<8xi64>
  return %r : tensor<8xi64>
}

// -----

#vec = affine_map<(d0) -> (d0)>

// What makes two results stays as a whole.
// CHECK-LABEL: func.func @two
// CHECK: %[[A:.*]]:2 = linalg.generic
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[A]]#0 : tensor<8xi64>, tensor<8xi64>)
func.func @two(%x: tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>) {
  %e = tensor.empty() : tensor<8xi64>
  %a:2 = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      outs(%e, %e : tensor<8xi64>, tensor<8xi64>) {
  ^bb0(%out: i64, %out_0: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    %1 = arith.addi %0, %0 : i64
    linalg.yield %0, %1 : i64, i64
  } -> (tensor<8xi64>, tensor<8xi64>)
  %r = linalg.generic {indexing_maps = [#vec, #vec, #vec], iterator_types = ["parallel"]}
      ins(%x, %a#0 : tensor<8xi64>, tensor<8xi64>) outs(%x : tensor<8xi64>) {
  ^bb0(%in: i64, %p: i64, %out: i64):
    %0 = arith.addi %in, %p : i64
    linalg.yield %0 : i64
  } -> tensor<8xi64>
  return %r, %a#1 : tensor<8xi64>, tensor<8xi64>
}
