// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention,canonicalize,cse)' | FileCheck %s

// Heads that were joined with the batch are split behind a cast: attention and the cast have them apart, so that no
// reshape is left around them.
// CHECK-LABEL: func.func @split_behind_a_cast
// CHECK-NOT: tensor.collapse_shape
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<2x4x40x16xbf16>, tensor<2x4x50x16xbf16>) {{.*}}"scores"
// CHECK: %[[R:.*]] = "mlopt.attention"(%[[S]], {{.*}} -> tensor<2x4x40x8xf32>
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[R]] : tensor<2x4x40x8xf32>) outs(%{{.*}} : tensor<2x4x40x8xbf16>)
// CHECK-NOT: tensor.collapse_shape
// CHECK: return %[[C]]
#q = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#k = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#s = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
func.func @split_behind_a_cast(%q: tensor<2x4x40x16xbf16>, %k: tensor<2x4x50x16xbf16>, %v: tensor<2x4x50x8xbf16>) -> tensor<2x4x40x8xbf16> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %qc = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x4x40x16xbf16> into tensor<8x40x16xbf16>
  %kc = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x4x50x16xbf16> into tensor<8x50x16xbf16>
  %vc = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x4x50x8xbf16> into tensor<8x50x8xbf16>
  %e1 = tensor.empty() : tensor<8x40x50xf32>
  %e2 = tensor.empty() : tensor<8x40xf32>
  %e3 = tensor.empty() : tensor<8x40x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x40x50xf32>) -> tensor<8x40x50xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%qc, %kc : tensor<8x40x16xbf16>, tensor<8x50x16xbf16>) outs(%f1 : tensor<8x40x50xf32>) {
  ^bb0(%l: bf16, %r: bf16, %out: f32):
    %0 = arith.extf %l : bf16 to f32
    %1 = arith.extf %r : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %2, %out : f32
    linalg.yield %3 : f32
  } -> tensor<8x40x50xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<8x40xf32>) -> tensor<8x40xf32>
  %top = linalg.reduce { arith.maximumf } ins(%s : tensor<8x40x50xf32>) outs(%f2 : tensor<8x40xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<8x40xf32>) outs(%e1 : tensor<8x40x50xf32>) dimensions = [2]
  %d = arith.subf %s, %bt : tensor<8x40x50xf32>
  %w = math.exp %d : tensor<8x40x50xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x40xf32>) -> tensor<8x40xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<8x40x50xf32>) outs(%f3 : tensor<8x40xf32>) dimensions = [2]
  %wide = arith.extf %vc : tensor<8x50x8xbf16> to tensor<8x50x8xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<8x40x8xf32>) -> tensor<8x40x8xf32>
  %o = linalg.batch_matmul ins(%w, %wide : tensor<8x40x50xf32>, tensor<8x50x8xf32>) outs(%f4 : tensor<8x40x8xf32>) -> tensor<8x40x8xf32>
  %bs = linalg.broadcast ins(%sum : tensor<8x40xf32>) outs(%e3 : tensor<8x40x8xf32>) dimensions = [2]
  %r = arith.divf %o, %bs : tensor<8x40x8xf32>
  %n = arith.truncf %r : tensor<8x40x8xf32> to tensor<8x40x8xbf16>
  %y = tensor.expand_shape %n [[0, 1], [2], [3]] output_shape [2, 4, 40, 8] : tensor<8x40x8xbf16> into tensor<2x4x40x8xbf16>
  return %y : tensor<2x4x40x8xbf16>
}

// -----

// The size of the heads' batch is made ahead of attention, which needs it.
// CHECK-LABEL: func.func @split_behind_a_cast_of_unknown
// CHECK: %[[B:.*]] = arith.divsi
// CHECK: %[[A:.*]] = "mlopt.attention"
// CHECK-SAME: -> tensor<?x4x40x8xf32>
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<?x4x40x8xf32>)
// CHECK: arith.truncf
#q = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#k = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#s = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
func.func @split_behind_a_cast_of_unknown(%q: tensor<?x4x40x16xbf16>, %k: tensor<?x4x50x16xbf16>, %v: tensor<?x4x50x8xbf16>, %rows: index) -> tensor<?x4x40x8xbf16> {
  %zero = arith.constant 0.0 : f32
  %c4 = arith.constant 4 : index
  %low = arith.constant 0xFF800000 : f32
  %qc = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<?x4x40x16xbf16> into tensor<?x40x16xbf16>
  %kc = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<?x4x50x16xbf16> into tensor<?x50x16xbf16>
  %vc = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<?x4x50x8xbf16> into tensor<?x50x8xbf16>
  %e1 = tensor.empty(%rows) : tensor<?x40x50xf32>
  %e2 = tensor.empty(%rows) : tensor<?x40xf32>
  %e3 = tensor.empty(%rows) : tensor<?x40x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x40x50xf32>) -> tensor<?x40x50xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%qc, %kc : tensor<?x40x16xbf16>, tensor<?x50x16xbf16>) outs(%f1 : tensor<?x40x50xf32>) {
  ^bb0(%l: bf16, %r: bf16, %out: f32):
    %0 = arith.extf %l : bf16 to f32
    %1 = arith.extf %r : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %2, %out : f32
    linalg.yield %3 : f32
  } -> tensor<?x40x50xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<?x40xf32>) -> tensor<?x40xf32>
  %top = linalg.reduce { arith.maximumf } ins(%s : tensor<?x40x50xf32>) outs(%f2 : tensor<?x40xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<?x40xf32>) outs(%e1 : tensor<?x40x50xf32>) dimensions = [2]
  %d = arith.subf %s, %bt : tensor<?x40x50xf32>
  %w = math.exp %d : tensor<?x40x50xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x40xf32>) -> tensor<?x40xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<?x40x50xf32>) outs(%f3 : tensor<?x40xf32>) dimensions = [2]
  %wide = arith.extf %vc : tensor<?x50x8xbf16> to tensor<?x50x8xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<?x40x8xf32>) -> tensor<?x40x8xf32>
  %o = linalg.batch_matmul ins(%w, %wide : tensor<?x40x50xf32>, tensor<?x50x8xf32>) outs(%f4 : tensor<?x40x8xf32>) -> tensor<?x40x8xf32>
  %bs = linalg.broadcast ins(%sum : tensor<?x40xf32>) outs(%e3 : tensor<?x40x8xf32>) dimensions = [2]
  %r = arith.divf %o, %bs : tensor<?x40x8xf32>
  %n = arith.truncf %r : tensor<?x40x8xf32> to tensor<?x40x8xbf16>
  %b = arith.divsi %rows, %c4 : index
  %y = tensor.expand_shape %n [[0, 1], [2], [3]] output_shape [%b, 4, 40, 8] : tensor<?x40x8xbf16> into tensor<?x4x40x8xbf16>
  return %y : tensor<?x4x40x8xbf16>
}
