// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention,canonicalize,cse)' | FileCheck %s

// A softmax written as exp(log_softmax).
// CHECK-LABEL: func.func @log_softmax
// CHECK-NOT: math.exp
// CHECK: "mlopt.attention"{{.*}}zero_nans = false, zero_rows = false
func.func @log_softmax(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>) -> tensor<2x8x4xf32> {
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
  return %o : tensor<2x8x4xf32>
}

// -----

// torch.nan_to_num around a softmax: infinities are no weights, and NaN is the whole row's.
// CHECK-LABEL: func.func @nans_are_zero
// CHECK-NOT: arith.select
// CHECK: "mlopt.attention"{{.*}}zero_nans = true, zero_rows = true
func.func @nans_are_zero(%q: tensor<2x8x4xf32>, %k: tensor<2x4x9xf32>, %v: tensor<2x9x4xf32>) -> tensor<2x8x4xf32> {
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
  return %o : tensor<2x8x4xf32>
}
