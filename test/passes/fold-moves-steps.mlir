// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// What reads every other element reads one of each pair, also of rows of which there are unknown many.
// CHECK-DAG: #[[SECOND:.*]] = affine_map<(d0, d1) -> (d0, d1, 1)>
// CHECK-LABEL: @pairs
// CHECK-SAME: (%[[X:.*]]: tensor<?x24xf32>)
// CHECK: %[[PAIRS:.*]] = tensor.expand_shape %[[X]] {{\[}}[0], [1, 2]] output_shape [%{{.*}}, 12, 2]
// CHECK: linalg.generic {indexing_maps = [#[[SECOND]], {{.*}} ins(%[[PAIRS]] : {{.*}}"exp"
func.func @pairs(%x: tensor<?x24xf32>) -> tensor<?x12xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x24xf32>
  %p = tensor.extract_slice %x[0, 1] [%n, 12] [1, 2] : tensor<?x24xf32> to tensor<?x12xf32>
  %r = math.exp %p : tensor<?x12xf32>
  return %r : tensor<?x12xf32>
}

// -----

// Steps along two dims, of some of the blocks only: the first one from block 2 on.
// CHECK-DAG: #[[BLOCKS:.*]] = affine_map<(d0, d1) -> (d0 + 2, 1, d1, 0)>
// CHECK-LABEL: @blocks
// CHECK: %[[B:.*]] = tensor.expand_shape %arg0 {{.*}} : tensor<12x8xf32> into tensor<4x3x2x4xf32>
// CHECK: linalg.generic {indexing_maps = [#[[BLOCKS]], {{.*}} ins(%[[B]] : {{.*}}"exp"
func.func @blocks(%x: tensor<12x8xf32>) -> tensor<2x2xf32> {
  %p = tensor.extract_slice %x[7, 0] [2, 2] [3, 4] : tensor<12x8xf32> to tensor<2x2xf32>
  %r = math.exp %p : tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
