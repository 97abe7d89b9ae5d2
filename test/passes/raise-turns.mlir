// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// Rows of unknown number, of 1021: 64 parts take blocks of 4 rows in turns. Behind the last row zeros are added.
// CHECK-DAG: #[[BLOCKS:.*]] = affine_map<(d0, d1, d2, d3) -> (d1 * 256 + d0 * 4 + d2, d3)>
// CHECK-LABEL: func.func @rows
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[N:.*]] = tensor.dim %arg0, %c0
// CHECK-DAG: %[[TURNS:.*]] = arith.ceildivui %[[N]], %c256
// CHECK-DAG: %[[ALL:.*]] = arith.muli %[[TURNS]], %c256
// CHECK: %[[E:.*]] = tensor.empty(%[[ALL]]) : tensor<?x1021xf32>
// CHECK: %[[F:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[E]]
// CHECK: %[[PAD:.*]] = tensor.insert_slice %arg0 into %[[F]][0, 0] [%[[N]], 1021] [1, 1]
// CHECK: %[[X:.*]] = linalg.generic {indexing_maps = [#[[BLOCKS]], {{.*}} ins(%[[PAD]] : tensor<?x1021xf32>) outs(%{{.*}} : tensor<64x?x4x1021xf32>)
// CHECK: %[[S:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%[[X]] : tensor<64x?x4x1021xf32>) outs(%{{.*}} : tensor<64xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[S]] : tensor<64xf32>)
func.func @rows(%x: tensor<?x1021xf32>) -> tensor<?x1021xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?x1021xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  %d0 = arith.constant 0 : index
  %rows = tensor.dim %x, %d0 : tensor<?x1021xf32>
  %ye = tensor.empty(%rows) : tensor<?x1021xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x1021xf32>, tensor<f32>) outs(%ye : tensor<?x1021xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %q = arith.divf %in, %sum : f32
    linalg.yield %q : f32
  } -> tensor<?x1021xf32>
  return %r : tensor<?x1021xf32>
}

// -----

// A long row is a block. What is computed of the rows is computed in turns, too; what comes of rows that are
// none is left out.
#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
// CHECK-DAG: #[[BLOCKS:.*]] = affine_map<(d0, d1, d2) -> (d1 * 64 + d0, d2)>
// CHECK-LABEL: func.func @exponentials
// CHECK-DAG: %[[N:.*]] = tensor.dim %arg0, %c0
// CHECK: %[[X:.*]] = linalg.generic {indexing_maps = [#[[BLOCKS]], {{.*}} outs(%{{.*}} : tensor<64x?x9000xf32>)
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<64x?x9000xf32>)
// CHECK: math.exp
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "reduction"]} ins(%[[E]] : tensor<64x?x9000xf32>)
// CHECK: ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
// CHECK-DAG: %[[P:.*]] = linalg.index 0
// CHECK-DAG: %[[T:.*]] = linalg.index 1
// CHECK: %[[B:.*]] = arith.muli %[[T]], %c64
// CHECK: %[[ROW:.*]] = arith.addi %[[B]], %[[P]]
// CHECK: %[[IS:.*]] = arith.cmpi slt, %[[ROW]], %[[N]]
// CHECK: %[[V:.*]] = arith.select %[[IS]], %[[IN]], %{{.*}} : f32
// CHECK: arith.addf %{{.*}}%[[V]]
func.func @exponentials(%x: tensor<?x9000xf32>) -> tensor<?x9000xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x9000xf32>
  %e = tensor.empty(%n) : tensor<?x9000xf32>
  %y = linalg.exp ins(%x : tensor<?x9000xf32>) outs(%e : tensor<?x9000xf32>) -> tensor<?x9000xf32>
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%y : tensor<?x9000xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  %d0 = arith.constant 0 : index
  %rows = tensor.dim %x, %d0 : tensor<?x9000xf32>
  %ye = tensor.empty(%rows) : tensor<?x9000xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x9000xf32>, tensor<f32>) outs(%ye : tensor<?x9000xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %q = arith.divf %in, %sum : f32
    linalg.yield %q : f32
  } -> tensor<?x9000xf32>
  return %r : tensor<?x9000xf32>
}
