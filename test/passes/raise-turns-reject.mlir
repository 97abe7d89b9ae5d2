// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise{machine=a100},canonicalize,cse)' --split-input-file | FileCheck %s --check-prefix=GPU

// A GPU has a part for each row, as many as there are: its blocks would wait for one turn after the other.
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
// GPU-LABEL: func.func @on_a_gpu
// GPU-NOT: tensor.insert_slice
// GPU: ins(%arg0 : tensor<?x1021xf32>) outs(%{{.*}} : tensor<?xf32>)
func.func @on_a_gpu(%x: tensor<?x1021xf32>, %e: tensor<?x1021xf32>) -> tensor<?x1021xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?x1021xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  %r = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x1021xf32>, tensor<f32>) outs(%e : tensor<?x1021xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %q = arith.divf %in, %sum : f32
    linalg.yield %q : f32
  } -> tensor<?x1021xf32>
  return %r : tensor<?x1021xf32>
}

// -----

// Nothing waits for the sum to read all of it again: one task may add up as many parts as there are.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: tensor.insert_slice
// CHECK: ins(%arg0 : tensor<?x1021xf32>) outs(%{{.*}} : tensor<?xf32>)
func.func @alone(%x: tensor<?x1021xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?x1021xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  return %s : tensor<f32>
}

// -----

// Nobody knows how long the rows of a block are.
#id = affine_map<(i, j, k) -> (i, j, k)>
#none = affine_map<(i, j, k) -> ()>
// CHECK-LABEL: func.func @both
// CHECK-NOT: tensor.insert_slice
func.func @both(%x: tensor<?x?x512xf32>, %e: tensor<?x?x512xf32>) -> tensor<?x?x512xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?x?x512xf32>) outs(%f : tensor<f32>) dimensions = [0, 1, 2]
  %r = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %s : tensor<?x?x512xf32>, tensor<f32>) outs(%e : tensor<?x?x512xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %q = arith.divf %in, %sum : f32
    linalg.yield %q : f32
  } -> tensor<?x?x512xf32>
  return %r : tensor<?x?x512xf32>
}

// -----

// A few rows of unknown length are enough tasks.
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
// CHECK-LABEL: func.func @few
// CHECK-NOT: tensor.insert_slice
// CHECK: ins(%{{.*}} : tensor<75x4x?xf32>) outs(%{{.*}} : tensor<75xf32>)
func.func @few(%x: tensor<300x?xf32>, %e: tensor<300x?xf32>) -> tensor<300x?xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<300x?xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  %r = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<300x?xf32>, tensor<f32>) outs(%e : tensor<300x?xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %q = arith.divf %in, %sum : f32
    linalg.yield %q : f32
  } -> tensor<300x?xf32>
  return %r : tensor<300x?xf32>
}

// -----

// Truth values have no place in memory that would be padded.
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
// CHECK-LABEL: func.func @truth
// CHECK-NOT: tensor.insert_slice
func.func @truth(%x: tensor<?x1021xi1>, %e: tensor<?x1021xi1>) -> tensor<?x1021xi1> {
  %no = arith.constant false
  %o = tensor.empty() : tensor<i1>
  %f = linalg.fill ins(%no : i1) outs(%o : tensor<i1>) -> tensor<i1>
  %s = linalg.reduce { arith.ori } ins(%x : tensor<?x1021xi1>) outs(%f : tensor<i1>) dimensions = [0, 1]
  %r = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x1021xi1>, tensor<i1>) outs(%e : tensor<?x1021xi1>) {
  ^bb0(%in: i1, %any: i1, %out: i1):
    %q = arith.xori %in, %any : i1
    linalg.yield %q : i1
  } -> tensor<?x1021xi1>
  return %r : tensor<?x1021xi1>
}

// -----

// A variance reads its rows twice: a task has them in its cache.
#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func @two_steps
// CHECK-NOT: tensor.insert_slice
func.func @two_steps(%x: tensor<?x1021xf32>, %e: tensor<?x1021xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?x1021xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x1021xf32>, tensor<f32>) outs(%e : tensor<?x1021xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %0 = arith.subf %in, %sum : f32
    %1 = arith.mulf %0, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x1021xf32>
  %q = linalg.reduce { arith.addf } ins(%d : tensor<?x1021xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  return %q : tensor<f32>
}
