// RUN: mlopt explain %s --target cuda:sm_80 | FileCheck %s
// RUN: mlopt explain %s --target cuda:sm_80 --json | FileCheck %s --check-prefix=JSON

// Keys that are too wide for a task.
// CHECK: softmaxes that are kernels of their own between two products:
// CHECK-NEXT: {{.*}}mlopt-explain-attention.mlir:[[#@LINE+24]]: softmax: keys and values have 1 to 256 elements in a task, not 300 and 300; would save 0.001 MB, {{[0-9.]+}} µs
// JSON: "attention_apart": [
// JSON: "ops": "{{.*}}: softmax"
// JSON: "reason": "keys and values have 1 to 256 elements
// JSON-NEXT: "bytes_saved": 1152
// JSON-NEXT: "seconds_saved":
#id = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>
func.func @main(%q: tensor<2x4x300xf32>, %k: tensor<2x300x9xf32>, %v: tensor<2x9x300xf32>) -> tensor<2x4x300xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x4x9xf32>
  %e2 = tensor.empty() : tensor<2x4xf32>
  %e3 = tensor.empty() : tensor<2x4x300xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  %t = linalg.batch_matmul ins(%q, %k : tensor<2x4x300xf32>, tensor<2x300x9xf32>) outs(%f1 : tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %top = linalg.reduce { arith.maximumf } ins(%t : tensor<2x4x9xf32>) outs(%f2 : tensor<2x4xf32>) dimensions = [2]
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %top : tensor<2x4x9xf32>, tensor<2x4xf32>) outs(%e1 : tensor<2x4x9xf32>) {
  ^bb0(%x: f32, %y: f32, %o1: f32):
    %r = arith.subf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<2x4x9xf32>
  %w = math.exp %d : tensor<2x4x9xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %sum = linalg.reduce { arith.addf } ins(%w : tensor<2x4x9xf32>) outs(%f3 : tensor<2x4xf32>) dimensions = [2]
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %sum : tensor<2x4x9xf32>, tensor<2x4xf32>) outs(%e1 : tensor<2x4x9xf32>) {
  ^bb0(%x: f32, %y: f32, %o1: f32):
    %r = arith.divf %x, %y : f32
    linalg.yield %r : f32
  } -> tensor<2x4x9xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x4x300xf32>) -> tensor<2x4x300xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x4x9xf32>, tensor<2x9x300xf32>) outs(%f4 : tensor<2x4x300xf32>) -> tensor<2x4x300xf32>
  return %o : tensor<2x4x300xf32>
}
