// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// 6 channels of 6 groups of 4: no group is a number of channels.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @uneven
// CHECK: %[[N:.*]] = linalg.generic {{.*}}mlopt.op = "sub"
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[N]]
// CHECK: tensor.expand_shape %[[C]]
func.func @uneven(%x: tensor<6x160xf32>, %b: tensor<4xf32>) -> tensor<4x240xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x160xf32>) outs(%f : tensor<6xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<6xf32>
  %w = tensor.empty() : tensor<6x160xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<6x160xf32>, tensor<6xf32>) outs(%w : tensor<6x160xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<6x160xf32>
  %c = tensor.collapse_shape %n [[0, 1]] : tensor<6x160xf32> into tensor<960xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [4, 240] : tensor<960xf32> into tensor<4x240xf32>
  %u = tensor.empty() : tensor<4x240xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %b : tensor<4x240xf32>, tensor<4xf32>) outs(%u : tensor<4x240xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x240xf32>
  return %y : tensor<4x240xf32>
}

// -----

// Images of 15 pixels are too short for rows; with one more they would be split.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @short
// CHECK: %[[N:.*]] = linalg.generic {{.*}}mlopt.op = "sub"
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[N]]
// CHECK: tensor.expand_shape %[[C]]
func.func @short(%x: tensor<4x120xf32>, %b: tensor<32xf32>) -> tensor<32x15xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x120xf32>) outs(%f : tensor<4xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %w = tensor.empty() : tensor<4x120xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x120xf32>, tensor<4xf32>) outs(%w : tensor<4x120xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x120xf32>
  %c = tensor.collapse_shape %n [[0, 1]] : tensor<4x120xf32> into tensor<480xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [32, 15] : tensor<480xf32> into tensor<32x15xf32>
  %u = tensor.empty() : tensor<32x15xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %b : tensor<32x15xf32>, tensor<32xf32>) outs(%u : tensor<32x15xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<32x15xf32>
  return %y : tensor<32x15xf32>
}

// -----

// Rows of rows are not one kernel, whatever their loops are.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @rows
// CHECK: %[[N:.*]] = linalg.generic {{.*}}mlopt.op = "sub"
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[N]]
// CHECK: tensor.expand_shape %[[C]]
func.func @rows(%x: tensor<4x256xf32>) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x256xf32>) outs(%f : tensor<4xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %w = tensor.empty() : tensor<4x256xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x256xf32>, tensor<4xf32>) outs(%w : tensor<4x256xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x256xf32>
  %c = tensor.collapse_shape %n [[0, 1]] : tensor<4x256xf32> into tensor<1024xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [32, 32] : tensor<1024xf32> into tensor<32x32xf32>
  %i = tensor.empty() : tensor<32xf32>
  %j = linalg.fill ins(%zero : f32) outs(%i : tensor<32xf32>) -> tensor<32xf32>
  %y = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%v : tensor<32x32xf32>) outs(%j : tensor<32xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  return %y : tensor<32xf32>
}

// -----

// What a slice reads, too, keeps its dims: the slice would be of a reshape.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @sliced
// CHECK: %[[N:.*]] = linalg.generic {{.*}}mlopt.op = "sub"
// CHECK: tensor.collapse_shape %[[N]] {{.*}} into tensor<1024xf32>
func.func @sliced(%x: tensor<4x256xf32>, %b: tensor<32xf32>, %at: index) -> (tensor<32x32xf32>, tensor<4x9xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x256xf32>) outs(%f : tensor<4xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %w = tensor.empty() : tensor<4x256xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x256xf32>, tensor<4xf32>) outs(%w : tensor<4x256xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x256xf32>
  %c = tensor.collapse_shape %n [[0, 1]] : tensor<4x256xf32> into tensor<1024xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [32, 32] : tensor<1024xf32> into tensor<32x32xf32>
  %u = tensor.empty() : tensor<32x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %b : tensor<32x32xf32>, tensor<32xf32>) outs(%u : tensor<32x32xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<32x32xf32>
  %t = tensor.extract_slice %n[0, %at] [4, 9] [1, 1] : tensor<4x256xf32> to tensor<4x9xf32>
  return %y, %t : tensor<32x32xf32>, tensor<4x9xf32>
}

// -----

// A body that asks for the number of its loop keeps it.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @number
// CHECK: %[[N:.*]] = linalg.generic {{.*}}mlopt.op = "sub"
// CHECK: tensor.collapse_shape %[[N]] {{.*}} into tensor<1024xf32>
func.func @number(%x: tensor<4x256xf32>, %b: tensor<32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x256xf32>) outs(%f : tensor<4xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %w = tensor.empty() : tensor<4x256xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x256xf32>, tensor<4xf32>) outs(%w : tensor<4x256xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %0 = arith.subf %p, %k : f32
    linalg.yield %0 : f32
  } -> tensor<4x256xf32>
  %c = tensor.collapse_shape %n [[0, 1]] : tensor<4x256xf32> into tensor<1024xf32>
  %v = tensor.expand_shape %c [[0, 1]] output_shape [32, 32] : tensor<1024xf32> into tensor<32x32xf32>
  %u = tensor.empty() : tensor<32x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %b : tensor<32x32xf32>, tensor<32xf32>) outs(%u : tensor<32x32xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
