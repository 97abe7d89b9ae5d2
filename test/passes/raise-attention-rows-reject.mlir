// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention)' | FileCheck %s
// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,mlopt-fold-moves,canonicalize,cse,mlopt-raise-attention{machine=a100})' | FileCheck %s --check-prefix=GPU

// One row of each of two long matrices: tasks that share the keys are more, and shorter.
// CHECK: mlopt.rewrites = {{.*}}"mlopt-raise-attention" = [{{.*}}ops = "{{.*}}: softmax", reason = "tasks of {{[0-9]+}} microseconds should be 8 or more, the few rows of each matrix make 2"
// CHECK-LABEL: func.func @few_tasks
// CHECK-NOT: mlopt.attention
// CHECK: math.exp
// CHECK-NOT: mlopt.attention
// CHECK: return
// GPU-LABEL: func.func @few_tasks
// GPU: "mlopt.attention"
func.func @few_tasks(%q: tensor<2x1x64xf32>, %k: tensor<2x64x8192xf32>, %v: tensor<2x8192x64xf32>) -> tensor<2x1x64xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x1x8192xf32>
  %e2 = tensor.empty() : tensor<2x1xf32>
  %e3 = tensor.empty() : tensor<2x1x64xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x1x8192xf32>) -> tensor<2x1x8192xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x1x64xf32>, tensor<2x64x8192xf32>) outs(%f1 : tensor<2x1x8192xf32>) -> tensor<2x1x8192xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x1xf32>) -> tensor<2x1xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x1x8192xf32>) outs(%f2 : tensor<2x1xf32>) dimensions = [2]
  %bt = linalg.broadcast ins(%top : tensor<2x1xf32>) outs(%e1 : tensor<2x1x8192xf32>) dimensions = [2]
  %d = arith.subf %t, %bt : tensor<2x1x8192xf32>
  %w = math.exp %d : tensor<2x1x8192xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x1xf32>) -> tensor<2x1xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x1x8192xf32>) outs(%f3 : tensor<2x1xf32>) dimensions = [2]
  %bs = linalg.broadcast ins(%sum : tensor<2x1xf32>) outs(%e1 : tensor<2x1x8192xf32>) dimensions = [2]
  %p = arith.divf %w, %bs : tensor<2x1x8192xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x1x8192xf32>, tensor<2x8192x64xf32>) outs(%f4 : tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
  return %o : tensor<2x1x64xf32>
}
