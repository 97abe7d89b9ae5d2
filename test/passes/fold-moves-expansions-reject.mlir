// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// A product does not compute its operands: nothing waits for blocks.
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#b = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#c = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @product
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<3x8xf32>) {{.*}}mlopt.op = "exp"
// CHECK: tensor.expand_shape %[[Y]]
func.func @product(%x: tensor<3x8xf32>, %w: tensor<2x5xf32>) -> tensor<3x4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x8xf32>) outs(%e : tensor<3x8xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  %v = tensor.expand_shape %y [[0], [1, 2]] output_shape [3, 4, 2] : tensor<3x8xf32> into tensor<3x4x2xf32>
  %u = tensor.empty() : tensor<3x4x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%u : tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%v, %w : tensor<3x4x2xf32>, tensor<2x5xf32>) outs(%f : tensor<3x4x5xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x4x5xf32>
  return %r : tensor<3x4x5xf32>
}

// -----

// Neither does the end of the function, nor a part that is put into what is there.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @outside
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<3x8xf32>) {{.*}}mlopt.op = "exp"
// CHECK: %[[V:.*]] = tensor.expand_shape %[[Y]]
// CHECK: tensor.insert_slice %[[V]] into %arg1
// CHECK: %[[Z:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<3x8xf32>) {{.*}}mlopt.op = "neg"
// CHECK: tensor.expand_shape %[[Z]]
func.func @outside(%x: tensor<3x8xf32>, %whole: tensor<3x6x2xf32>) -> (tensor<3x6x2xf32>, tensor<3x4x2xf32>) {
  %e = tensor.empty() : tensor<3x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x8xf32>) outs(%e : tensor<3x8xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  %v = tensor.expand_shape %y [[0], [1, 2]] output_shape [3, 4, 2] : tensor<3x8xf32> into tensor<3x4x2xf32>
  %r = tensor.insert_slice %v into %whole[0, 1, 0] [3, 4, 2] [1, 1, 1] : tensor<3x4x2xf32> into tensor<3x6x2xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x8xf32>) outs(%e : tensor<3x8xf32>) attrs = {mlopt.op = "neg"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.negf %p : f32
    linalg.yield %0 : f32
  } -> tensor<3x8xf32>
  %n = tensor.expand_shape %z [[0], [1, 2]] output_shape [3, 4, 2] : tensor<3x8xf32> into tensor<3x4x2xf32>
  return %r, %n : tensor<3x6x2xf32>, tensor<3x4x2xf32>
}
