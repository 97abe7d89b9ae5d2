// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// The concat is a result: it is stored, and can as well be read.
// CHECK-LABEL: @stored
// CHECK: %[[C:.*]] = tensor.insert_slice %arg1 into %{{.*}}[0, 4] {{.*}}mlopt.whole = "return reads it as a whole"}
// CHECK: linalg.generic {{.*}} ins(%[[C]] : tensor<8x8xf32>)
func.func @stored(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c = tensor.concat dim(1) %a, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %r = math.exp %c : tensor<8x8xf32>
  return %c, %r : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// A softmax's maximum runs along the concat's dim.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: @reduced
// CHECK: %[[C:.*]] = tensor.insert_slice %arg1 into %{{.*}}[0, 4] {{.*}}mlopt.whole = "amax cannot be computed in its parts"}
// CHECK: linalg.generic {{.*}} ins(%[[C]] : tensor<8x8xf32>)
func.func @reduced(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<8xf32> {
  %least = arith.constant 0xFF800000 : f32
  %c = tensor.concat dim(1) %a, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// A wider type for a sum along the concat's dim: twice as much would be put together.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: @widened
// CHECK: %[[C:.*]] = tensor.insert_slice %arg1 into %{{.*}}[0, 4]
// CHECK: linalg.generic {{.*}} ins(%[[C]] : tensor<8x8xbf16>)
func.func @widened(%a: tensor<8x4xbf16>, %b: tensor<8x4xbf16>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %c = tensor.concat dim(1) %a, %b : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x8xbf16>
  %w = arith.extf %c : tensor<8x8xbf16> to tensor<8x8xf32>
  %x = math.exp %w : tensor<8x8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// What is added to is a sum of rows, whose epilogue the addition is.
#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: @epilogue
// CHECK: %[[C:.*]] = tensor.insert_slice %arg1 into %{{.*}}[4]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[C]] : tensor<8xf32>, tensor<8xf32>)
func.func @epilogue(%a: tensor<4xf32>, %b: tensor<4xf32>, %x: tensor<8x8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %c = tensor.concat dim(0) %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %r = arith.addf %s, %c : tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// The body asks where it is.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: @place
// CHECK: %[[C:.*]] = tensor.insert_slice %arg1 into %{{.*}}[0, 4]
// CHECK: linalg.generic {{.*}} ins(%[[C]] : tensor<8x8xi64>)
func.func @place(%a: tensor<8x4xi64>, %b: tensor<8x4xi64>) -> tensor<8x8xi64> {
  %c = tensor.concat dim(1) %a, %b : (tensor<8x4xi64>, tensor<8x4xi64>) -> tensor<8x8xi64>
  %e = tensor.empty() : tensor<8x8xi64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<8x8xi64>) outs(%e : tensor<8x8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %0 = linalg.index 1 : index
    %1 = arith.index_cast %0 : index to i64
    %2 = arith.addi %in, %1 : i64
    linalg.yield %2 : i64
  } -> tensor<8x8xi64>
  return %r : tensor<8x8xi64>
}

// -----

// What is made of the concat is read along another loop, too, all of it by each part.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#left = affine_map<(d0, d1, d2) -> (d0, d1)>
#right = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: @crosswise
// CHECK: %[[C:.*]] = tensor.insert_slice %arg1 into %{{.*}}[0, 4]
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<8x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[C]], %[[R]] : tensor<8x8xf32>, tensor<8x8xf32>)
func.func @crosswise(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<8x8x8xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %r = math.exp %c : tensor<8x8xf32>
  %e = tensor.empty() : tensor<8x8x8xf32>
  %s = linalg.generic {indexing_maps = [#left, #right, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c, %r : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<8x8x8xf32>
  return %s : tensor<8x8x8xf32>
}

// -----

// A part of the other concat is made of the first one, whole: it is what is read in parts.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#left = affine_map<(d0, d1, d2) -> (d0, d1)>
#right = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: @nested
// CHECK: %[[C:.*]] = tensor.insert_slice %arg1 into %{{.*}}[0, 4]
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<4x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[R]] : tensor<4x4xf32>, tensor<4x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%arg1, %arg2 : tensor<4x4xf32>, tensor<4x8xf32>)
func.func @nested(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %y: tensor<4x8xf32>) -> tensor<4x8x8xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %r = math.exp %c : tensor<4x8xf32>
  %d = tensor.concat dim(0) %r, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %e = tensor.empty() : tensor<4x8x8xf32>
  %s = linalg.generic {indexing_maps = [#left, #right, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c, %d : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8x8xf32>) {
  ^bb0(%x: f32, %z: f32, %out: f32):
    %0 = arith.addf %x, %z : f32
    linalg.yield %0 : f32
  } -> tensor<4x8x8xf32>
  return %s : tensor<4x8x8xf32>
}

// -----

// The concat is stored: the cast that both products read stays one.
// CHECK-LABEL: @cast_once
// CHECK-COUNT-1: mlopt.op = "cast"
// CHECK-NOT: mlopt.op = "cast"
// CHECK: return
func.func @cast_once(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %x: tensor<8x8xf32>, %y: tensor<8x8xbf16>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %w = arith.extf %y : tensor<8x8xbf16> to tensor<8x8xf32>
  %c = tensor.concat dim(1) %a, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %r = arith.mulf %c, %w : tensor<8x8xf32>
  %s = arith.mulf %x, %w : tensor<8x8xf32>
  return %c, %r, %s : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Nine parts: the code of what reads them would be there nine times.
// CHECK-LABEL: @nine
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<36xf32>)
func.func @nine(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<36xf32> {
  %c = tensor.concat dim(0) %a, %b, %a, %b, %a, %b, %a, %b, %a : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<36xf32>
  %r = math.exp %c : tensor<36xf32>
  return %r : tensor<36xf32>
}
