// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-pad-windows)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-pad-windows,mlopt-schedule{vector-bits=256},mlopt-tile)' | FileCheck %s --check-prefix=TILE

// A window of 7x7 reads a padded part of the image from its task's scratch, inside of which it stays.
#x = affine_map<(c, h, w, i, j) -> (c, h + i, w + j)>
#k = affine_map<(c, h, w, i, j) -> (c, i, j)>
#y = affine_map<(c, h, w, i, j) -> (c, h, w)>
// CHECK-LABEL: @channels
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<8x56x56xf32>) {{.*}}mlopt.op = "pixels"
// CHECK: %[[PAD:.*]] = tensor.insert_slice %[[COPY]] into
// CHECK: linalg.generic {{.*}} ins(%[[PAD]], %arg1
// TILE-LABEL: @channels
// TILE: memref.alloca() {alignment = 64 : i64} : memref<1x34x80xf32>
// TILE: scf.for
// TILE:   vector.transfer_read {{.*}}in_bounds = [true, true, true]
func.func private @channels(%x: tensor<8x56x56xf32>, %k: tensor<8x7x7xf32>, %out: tensor<8x56x56xf32>) -> tensor<8x56x56xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x62x62xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x62x62xf32>) -> tensor<8x62x62xf32>
  %p = tensor.insert_slice %x into %z[0, 3, 3] [8, 56, 56] [1, 1, 1] : tensor<8x56x56xf32> into tensor<8x62x62xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<8x56x56xf32>) -> tensor<8x56x56xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %k : tensor<8x62x62xf32>, tensor<8x7x7xf32>) outs(%f : tensor<8x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x56x56xf32>
  return %y : tensor<8x56x56xf32>
}
