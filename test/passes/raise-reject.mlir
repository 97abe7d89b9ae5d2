// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// A pad that crops, and one whose value varies, have no insert_slice form: they stay.
// CHECK-LABEL: func.func @crop
// CHECK: tensor.pad
func.func @crop(%x: tensor<8xf32>) -> tensor<6xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[-1] high[-1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<6xf32>
  return %p : tensor<6xf32>
}

// CHECK-LABEL: func.func @varying
// CHECK: tensor.pad
func.func @varying(%x: tensor<8xindex>) -> tensor<10xindex> {
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<8xindex> to tensor<10xindex>
  return %p : tensor<10xindex>
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
