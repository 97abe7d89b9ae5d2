// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' | FileCheck %s

// How often is not known: the product cannot say which of its rows belong together.
// CHECK-LABEL: func.func @unknown
// CHECK: "broadcast"
// CHECK: "scores"
// CHECK: "mlopt.attention"
#q = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#k = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#s = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
func.func @unknown(%q: tensor<?x40x16xf32>, %k: tensor<?x50x16xf32>, %v: tensor<?x50x8xf32>, %times: index) -> tensor<?x40x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %q, %c0 : tensor<?x40x16xf32>
  %h = tensor.dim %k, %c0 : tensor<?x50x16xf32>
  %ke = tensor.empty(%h, %times) : tensor<?x?x50x16xf32>
  %kb = linalg.broadcast ins(%k : tensor<?x50x16xf32>) outs(%ke : tensor<?x?x50x16xf32>) dimensions = [1]
  %kc = tensor.collapse_shape %kb [[0, 1], [2], [3]] : tensor<?x?x50x16xf32> into tensor<?x50x16xf32>
  %ve = tensor.empty(%h, %times) : tensor<?x?x50x8xf32>
  %vb = linalg.broadcast ins(%v : tensor<?x50x8xf32>) outs(%ve : tensor<?x?x50x8xf32>) dimensions = [1]
  %vc = tensor.collapse_shape %vb [[0, 1], [2], [3]] : tensor<?x?x50x8xf32> into tensor<?x50x8xf32>
  %e1 = tensor.empty(%n) : tensor<?x40x50xf32>
  %e2 = tensor.empty(%n) : tensor<?x40xf32>
  %e3 = tensor.empty(%n) : tensor<?x40x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x40x50xf32>) -> tensor<?x40x50xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %kc : tensor<?x40x16xf32>, tensor<?x50x16xf32>) outs(%f1 : tensor<?x40x50xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<?x40x50xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<?x40xf32>) -> tensor<?x40xf32>
  %top = linalg.reduce { arith.maximumf } ins(%s : tensor<?x40x50xf32>) outs(%f2 : tensor<?x40xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<?x40xf32>) outs(%e1 : tensor<?x40x50xf32>) dimensions = [2]
  %d = arith.subf %s, %bt : tensor<?x40x50xf32>
  %w = math.exp %d : tensor<?x40x50xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x40xf32>) -> tensor<?x40xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<?x40x50xf32>) outs(%f3 : tensor<?x40xf32>) dimensions = [2]
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<?x40x8xf32>) -> tensor<?x40x8xf32>
  %o = linalg.batch_matmul ins(%w, %vc : tensor<?x40x50xf32>, tensor<?x50x8xf32>) outs(%f4 : tensor<?x40x8xf32>) -> tensor<?x40x8xf32>
  %bs = linalg.broadcast ins(%sum : tensor<?x40xf32>) outs(%e3 : tensor<?x40x8xf32>) dimensions = [2]
  %r = arith.divf %o, %bs : tensor<?x40x8xf32>
  return %r : tensor<?x40x8xf32>
}
