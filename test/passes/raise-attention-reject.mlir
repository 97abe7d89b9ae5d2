// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention)' | FileCheck %s --implicit-check-not=mlopt.attention

// The weights are needed elsewhere, as for a backward pass; the module says so.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}ops = "{{.*}}:[[#@LINE+15]]: softmax", reason = "its weights are read by bmm and the caller: by more than the second product"
// CHECK-LABEL: func.func @weights_kept
// CHECK: math.exp
func.func @weights_kept(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>, %other: tensor<2x8x9xf32>, %row: tensor<2x8xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x9xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x8x9xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x8x4xf32>, tensor<2x4x9xf32>) outs(%f1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x9xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x8x9xf32>
  %w = math.exp %d : tensor<2x8x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x9xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o, %p : tensor<2x8x4xf32>, tensor<2x8x9xf32>
}

// -----

// So are the scores.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}ops = "{{.*}}: softmax", reason = "its scores are read by the caller, too"
// CHECK-LABEL: func.func @scores_kept
// CHECK: math.exp
func.func @scores_kept(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>, %other: tensor<2x8x9xf32>, %row: tensor<2x8xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x9xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x8x9xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x8x4xf32>, tensor<2x4x9xf32>) outs(%f1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x9xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x8x9xf32>
  %w = math.exp %d : tensor<2x8x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x9xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o, %t : tensor<2x8x4xf32>, tensor<2x8x9xf32>
}

// -----

// And the maximum.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}ops = "{{.*}}:[[#@LINE+15]]: softmax", reason = "the greatest scores of its rows are read by others, too"
// CHECK-LABEL: func.func @maximum_kept
// CHECK: math.exp
func.func @maximum_kept(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>, %other: tensor<2x8x9xf32>, %row: tensor<2x8xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x8x9xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x8x4xf32>, tensor<2x4x9xf32>) outs(%f1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x9xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x8x9xf32>
  %w = math.exp %d : tensor<2x8x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x9xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o, %top : tensor<2x8x4xf32>, tensor<2x8xf32>
}

// -----

// A maximum that begins above -inf is something else.
// CHECK-LABEL: func.func @not_lowest
// CHECK: math.exp
func.func @not_lowest(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>, %other: tensor<2x8x9xf32>, %row: tensor<2x8xf32>) -> (tensor<2x8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x8x9xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x8x4xf32>, tensor<2x4x9xf32>) outs(%f1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x9xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x8x9xf32>
  %w = math.exp %d : tensor<2x8x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x9xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// -----

// The maximum of other numbers.
// CHECK-LABEL: func.func @other_maximum
// CHECK: math.exp
func.func @other_maximum(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>, %other: tensor<2x8x9xf32>, %row: tensor<2x8xf32>) -> (tensor<2x8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x8x9xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x8x4xf32>, tensor<2x4x9xf32>) outs(%f1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x9xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %d = arith.subf %other, %bt : tensor<2x8x9xf32>
  %w = math.exp %d : tensor<2x8x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x9xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// -----

// Divided by something else than the sum.
// CHECK-LABEL: func.func @other_divisor
// CHECK: math.exp
func.func @other_divisor(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>, %other: tensor<2x8x9xf32>, %row: tensor<2x8xf32>) -> (tensor<2x8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x8x9xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x8x4xf32>, tensor<2x4x9xf32>) outs(%f1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x9xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x8x9xf32>
  %w = math.exp %d : tensor<2x8x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x9xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%row : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// -----

// A task would hold too much of each row.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}ops = "{{.*}}: softmax", reason = "keys and values have 1 to 256 elements in a task, not 4 and 300"
// CHECK-LABEL: func.func @wide_values
// CHECK: math.exp
func.func @wide_values(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x300xf32>, %other: tensor<2x8x9xf32>, %row: tensor<2x8xf32>) -> (tensor<2x8x300xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x8x9xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x300xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x8x4xf32>, tensor<2x4x9xf32>) outs(%f1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x9xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x8x9xf32>
  %w = math.exp %d : tensor<2x8x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x9xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x300xf32>) -> tensor<2x8x300xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x300xf32>) outs(%f4 : tensor<2x8x300xf32>) -> tensor<2x8x300xf32>
  return %o : tensor<2x8x300xf32>
}

// -----

// Nobody knows how much of each row a task would hold.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}ops = "{{.*}}: softmax", reason = "a task has keys and values of a known number of elements, not an unknown number and 300"
// CHECK-LABEL: func.func @queries_of_any_width
// CHECK: math.exp
func.func @queries_of_any_width(%q: tensor<2x8x?xf32>, %k: tensor<2x?x9xf32>, %v: tensor<2x9x300xf32>, %other: tensor<2x8x9xf32>, %row: tensor<2x8xf32>) -> (tensor<2x8x300xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x8x9xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x300xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x8x?xf32>, tensor<2x?x9xf32>) outs(%f1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x9xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x8x9xf32>
  %w = math.exp %d : tensor<2x8x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x9xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x300xf32>) -> tensor<2x8x300xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x300xf32>) outs(%f4 : tensor<2x8x300xf32>) -> tensor<2x8x300xf32>
  return %o : tensor<2x8x300xf32>
}

// -----

// One query and one column of values: their product is a number, which has no rows.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}reason = "
// CHECK-LABEL: func.func @number
// CHECK: math.exp
func.func @number(%q: tensor<1x33xf32>, %k: tensor<33x2xf32>, %v: tensor<2x1xf32>) -> tensor<1x1xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<1x2xf32>
  %e2 = tensor.empty() : tensor<1xf32>
  %e3 = tensor.empty() : tensor<1x1xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x2xf32>) -> tensor<1x2xf32>
  %t = linalg.matmul ins(%q, %k : tensor<1x33xf32>, tensor<33x2xf32>) outs(%f1 : tensor<1x2xf32>) -> tensor<1x2xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<1xf32>) -> tensor<1xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<1x2xf32>) outs(%f2 : tensor<1xf32>) dimensions = [1]
  %bt = linalg.broadcast ins(%top : tensor<1xf32>) outs(%e1 : tensor<1x2xf32>) dimensions = [1]
  %d = arith.subf %t, %bt : tensor<1x2xf32>
  %w = math.exp %d : tensor<1x2xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1xf32>) -> tensor<1xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<1x2xf32>) outs(%f3 : tensor<1xf32>) dimensions = [1]
  %bs = linalg.broadcast ins(%sum : tensor<1xf32>) outs(%e1 : tensor<1x2xf32>) dimensions = [1]
  %p = arith.divf %w, %bs : tensor<1x2xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %o = linalg.matmul ins(%p, %v : tensor<1x2xf32>, tensor<2x1xf32>) outs(%f4 : tensor<1x1xf32>) -> tensor<1x1xf32>
  return %o : tensor<1x1xf32>
}

// -----

// The softmax is of f32 between products of f64: one sum of both types is none.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}reason = "its softmax is in f32, its values are added up in f64"
// CHECK-LABEL: func.func @narrow_softmax
// CHECK: math.exp
func.func @narrow_softmax(%q: tensor<2x8x16xf64>, %k: tensor<2x16x9xf64>, %v: tensor<2x9x16xf64>) -> tensor<2x8x16xf64> {
  %zero = arith.constant 0.0 : f64
  %none = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<2x8x9xf64>
  %e1 = tensor.empty() : tensor<2x8x9xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x16xf64>
  %f1 = linalg.fill ins(%zero : f64) outs(%e0 : tensor<2x8x9xf64>) -> tensor<2x8x9xf64>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x8x16xf64>, tensor<2x16x9xf64>) outs(%f1 : tensor<2x8x9xf64>) -> tensor<2x8x9xf64>
  %t = arith.truncf %s : tensor<2x8x9xf64> to tensor<2x8x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x9xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x8x9xf32>
  %w = math.exp %d : tensor<2x8x9xf32>
  %f3 = linalg.fill ins(%none : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x9xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x8x9xf32>
  %wide = arith.extf %p : tensor<2x8x9xf32> to tensor<2x8x9xf64>
  %f4 = linalg.fill ins(%zero : f64) outs(%e3 : tensor<2x8x16xf64>) -> tensor<2x8x16xf64>
  %o = linalg.batch_matmul ins(%wide, %v : tensor<2x8x9xf64>, tensor<2x9x16xf64>) outs(%f4 : tensor<2x8x16xf64>) -> tensor<2x8x16xf64>
  return %o : tensor<2x8x16xf64>
}
