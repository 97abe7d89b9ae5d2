// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// Element-wise work behind a view of rows runs on the rows, and so does what reads that and the view again.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @behind
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<8x96xf32>) {{.*}}mlopt.op = "sum"
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%arg0, %[[S]] : {{.*}}mlopt.op = "sub"
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[D]] : tensor<8x96xf32>) {{.*}}mlopt.op = "exp"
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[D]], %[[E]] : {{.*}}mlopt.op = "mul"
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[M]] {{.*}} into tensor<768xf32>
// CHECK: %[[V:.*]] = tensor.expand_shape %[[C]] {{.*}} into tensor<64x12xf32>
// CHECK: return %[[V]]
func.func @behind(%x: tensor<8x96xf32>) -> tensor<64x12xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x96xf32>) outs(%f : tensor<8xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %w = tensor.empty() : tensor<8x96xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<8x96xf32>, tensor<8xf32>) outs(%w : tensor<8x96xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<8x96xf32>
  %c = tensor.collapse_shape %d [[0, 1]] : tensor<8x96xf32> into tensor<768xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [64, 12] : tensor<768xf32> into tensor<64x12xf32>
  %u = tensor.empty() : tensor<64x12xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<64x12xf32>) outs(%u : tensor<64x12xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %o: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<64x12xf32>
  %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %y : tensor<64x12xf32>, tensor<64x12xf32>) outs(%u : tensor<64x12xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<64x12xf32>
  return %z : tensor<64x12xf32>
}

// -----

// Of a cast before rows, the input is viewed; a number is one of any shape; other columns may be unknown.
#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>
#none3 = affine_map<(d0, d1, d2) -> ()>
// CHECK-LABEL: func.func @before
// CHECK: %[[C:.*]] = tensor.collapse_shape %arg0 {{\[\[0\], \[1, 2\]\]}} : tensor<?x64x12xf32> into tensor<?x768xf32>
// CHECK: %[[V:.*]] = tensor.expand_shape %[[C]] {{.*}} into tensor<?x8x96xf32>
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[V]], %arg1 : tensor<?x8x96xf32>, tensor<f32>) {{.*}}mlopt.op = "mul"
// CHECK-NOT: shape
// CHECK: linalg.generic {{.*}} ins(%[[M]] : tensor<?x8x96xf32>) {{.*}}mlopt.op = "sum"
func.func @before(%x: tensor<?x64x12xf32>, %n: tensor<f32>) -> tensor<?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x64x12xf32>
  %u = tensor.empty(%b) : tensor<?x64x12xf32>
  %y = linalg.generic {indexing_maps = [#id3, #none3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %n : tensor<?x64x12xf32>, tensor<f32>) outs(%u : tensor<?x64x12xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<?x64x12xf32>
  %c = tensor.collapse_shape %y [[0], [1, 2]] : tensor<?x64x12xf32> into tensor<?x768xf32>
  %v = tensor.expand_shape %c [[0], [1, 2]] output_shape [%b, 8, 96] : tensor<?x768xf32> into tensor<?x8x96xf32>
  %e = tensor.empty(%b) : tensor<?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %s = linalg.generic {indexing_maps = [#id3, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v : tensor<?x8x96xf32>) outs(%f : tensor<?x8xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// -----

// Dims of one element are no part of a view.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @chain
// CHECK: %[[C:.*]] = tensor.collapse_shape %arg0 {{\[\[0, 1\]\]}} : tensor<8x96xf32> into tensor<768xf32>
// CHECK: %[[V:.*]] = tensor.expand_shape %[[C]] {{\[\[0, 1\]\]}} {{.*}} into tensor<64x12xf32>
// CHECK: return %[[V]]
func.func @chain(%x: tensor<8x96xf32>) -> tensor<64x12xf32> {
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 8, 96] : tensor<8x96xf32> into tensor<1x8x96xf32>
  %c = tensor.collapse_shape %e [[0], [1, 2]] : tensor<1x8x96xf32> into tensor<1x768xf32>
  %f = tensor.expand_shape %c [[0], [1, 2]] output_shape [1, 64, 12] : tensor<1x768xf32> into tensor<1x64x12xf32>
  %v = tensor.collapse_shape %f [[0, 1], [2]] : tensor<1x64x12xf32> into tensor<64x12xf32>
  return %v : tensor<64x12xf32>
}

// -----

// Nor is there a view where all that changes are dims of one element.
// CHECK-LABEL: func.func @parts
// CHECK: %[[V:.*]] = tensor.expand_shape %arg0 {{\[\[0\], \[1, 2\]\]}} {{.*}} : tensor<8x96xf32> into tensor<8x12x8xf32>
// CHECK: return %[[V]]
func.func @parts(%x: tensor<8x96xf32>) -> tensor<8x12x8xf32> {
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 8, 96] : tensor<8x96xf32> into tensor<1x8x96xf32>
  %f = tensor.expand_shape %e [[0], [1], [2, 3]] output_shape [1, 8, 12, 8] : tensor<1x8x96xf32> into tensor<1x8x12x8xf32>
  %v = tensor.collapse_shape %f [[0, 1], [2], [3]] : tensor<1x8x12x8xf32> into tensor<8x12x8xf32>
  return %v : tensor<8x12x8xf32>
}
