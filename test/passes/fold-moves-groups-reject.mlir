// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// What a sum over the channels reads, too, stays where it is: that would need the view all the same.
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#sum = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-LABEL: func.func @read_twice
// CHECK: %[[Y:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<3x16x5x5xf32>) {{.*}}mlopt.op = "tanh"
func.func @read_twice(%x: tensor<3x2x4x7x7xf32>, %w: tensor<2x8x4x3x3xf32>) -> (tensor<3x5x5xf32>, tensor<3x16x5x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x16x5x5xf32>
  %e5 = tensor.empty() : tensor<3x2x8x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e5 : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %c = linalg.conv_2d_ngchw_gfchw ins(%x, %w : tensor<3x2x4x7x7xf32>, tensor<2x8x4x3x3xf32>) outs(%f : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %y = tensor.collapse_shape %c [[0], [1, 2], [3], [4]] : tensor<3x2x8x5x5xf32> into tensor<3x16x5x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<3x16x5x5xf32>) outs(%e : tensor<3x16x5x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<3x16x5x5xf32>
  %z = tensor.empty() : tensor<3x5x5xf32>
  %g = linalg.fill ins(%zero : f32) outs(%z : tensor<3x5x5xf32>) -> tensor<3x5x5xf32>
  %s = linalg.generic {indexing_maps = [#id, #sum], iterator_types = ["parallel", "reduction", "parallel", "parallel"]}
      ins(%y : tensor<3x16x5x5xf32>) outs(%g : tensor<3x5x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.addf %in, %out : f32
    linalg.yield %t : f32
  } -> tensor<3x5x5xf32>
  return %s, %r : tensor<3x5x5xf32>, tensor<3x16x5x5xf32>
}

// -----

// A sum over the channels is a kernel of its own, not an epilogue.
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#sum = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-LABEL: func.func @reduced
// CHECK: %[[Y:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<3x16x5x5xf32>) {{.*}}mlopt.op = "sum"
func.func @reduced(%x: tensor<3x2x4x7x7xf32>, %w: tensor<2x8x4x3x3xf32>) -> tensor<3x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x16x5x5xf32>
  %e5 = tensor.empty() : tensor<3x2x8x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e5 : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %c = linalg.conv_2d_ngchw_gfchw ins(%x, %w : tensor<3x2x4x7x7xf32>, tensor<2x8x4x3x3xf32>) outs(%f : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %y = tensor.collapse_shape %c [[0], [1, 2], [3], [4]] : tensor<3x2x8x5x5xf32> into tensor<3x16x5x5xf32>
  %z = tensor.empty() : tensor<3x5x5xf32>
  %g = linalg.fill ins(%zero : f32) outs(%z : tensor<3x5x5xf32>) -> tensor<3x5x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #sum], iterator_types = ["parallel", "reduction", "parallel", "parallel"]}
      ins(%y : tensor<3x16x5x5xf32>) outs(%g : tensor<3x5x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.addf %in, %out : f32
    linalg.yield %t : f32
  } -> tensor<3x5x5xf32>
  return %r : tensor<3x5x5xf32>
}

// -----

// The body asks which channel it is at: of the parts it would be told another number.
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func @asks_for_its_channel
// CHECK: %[[Y:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<3x16x5x5xf32>)
// CHECK: linalg.index 1
func.func @asks_for_its_channel(%x: tensor<3x2x4x7x7xf32>, %w: tensor<2x8x4x3x3xf32>) -> tensor<3x16x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x16x5x5xf32>
  %e5 = tensor.empty() : tensor<3x2x8x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e5 : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %c = linalg.conv_2d_ngchw_gfchw ins(%x, %w : tensor<3x2x4x7x7xf32>, tensor<2x8x4x3x3xf32>) outs(%f : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %y = tensor.collapse_shape %c [[0], [1, 2], [3], [4]] : tensor<3x2x8x5x5xf32> into tensor<3x16x5x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<3x16x5x5xf32>) outs(%e : tensor<3x16x5x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %k = arith.sitofp %n : i32 to f32
    %t = arith.mulf %in, %k : f32
    linalg.yield %t : f32
  } -> tensor<3x16x5x5xf32>
  return %r : tensor<3x16x5x5xf32>
}

// -----

// The other factor is read at the groups' channels in reverse: that loop is no dim of its own there.
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#back = affine_map<(d0, d1, d2, d3) -> (-d1 + 15)>
// CHECK-LABEL: func.func @read_backwards
// CHECK: %[[Y:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[Y]], %arg2 : tensor<3x16x5x5xf32>, tensor<16xf32>)
func.func @read_backwards(%x: tensor<3x2x4x7x7xf32>, %w: tensor<2x8x4x3x3xf32>, %bias: tensor<16xf32>) -> tensor<3x16x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x16x5x5xf32>
  %e5 = tensor.empty() : tensor<3x2x8x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e5 : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %c = linalg.conv_2d_ngchw_gfchw ins(%x, %w : tensor<3x2x4x7x7xf32>, tensor<2x8x4x3x3xf32>) outs(%f : tensor<3x2x8x5x5xf32>) -> tensor<3x2x8x5x5xf32>
  %y = tensor.collapse_shape %c [[0], [1, 2], [3], [4]] : tensor<3x2x8x5x5xf32> into tensor<3x16x5x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #back, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %bias : tensor<3x16x5x5xf32>, tensor<16xf32>) outs(%e : tensor<3x16x5x5xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %t = arith.addf %in, %b : f32
    linalg.yield %t : f32
  } -> tensor<3x16x5x5xf32>
  return %r : tensor<3x16x5x5xf32>
}
