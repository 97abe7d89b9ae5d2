// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention,canonicalize,cse)' | FileCheck %s
// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention{machine=a100},canonicalize,cse)' | FileCheck %s --check-prefix=GPU

// One row for each of twelve matrices of keys, as in decoding: the rows have no loop of their own.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[VALUES:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-LABEL: func.func @one_row
// CHECK: %[[S:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<12x9xf32>) attrs = {mlopt.op = "scores"}
// CHECK: "mlopt.attention"(%[[S]], %{{.*}}, %{{.*}}) {causal = -1 : i64, indexing_maps = [#[[ROWS]], #[[VALUES]], #{{.*}}]
// On a GPU, too: of half floats tensor cores make its scores, of these a block's threads.
// GPU-LABEL: func.func @one_row
// GPU: linalg.generic {{.*}} attrs = {mlopt.op = "scores"}
// GPU: "mlopt.attention"
func.func @one_row(%q: tensor<12x1x4xf32>, %k: tensor<12x4x9xf32>, %v: tensor<12x9x4xf32>) -> tensor<12x1x4xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<12x1x9xf32>
  %e2 = tensor.empty() : tensor<12x1xf32>
  %e3 = tensor.empty() : tensor<12x1x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<12x1x9xf32>) -> tensor<12x1x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<12x1x4xf32>, tensor<12x4x9xf32>) outs(%f1 : tensor<12x1x9xf32>) -> tensor<12x1x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<12x1xf32>) -> tensor<12x1xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<12x1x9xf32>) outs(%f2 : tensor<12x1xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<12x1xf32>) outs(%e1 : tensor<12x1x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<12x1x9xf32>
  %w = math.exp %d : tensor<12x1x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<12x1xf32>) -> tensor<12x1xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<12x1x9xf32>) outs(%f3 : tensor<12x1xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<12x1xf32>) outs(%e1 : tensor<12x1x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<12x1x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<12x1x4xf32>) -> tensor<12x1x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<12x1x9xf32>, tensor<12x9x4xf32>) outs(%f4 : tensor<12x1x4xf32>) -> tensor<12x1x4xf32>
  return %o : tensor<12x1x4xf32>
}

// -----

// Two of each: a task has both.
// CHECK-LABEL: func.func @two_rows
// CHECK: %[[S:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<12x2x9xf32>) attrs = {mlopt.op = "scores"}
// CHECK: "mlopt.attention"(%[[S]], %{{.*}}, %{{.*}})
func.func @two_rows(%q: tensor<12x2x4xf32>, %k: tensor<12x4x9xf32>, %v: tensor<12x9x4xf32>) -> tensor<12x2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<12x2x9xf32>
  %e2 = tensor.empty() : tensor<12x2xf32>
  %e3 = tensor.empty() : tensor<12x2x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<12x2x9xf32>) -> tensor<12x2x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<12x2x4xf32>, tensor<12x4x9xf32>) outs(%f1 : tensor<12x2x9xf32>) -> tensor<12x2x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<12x2xf32>) -> tensor<12x2xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<12x2x9xf32>) outs(%f2 : tensor<12x2xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<12x2xf32>) outs(%e1 : tensor<12x2x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<12x2x9xf32>
  %w = math.exp %d : tensor<12x2x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<12x2xf32>) -> tensor<12x2xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<12x2x9xf32>) outs(%f3 : tensor<12x2xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<12x2xf32>) outs(%e1 : tensor<12x2x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<12x2x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<12x2x4xf32>) -> tensor<12x2x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<12x2x9xf32>, tensor<12x9x4xf32>) outs(%f4 : tensor<12x2x4xf32>) -> tensor<12x2x4xf32>
  return %o : tensor<12x2x4xf32>
}

// -----

// Two tasks are few, but short.
// CHECK-LABEL: func.func @short
// CHECK: "mlopt.attention"
func.func @short(%q: tensor<2x1x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>) -> tensor<2x1x4xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x1x9xf32>
  %e2 = tensor.empty() : tensor<2x1xf32>
  %e3 = tensor.empty() : tensor<2x1x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x1x9xf32>) -> tensor<2x1x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x1x4xf32>, tensor<2x4x9xf32>) outs(%f1 : tensor<2x1x9xf32>) -> tensor<2x1x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x1xf32>) -> tensor<2x1xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x1x9xf32>) outs(%f2 : tensor<2x1xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x1xf32>) outs(%e1 : tensor<2x1x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x1x9xf32>
  %w = math.exp %d : tensor<2x1x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x1xf32>) -> tensor<2x1xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x1x9xf32>) outs(%f3 : tensor<2x1xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x1xf32>) outs(%e1 : tensor<2x1x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x1x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x1x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  return %o : tensor<2x1x4xf32>
}

// -----

// GPU-LABEL: func.func @halves
// GPU: %[[S:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<12x9xf32>) attrs = {mlopt.op = "row_scores"}
// GPU: "mlopt.attention"(%[[S]], %{{.*}}, %{{.*}}) {{.*}}mlopt.rounds = "bf16"
// CHECK-LABEL: func.func @halves
// CHECK: attrs = {mlopt.op = "scores"}
func.func @halves(%q: tensor<12x1x4xbf16>, %k: tensor<12x4x9xbf16>, %v: tensor<12x9x4xbf16>) -> tensor<12x1x4xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<12x1x9xf32>
  %e2 = tensor.empty() : tensor<12x1xf32>
  %e3 = tensor.empty() : tensor<12x1x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<12x1x9xf32>) -> tensor<12x1x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<12x1x4xbf16>, tensor<12x4x9xbf16>) outs(%f1 : tensor<12x1x9xf32>) -> tensor<12x1x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<12x1xf32>) -> tensor<12x1xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<12x1x9xf32>) outs(%f2 : tensor<12x1xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<12x1xf32>) outs(%e1 : tensor<12x1x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<12x1x9xf32>
  %w = math.exp %d : tensor<12x1x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<12x1xf32>) -> tensor<12x1xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<12x1x9xf32>) outs(%f3 : tensor<12x1xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<12x1xf32>) outs(%e1 : tensor<12x1x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<12x1x9xf32>
  %r = arith.truncf %p : tensor<12x1x9xf32> to tensor<12x1x9xbf16>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<12x1x4xf32>) -> tensor<12x1x4xf32>
  %o = linalg.batch_matmul ins(%r, %v : tensor<12x1x9xbf16>, tensor<12x9x4xbf16>) outs(%f4 : tensor<12x1x4xf32>) -> tensor<12x1x4xf32>
  return %o : tensor<12x1x4xf32>
}

// -----

// Nobody knows how many keys there are: blocks of a GPU share them all the same.
// GPU-LABEL: func.func @unknown
// GPU: "mlopt.attention"
func.func @unknown(%q: tensor<2x1x64xf32>, %k: tensor<2x64x?xf32>, %v: tensor<2x?x64xf32>) -> tensor<2x1x64xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %k, %c2 : tensor<2x64x?xf32>
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty(%n) : tensor<2x1x?xf32>
  %e2 = tensor.empty() : tensor<2x1xf32>
  %e3 = tensor.empty() : tensor<2x1x64xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x1x?xf32>) -> tensor<2x1x?xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x1x64xf32>, tensor<2x64x?xf32>) outs(%f1 : tensor<2x1x?xf32>) -> tensor<2x1x?xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x1xf32>) -> tensor<2x1xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x1x?xf32>) outs(%f2 : tensor<2x1xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x1xf32>) outs(%e1 : tensor<2x1x?xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x1x?xf32>
  %w = math.exp %d : tensor<2x1x?xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x1xf32>) -> tensor<2x1xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x1x?xf32>) outs(%f3 : tensor<2x1xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x1xf32>) outs(%e1 : tensor<2x1x?xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x1x?xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x1x?xf32>, tensor<2x?x64xf32>) outs(%f4 : tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
  return %o : tensor<2x1x64xf32>
}
