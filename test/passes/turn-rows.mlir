// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-turn-rows)' --split-input-file | FileCheck %s

// Two layers with a relu between them: the weights are read as they lie, the rows come from columns. The first
// ones are turned; those of the second layer are made in columns.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[TURN:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[COLUMNS:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[MADE:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[TOLD:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]+]]: tensor<128x512xf32>, %[[W:[^:]+]]: tensor<1024x512xf32> {mlopt.weight}, %[[V:[^:]+]]: tensor<768x1024xf32>
// CHECK-NOT: ins(%[[W]] :
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[TURN]], {{.*}}ins(%[[X]] : {{.*}}mlopt.op = "transpose"
// CHECK: -> tensor<512x128xf32>
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#[[COLUMNS]], #[[ROWS]], #[[MADE]]], {{.*}}ins(%[[Y]], %[[W]] : {{.*}} {mlopt.op = "matmul"}
// CHECK: -> tensor<1024x128xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}}ins(%[[P]] : tensor<1024x128xf32>) {{.*}} {mlopt.op = "relu"}
// CHECK-NOT: "transpose"
// CHECK: linalg.generic {indexing_maps = [#[[TOLD]], #[[LAST]], #[[MADE]]], {{.*}}ins(%[[R]], %[[V]] : {{.*}} {mlopt.op = "matmul"}
// CHECK: -> tensor<128x768xf32>
func.func @main(%x: tensor<128x512xf32>, %w: tensor<1024x512xf32> {mlopt.weight},
                %v: tensor<768x1024xf32> {mlopt.weight}) -> tensor<128x768xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x1024xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1024x512xf32>) outs(%e : tensor<512x1024xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x1024xf32>
  %e0 = tensor.empty() : tensor<128x1024xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<128x512xf32>, tensor<512x1024xf32>) outs(%f0 : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  %relu = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<128x1024xf32>) outs(%e0 : tensor<128x1024xf32>) attrs = {mlopt.op = "relu"} {
  ^bb0(%p: f32, %out: f32):
    %m = arith.maximumf %p, %zero : f32
    linalg.yield %m : f32
  } -> tensor<128x1024xf32>
  %e1 = tensor.empty() : tensor<1024x768xf32>
  %vt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<768x1024xf32>) outs(%e1 : tensor<1024x768xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<1024x768xf32>
  %e2 = tensor.empty() : tensor<128x768xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<128x768xf32>) -> tensor<128x768xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%relu, %vt : tensor<128x1024xf32>, tensor<1024x768xf32>) outs(%f2 : tensor<128x768xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %y : tensor<128x768xf32>
}
