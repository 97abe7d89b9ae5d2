// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention)' | FileCheck %s --implicit-check-not=mlopt.attention

// What stands for NaN is another number than zero.
// CHECK-LABEL: func.func @nans_are_one
// CHECK: math.exp
func.func @nans_are_one(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>) -> tensor<2x8x4xf32> {
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
  %instead = arith.constant dense<1.0> : tensor<2x8x9xf32>
  %most = arith.constant dense<3.40282347E+38> : tensor<2x8x9xf32>
  %infinity = arith.constant dense<0x7F800000> : tensor<2x8x9xf32>
  %nan = arith.cmpf une, %p, %p : tensor<2x8x9xf32>
  %c = arith.select %nan, %instead, %p : tensor<2x8x9xi1>, tensor<2x8x9xf32>
  %infinite = arith.cmpf oeq, %p, %infinity : tensor<2x8x9xf32>
  %n = arith.select %infinite, %most, %c : tensor<2x8x9xi1>, tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// -----

// The weights are asked for, NaN and all.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}ops = "{{.*}}: softmax", reason = "its weights are read by where, compare and the caller: by more than the second product"
// CHECK-LABEL: func.func @nans_kept
func.func @nans_kept(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x9xf32>) {
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
  %instead = arith.constant dense<0.0> : tensor<2x8x9xf32>
  %most = arith.constant dense<3.40282347E+38> : tensor<2x8x9xf32>
  %infinity = arith.constant dense<0x7F800000> : tensor<2x8x9xf32>
  %nan = arith.cmpf une, %p, %p : tensor<2x8x9xf32>
  %c = arith.select %nan, %instead, %p : tensor<2x8x9xi1>, tensor<2x8x9xf32>
  %infinite = arith.cmpf oeq, %p, %infinity : tensor<2x8x9xf32>
  %n = arith.select %infinite, %most, %c : tensor<2x8x9xi1>, tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o, %p : tensor<2x8x4xf32>, tensor<2x8x9xf32>
}

// -----

// The logarithms of the weights are needed elsewhere.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}ops = "{{.*}}: softmax", reason = "more is done with its log_softmax than to take the exp of it"
// CHECK-LABEL: func.func @logarithms_kept
func.func @logarithms_kept(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x9xf32>) {
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
  %l = math.log %sum : tensor<2x8xf32>
  %bl = linalg.broadcast ins(%l : tensor<2x8xf32>) outs(%e1 : tensor<2x8x9xf32>) dimensions = [2]
  %s = arith.subf %d, %bl : tensor<2x8x9xf32>
  %p = math.exp %s : tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o, %s : tensor<2x8x4xf32>, tensor<2x8x9xf32>
}

// -----

// An attention sink: a score that no value belongs to, which takes its part of the weights.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}ops = "{{.*}}: softmax", reason = "its scores are joined with others, as with an attention sink, that no values belong to"
// CHECK-LABEL: func.func @sink
func.func @sink(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>, %sink: tensor<2x8x1xf32>) -> tensor<2x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x8x9xf32>
  %e1 = tensor.empty() : tensor<2x8x10xf32>
  %e2 = tensor.empty() : tensor<2x8xf32>
  %e3 = tensor.empty() : tensor<2x8x4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t0 = linalg.batch_matmul ins(%q, %k : tensor<2x8x4xf32>, tensor<2x4x9xf32>) outs(%f1 : tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  %t = tensor.concat dim(2) %t0, %sink : (tensor<2x8x9xf32>, tensor<2x8x1xf32>) -> tensor<2x8x10xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x8x10xf32>) outs(%f2 : tensor<2x8xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x8xf32>) outs(%e1 : tensor<2x8x10xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x8x10xf32>
  %w = math.exp %d : tensor<2x8x10xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x8x10xf32>) outs(%f3 : tensor<2x8xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x8xf32>) outs(%e1 : tensor<2x8x10xf32>) dimensions = [2]
  %a = arith.divf %w, %bs : tensor<2x8x10xf32>
  %p = tensor.extract_slice %a[0, 0, 0] [2, 8, 9] [1, 1, 1] : tensor<2x8x10xf32> to tensor<2x8x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x9xf32>, tensor<2x9x4xf32>) outs(%f4 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}
