// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// A prime number of elements: 64 parts of 15616, each with 10 of the last 640, of which 61 are in a part already:
// a maximum takes them twice. What makes the elements is made for both, with their places in the whole.
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK-DAG: #[[PARTS:.*]] = affine_map<(d0, d1) -> (d0 * 15616 + d1)>
// CHECK-DAG: #[[REST:.*]] = affine_map<(d0, d1) -> (d0 * 10 + d1 + 999363)>
// CHECK-LABEL: func.func @vector
// CHECK: %[[X:.*]] = linalg.generic {indexing_maps = [#[[PARTS]], {{.*}} ins(%arg0 : tensor<1000003xf32>) outs(%{{.*}} : tensor<64x15616xf32>)
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<64x15616xf32>)
// CHECK: %[[P:.*]] = linalg.index 0
// CHECK: %[[W:.*]] = linalg.index 1
// CHECK: %[[S:.*]] = arith.muli %[[P]], %c15616
// CHECK: arith.addi %[[S]], %[[W]]
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[REST]], {{.*}} ins(%arg0 : tensor<1000003xf32>) outs(%{{.*}} : tensor<64x10xf32>)
// CHECK: %[[F:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<64x10xf32>)
// CHECK: %[[I:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK: arith.addi %[[I]], %c999363
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[E]] : tensor<64x15616xf32>)
// CHECK: %[[T:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[F]] : tensor<64x10xf32>) outs(%[[M]] : tensor<64xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.maximumf
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[T]] : tensor<64xf32>)
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

// Twice a prime number of rows, summed by columns (100003 is prime): each of 256 parts has one of the last 256
// rows, of which 186 are in a part already. The other loops stay as they are.
#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[PARTS:.*]] = affine_map<(d0, d1, d2) -> (d0 * 781 + d1, d2)>
// CHECK-DAG: #[[REST:.*]] = affine_map<(d0, d1, d2) -> (d0 + d1 + 199750, d2)>
// CHECK-LABEL: func.func @columns
// CHECK: %[[X:.*]] = linalg.generic {indexing_maps = [#[[PARTS]], {{.*}} ins(%arg0 : tensor<200006x32xf32>)
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[REST]], {{.*}} ins(%arg0 : tensor<200006x32xf32>)
// CHECK: %[[P:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[X]]
// CHECK: %[[T:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[Y]] {{.*}} outs(%[[P]]
// CHECK: ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
// CHECK: %[[LEFT:.*]] = arith.cmpi sge, %{{.*}}, %c186
// CHECK: %[[ROW:.*]] = arith.select %[[LEFT]], %[[IN]], %cst : f32
// CHECK: arith.addf %[[OUT]], %[[ROW]] : f32
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[T]] : tensor<256x32xf32>)
func.func @columns(%x: tensor<200006x32xf32>) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<32xf32>) -> tensor<32xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<200006x32xf32>) outs(%f : tensor<32xf32>) dimensions = [0]
  return %s : tensor<32xf32>
}
