// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// What reads a weight for each column is not done in another shape.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @column
// CHECK: %[[C:.*]] = tensor.collapse_shape %{{.*}} : tensor<6x20xf32> into tensor<120xf32>
// CHECK: %[[V:.*]] = tensor.expand_shape %[[C]]
// CHECK: linalg.generic {{.*}} ins(%[[V]], %arg1 : tensor<8x15xf32>, tensor<15xf32>)
func.func @column(%x: tensor<6x20xf32>, %b: tensor<15xf32>) -> (tensor<8x15xf32>, tensor<6x20xf32>) {
  %w = tensor.empty() : tensor<6x20xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x20xf32>) outs(%w : tensor<6x20xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<6x20xf32>
  %c = tensor.collapse_shape %n [[0, 1]] : tensor<6x20xf32> into tensor<120xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [8, 15] : tensor<120xf32> into tensor<8x15xf32>
  %u = tensor.empty() : tensor<8x15xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %b : tensor<8x15xf32>, tensor<15xf32>) outs(%u : tensor<8x15xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x15xf32>
  return %y, %n : tensor<8x15xf32>, tensor<6x20xf32>
}

// -----

// What reads another kernel's result in its own shape stays with that one.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @both
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<6x20xf32>) {{.*}}mlopt.op = "exp"
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[N]]
// CHECK: %[[V:.*]] = tensor.expand_shape %[[C]]
// CHECK: %[[Z:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<8x15xf32>) {{.*}}mlopt.op = "exp"
// CHECK: linalg.generic {{.*}} ins(%[[V]], %[[Z]] :
func.func @both(%x: tensor<6x20xf32>, %a: tensor<8x15xf32>) -> (tensor<8x15xf32>, tensor<6x20xf32>) {
  %w = tensor.empty() : tensor<6x20xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x20xf32>) outs(%w : tensor<6x20xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<6x20xf32>
  %c = tensor.collapse_shape %n [[0, 1]] : tensor<6x20xf32> into tensor<120xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [8, 15] : tensor<120xf32> into tensor<8x15xf32>
  %u = tensor.empty() : tensor<8x15xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x15xf32>) outs(%u : tensor<8x15xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<8x15xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %z : tensor<8x15xf32>, tensor<8x15xf32>) outs(%u : tensor<8x15xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x15xf32>
  return %y, %n : tensor<8x15xf32>, tensor<6x20xf32>
}

// -----

// What others read as it is made is not made in the shape of the view.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @shared
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<6x20xf32>) {{.*}}mlopt.op = "exp"
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[N]]
// CHECK: %[[V:.*]] = tensor.expand_shape %[[C]]
// CHECK: linalg.generic {{.*}} ins(%[[V]] : tensor<8x15xf32>) {{.*}}mlopt.op = "sum"
func.func @shared(%x: tensor<6x20xf32>) -> (tensor<8xf32>, tensor<6x20xf32>) {
  %zero = arith.constant 0.0 : f32
  %w = tensor.empty() : tensor<6x20xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x20xf32>) outs(%w : tensor<6x20xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<6x20xf32>
  %c = tensor.collapse_shape %n [[0, 1]] : tensor<6x20xf32> into tensor<120xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [8, 15] : tensor<120xf32> into tensor<8x15xf32>
  %i = tensor.empty() : tensor<8xf32>
  %j = linalg.fill ins(%zero : f32) outs(%i : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%v : tensor<8x15xf32>) outs(%j : tensor<8xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %y, %n : tensor<8xf32>, tensor<6x20xf32>
}

// -----

// Sizes that are not known are left to canonicalize.
// CHECK-LABEL: func.func @unknown
// CHECK-COUNT-2: tensor.expand_shape
// CHECK: tensor.collapse_shape
func.func @unknown(%x: tensor<?x96xf32>, %n: index) -> tensor<?x12x8xf32> {
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, %n, 96] : tensor<?x96xf32> into tensor<1x?x96xf32>
  %f = tensor.expand_shape %e [[0], [1], [2, 3]] output_shape [1, %n, 12, 8] : tensor<1x?x96xf32> into tensor<1x?x12x8xf32>
  %v = tensor.collapse_shape %f [[0, 1], [2], [3]] : tensor<1x?x12x8xf32> into tensor<?x12x8xf32>
  return %v : tensor<?x12x8xf32>
}
