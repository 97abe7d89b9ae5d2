// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// A tensor that is read before the buffer is written again stays in front of that.
// CHECK-LABEL: func.func @read_before
// CHECK: memref.store
// CHECK-NEXT: %[[T:.*]] = bufferization.to_tensor
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[T]]
// CHECK: memref.store
func.func @read_before(%x: tensor<f32>, %alloc: memref<f32>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %t = bufferization.to_tensor %alloc restrict : memref<f32> to tensor<f32>
  memref.store %one, %alloc[] : memref<f32>
  %e = tensor.empty() : tensor<f32>
  %r = linalg.add ins(%x, %t : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  memref.store %one, %alloc[] : memref<f32>
  return %r : tensor<f32>
}

// -----

// What stands in a loop stays as it is.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: scf.for %
// CHECK: linalg.add
func.func @in_a_loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %s = linalg.add ins(%a, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A strided dim of unknown size cannot be split: the stride stays in the map.
// CHECK: affine_map<(d0, d1, d2, d3) -> (d0, d3, d2 * 2)>
// CHECK-LABEL: func.func @dynamic_length
// CHECK: linalg.generic {{.*}}{mlopt.op = "conv1d"}
func.func @dynamic_length(%x: tensor<2x3x?xf32>, %w: tensor<8x3x1xf32>, %o: tensor<2x8x?xf32>) -> tensor<2x8x?xf32> {
  %r = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<2> : vector<1xi64>}
      ins(%x, %w : tensor<2x3x?xf32>, tensor<8x3x1xf32>) outs(%o : tensor<2x8x?xf32>) -> tensor<2x8x?xf32>
  return %r : tensor<2x8x?xf32>
}

// -----

// Narrowing is not exact: a contraction does not take it in.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @narrowing
// CHECK: {mlopt.op = "cast"}
// CHECK: {{.*}} : tensor<4x8xbf16>, tensor<8x16xbf16>) {{.*}}{mlopt.op = "matmul"}
func.func @narrowing(%x: tensor<4x8xf32>, %w: tensor<8x16xbf16>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x8xbf16>
  %narrow = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %e = arith.truncf %in : f32 to bf16
    linalg.yield %e : bf16
  } -> tensor<4x8xbf16>
  %1 = tensor.empty() : tensor<4x16xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %m = linalg.matmul ins(%narrow, %w : tensor<4x8xbf16>, tensor<8x16xbf16>) outs(%2 : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %m : tensor<4x16xf32>
}

// -----

// A start that would be added once a row, and a difference, which has an order: one op.
#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func @ordered
// CHECK-COUNT-2: iterator_types = ["reduction", "reduction"]
func.func @ordered(%x: tensor<256x128xf32>) -> (tensor<f32>, tensor<f32>) {
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%one : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<256x128xf32>) outs(%1 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<f32>
  %d = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<256x128xf32>) outs(%1 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.subf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<f32>
  return %r, %d : tensor<f32>, tensor<f32>
}

// -----

// A product whose factors are stored in two types has no instruction: it reads the weights as they were cast,
// which is done once, and transposed.
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
// CHECK-LABEL: @two_types
// CHECK: %[[WIDE:.*]] = linalg.generic {{.*}}{mlopt.op = "cast"}
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[WIDE]] : tensor<16x8xf32>) {{.*}}{mlopt.op = "transpose"}
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[T]] : tensor<6x8xf32>, tensor<8x16xf32>) {{.*}}{mlopt.op = "matmul"}
func.func @two_types(%x: tensor<6x8xf32>, %w: tensor<16x8xbf16>) -> tensor<6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x8xf32>
  %wide = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x8xbf16>) outs(%0 : tensor<16x8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %e = arith.extf %in : bf16 to f32
    linalg.yield %e : f32
  } -> tensor<16x8xf32>
  %1 = tensor.empty() : tensor<8x16xf32>
  %turned = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%wide : tensor<16x8xf32>) outs(%1 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x16xf32>
  %2 = tensor.empty() : tensor<6x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%2 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %r = linalg.matmul ins(%x, %turned : tensor<6x8xf32>, tensor<8x16xf32>) outs(%f : tensor<6x16xf32>) -> tensor<6x16xf32>
  return %r : tensor<6x16xf32>
}
