// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-turn-rows)' --split-input-file | FileCheck %s

// Three layers. The first one's rows are an argument: it reads its weights in columns as before. What is between
// it and the second reads its result twice, beside what is broadcast and an argument: the kernel that makes all
// of that turns it, too. The second layer's result is made in columns, and those of the third are.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
#turn = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[TURN:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[COLUMNS:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[MADE:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[TOLD:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]+]]: tensor<128x512xf32>, %[[W:[^:]+]]: tensor<1024x512xf32> {mlopt.weight}, %[[V:[^:]+]]: tensor<768x1024xf32> {mlopt.weight}, %[[U:[^:]+]]: tensor<1024x768xf32>
// CHECK: %[[WT:.*]] = linalg.generic {{.*}}ins(%[[W]] : {{.*}}mlopt.op = "transpose"
// CHECK: linalg.generic {indexing_maps = [#[[ROWS]], #[[COLUMNS]], #[[MADE]]], {{.*}}ins(%[[X]], %[[WT]] :
// CHECK: mlopt.op = "mul"
// CHECK: %[[S:.*]] = linalg.generic {{.*}}mlopt.op = "add"
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[TURN]], {{.*}}ins(%[[S]] : {{.*}}mlopt.op = "transpose"
// CHECK: -> tensor<1024x128xf32>
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#[[COLUMNS]], #[[ROWS]], #[[MADE]]], {{.*}}ins(%[[Y]], %[[V]] : {{.*}} {mlopt.op = "matmul"}
// CHECK: -> tensor<768x128xf32>
// CHECK-NOT: "transpose"
// CHECK: %[[R:.*]] = linalg.generic {{.*}}ins(%[[P]] : tensor<768x128xf32>) {{.*}} {mlopt.op = "relu"}
// CHECK-NOT: "transpose"
// CHECK: linalg.generic {indexing_maps = [#[[TOLD]], #[[LAST]], #[[MADE]]], {{.*}}ins(%[[R]], %[[U]] : {{.*}} {mlopt.op = "matmul"}
// CHECK: -> tensor<128x1024xf32>
func.func @main(%x: tensor<128x512xf32>, %w: tensor<1024x512xf32> {mlopt.weight},
                %v: tensor<768x1024xf32> {mlopt.weight}, %u: tensor<1024x768xf32> {mlopt.weight},
                %bias: tensor<1024xf32>, %other: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<512x1024xf32>
  %wt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<1024x512xf32>) outs(%e0 : tensor<512x1024xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<512x1024xf32>
  %e1 = tensor.empty() : tensor<128x1024xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wt : tensor<128x512xf32>, tensor<512x1024xf32>) outs(%f1 : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  %b = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q, %bias : tensor<128x1024xf32>, tensor<1024xf32>) outs(%e1 : tensor<128x1024xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.addf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<128x1024xf32>
  %relu = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<128x1024xf32>) outs(%e1 : tensor<128x1024xf32>) attrs = {mlopt.op = "relu"} {
  ^bb0(%p: f32, %out: f32):
    %m = arith.maximumf %p, %zero : f32
    linalg.yield %m : f32
  } -> tensor<128x1024xf32>
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b, %relu : tensor<128x1024xf32>, tensor<128x1024xf32>) outs(%e1 : tensor<128x1024xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<128x1024xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %other : tensor<128x1024xf32>, tensor<128x1024xf32>) outs(%e1 : tensor<128x1024xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.addf %p, %r : f32
    linalg.yield %s : f32
  } -> tensor<128x1024xf32>
  %e2 = tensor.empty() : tensor<1024x768xf32>
  %vt = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<768x1024xf32>) outs(%e2 : tensor<1024x768xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<1024x768xf32>
  %e3 = tensor.empty() : tensor<128x768xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<128x768xf32>) -> tensor<128x768xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %vt : tensor<128x1024xf32>, tensor<1024x768xf32>) outs(%f3 : tensor<128x768xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %again = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<128x768xf32>) outs(%e3 : tensor<128x768xf32>) attrs = {mlopt.op = "relu"} {
  ^bb0(%p: f32, %out: f32):
    %m = arith.maximumf %p, %zero : f32
    linalg.yield %m : f32
  } -> tensor<128x768xf32>
  %e4 = tensor.empty() : tensor<768x1024xf32>
  %ut = linalg.generic {indexing_maps = [#turn, #id], iterator_types = ["parallel", "parallel"]}
      ins(%u : tensor<1024x768xf32>) outs(%e4 : tensor<768x1024xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%p: f32, %out: f32):
    linalg.yield %p : f32
  } -> tensor<768x1024xf32>
  %e5 = tensor.empty() : tensor<128x1024xf32>
  %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %z = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%again, %ut : tensor<128x768xf32>, tensor<768x1024xf32>) outs(%f5 : tensor<128x1024xf32>)
      attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<128x1024xf32>
  return %z : tensor<128x1024xf32>
}
