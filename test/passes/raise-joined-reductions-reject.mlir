// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// Another operation: the sum of the rows' maxima. From another number: the least of them and 1.
// CHECK-LABEL: func.func @other
// CHECK: ins(%arg0 : tensor<33x47xf32>) outs(%{{.*}} : tensor<33xf32>)
// CHECK: ins(%{{.*}} : tensor<33xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: ins(%{{.*}} : tensor<33xf32>) outs(%{{.*}} : tensor<f32>)
func.func @other(%x: tensor<33x47xf32>) -> (tensor<f32>, tensor<f32>) {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %b = tensor.empty() : tensor<33xf32>
  %c = tensor.empty() : tensor<f32>
  %fb = linalg.fill ins(%least : f32) outs(%b : tensor<33xf32>) -> tensor<33xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%c : tensor<f32>) -> tensor<f32>
  %gb = linalg.fill ins(%one : f32) outs(%b : tensor<33xf32>) -> tensor<33xf32>
  %gc = linalg.fill ins(%least : f32) outs(%c : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce { arith.maximumf } ins(%x : tensor<33x47xf32>) outs(%fb : tensor<33xf32>) dimensions = [1]
  %s = linalg.reduce { arith.maximumf } ins(%x : tensor<33x47xf32>) outs(%gb : tensor<33xf32>) dimensions = [1]
  %t = linalg.reduce { arith.addf } ins(%r : tensor<33xf32>) outs(%fc : tensor<f32>) dimensions = [0]
  %u = linalg.reduce { arith.maximumf } ins(%s : tensor<33xf32>) outs(%gc : tensor<f32>) dimensions = [0]
  return %t, %u : tensor<f32>, tensor<f32>
}

// -----

// Others read the rows' sums; what adds them up computes something of them, or has results of its own.
// CHECK-LABEL: func.func @read_twice
// CHECK: ins(%arg0 : tensor<33x47x5xf32>) outs(%{{.*}} : tensor<33x47xf32>)
// CHECK: ins(%{{.*}} : tensor<33x47xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: ins(%arg0 : tensor<33x47x5xf32>) outs(%{{.*}} : tensor<33x47xf32>)
// CHECK: ins(%{{.*}} : tensor<33x47xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: arith.mulf
func.func @read_twice(%x: tensor<33x47x5xf32>) -> (tensor<33x47xf32>, tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %b = tensor.empty() : tensor<33x47xf32>
  %c = tensor.empty() : tensor<f32>
  %fb = linalg.fill ins(%zero : f32) outs(%b : tensor<33x47xf32>) -> tensor<33x47xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%c : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<33x47x5xf32>) outs(%fb : tensor<33x47xf32>) dimensions = [2]
  %t = linalg.reduce { arith.addf } ins(%r : tensor<33x47xf32>) outs(%fc : tensor<f32>) dimensions = [0, 1]
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<33x47x5xf32>) outs(%fb : tensor<33x47xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<33x47xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%s : tensor<33x47xf32>) outs(%fc : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %r, %t, %u : tensor<33x47xf32>, tensor<f32>, tensor<f32>
}

// A product of matrices keeps its loops and its schedule; its rows are added up behind it.
// CHECK-LABEL: func.func @rows_of_a_product
// CHECK: ins(%arg0, %arg1 : tensor<33x47xf32>, tensor<47x5xf32>) outs(%{{.*}} : tensor<33x5xf32>)
// CHECK: ins(%{{.*}} : tensor<33x5xf32>) outs(%{{.*}} : tensor<33xf32>)
func.func @rows_of_a_product(%x: tensor<33x47xf32>, %w: tensor<47x5xf32>) -> tensor<33xf32> {
  %zero = arith.constant 0.0 : f32
  %b = tensor.empty() : tensor<33x5xf32>
  %c = tensor.empty() : tensor<33xf32>
  %fb = linalg.fill ins(%zero : f32) outs(%b : tensor<33x5xf32>) -> tensor<33x5xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%c : tensor<33xf32>) -> tensor<33xf32>
  %r = linalg.matmul ins(%x, %w : tensor<33x47xf32>, tensor<47x5xf32>) outs(%fb : tensor<33x5xf32>) -> tensor<33x5xf32>
  %t = linalg.reduce { arith.addf } ins(%r : tensor<33x5xf32>) outs(%fc : tensor<33xf32>) dimensions = [1]
  return %t : tensor<33xf32>
}
