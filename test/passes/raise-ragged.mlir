// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// A prime number of elements: parts of 4096 and the rest. What makes the elements is made for both, with their
// places in the whole.
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK-DAG: #[[PARTS:.*]] = affine_map<(d0, d1) -> (d0 * 4096 + d1)>
// CHECK-DAG: #[[REST:.*]] = affine_map<(d0) -> (d0 + 999424)>
// CHECK-LABEL: func.func @vector
// CHECK: %[[X:.*]] = linalg.generic {indexing_maps = [#[[PARTS]], {{.*}} ins(%arg0 : tensor<1000003xf32>) outs(%{{.*}} : tensor<244x4096xf32>)
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<244x4096xf32>)
// CHECK: %[[P:.*]] = linalg.index 0
// CHECK: %[[W:.*]] = linalg.index 1
// CHECK: %[[S:.*]] = arith.muli %[[P]], %c4096
// CHECK: arith.addi %[[S]], %[[W]]
// CHECK: %[[SP:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[E]] : tensor<244x4096xf32>)
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[SP]] : tensor<244xf32>)
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[REST]], {{.*}} ins(%arg0 : tensor<1000003xf32>) outs(%{{.*}} : tensor<579xf32>)
// CHECK: %[[F:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<579xf32>)
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: arith.addi %[[I]], %c999424
// CHECK: %[[T:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[F]] : tensor<579xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[M]], %[[T]] : tensor<f32>, tensor<f32>)
// CHECK: arith.maximumf
func.func @vector(%x: tensor<1000003xf32>) -> tensor<f32> {
  %ninf = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1000003xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<1000003xf32>) outs(%e : tensor<1000003xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    %2 = arith.sitofp %1 : i64 to f32
    %3 = arith.mulf %2, %in : f32
    linalg.yield %3 : f32
  } -> tensor<1000003xf32>
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%ninf : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %m = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%n : tensor<1000003xf32>) outs(%f : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %m : tensor<f32>
}

// -----

// Twice a prime number of rows, summed by columns (100003 is prime). The other loops stay as they are.
#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[PARTS:.*]] = affine_map<(d0, d1, d2) -> (d0 * {{[0-9]+}} + d1, d2)>
// CHECK-LABEL: func.func @columns
// CHECK: %[[X:.*]] = linalg.generic {indexing_maps = [#[[PARTS]], {{.*}} ins(%arg0 : tensor<200006x32xf32>)
// CHECK: %[[P:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[X]]
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[P]]
// CHECK: %[[T:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]}
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[M]], %[[T]] : tensor<32xf32>, tensor<32xf32>)
func.func @columns(%x: tensor<200006x32xf32>) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<32xf32>) -> tensor<32xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<200006x32xf32>) outs(%f : tensor<32xf32>) dimensions = [0]
  return %s : tensor<32xf32>
}
