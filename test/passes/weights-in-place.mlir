// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-weights-in-place)' --split-input-file | FileCheck %s

// A linear layer of 128 rows, and of columns that no strip of lanes ends with: its weights are read, not their
// transpose.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[OWN:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[MADE:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]+]]: tensor<128x512xf32>, %[[W:[^:]+]]: tensor<1025x512xf32> {mlopt.weight}
// CHECK-NOT: "transpose"
// CHECK: linalg.generic {indexing_maps = [#[[ROWS]], #[[OWN]], #[[MADE]]], {{.*}}ins(%[[X]], %[[W]] : {{.*}}mlopt.op = "matmul"
// CHECK-NOT: "transpose"
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#own = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<128x512xf32>, %w: tensor<1025x512xf32> {mlopt.weight},
                %e: tensor<128x1025xf32>) -> tensor<128x1025xf32> {
  %e0 = tensor.empty() : tensor<512x1025xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1025x512xf32>) outs(%e0 : tensor<512x1025xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x1025xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x1025xf32>) -> tensor<128x1025xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<128x512xf32>, tensor<512x1025xf32>) outs(%f : tensor<128x1025xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1025xf32>
  return %q : tensor<128x1025xf32>
}

// -----

// Weights that are made of others, in batches of rows: four by eight are enough, as no cache keeps all weights.
// CHECK-DAG: #[[BATCH:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[OWN:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
// CHECK-LABEL: func.func @main
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} {mlopt.op = "mul"}
// CHECK-NOT: "transpose"
// CHECK: linalg.generic {indexing_maps = [#[[BATCH]], #[[OWN]], {{.*}}ins(%{{.*}}, %[[SCALED]] : {{.*}}mlopt.op = "matmul"
#x = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#b = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#c = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<4x8x4096xf32>, %v: tensor<2048x4096xf32> {mlopt.weight},
                %e: tensor<4x8x2048xf32>) -> tensor<4x8x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2048x4096xf32>
  %w = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %v : tensor<2048x4096xf32>, tensor<2048x4096xf32>) outs(%e1 : tensor<2048x4096xf32>)
      attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<2048x4096xf32>
  %e0 = tensor.empty() : tensor<4096x2048xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<2048x4096xf32>) outs(%e0 : tensor<4096x2048xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<4096x2048xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8x2048xf32>) -> tensor<4x8x2048xf32>
  %q = linalg.generic {indexing_maps = [#x, #b, #c],
        iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<4x8x4096xf32>, tensor<4096x2048xf32>) outs(%f : tensor<4x8x2048xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<4x8x2048xf32>
  return %q : tensor<4x8x2048xf32>
}
