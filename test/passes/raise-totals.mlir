// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise{machine=a100},canonicalize,cse)' --split-input-file | FileCheck %s --check-prefix=GPU

// A vector's maximum: 64 parts, on a GPU as many as are of up to 4096. What makes the elements is divided with it, the numbers of its loops too.
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK-DAG: #[[PARTS:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @vector
// GPU-LABEL: func.func @vector
// GPU: tensor.expand_shape %arg0 {{.*}} output_shape [256, 4096]
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} output_shape [64, 16384]
// CHECK: %[[N:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[X]] : tensor<64x16384xf32>)
// CHECK: %[[P:.*]] = linalg.index 0
// CHECK: %[[W:.*]] = linalg.index 1
// CHECK: %[[S:.*]] = arith.muli %[[P]], %c16384
// CHECK: arith.addi %[[S]], %[[W]]
// CHECK: %[[M:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[PARTS]]], iterator_types = ["parallel", "reduction"]} ins(%[[N]] : tensor<64x16384xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[M]] : tensor<64xf32>)
func.func @vector(%x: tensor<1048576xf32>) -> tensor<f32> {
  %ninf = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1048576xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<1048576xf32>) outs(%e : tensor<1048576xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    %2 = arith.sitofp %1 : i64 to f32
    %3 = arith.mulf %2, %in : f32
    linalg.yield %3 : f32
  } -> tensor<1048576xf32>
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%ninf : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %m = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%n : tensor<1048576xf32>) outs(%f : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %m : tensor<f32>
}

// -----

// Sums of columns: 32 parts of 625 rows, which are read along memory.
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[PARTS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK: mlopt.rewrites = {"mlopt-raise" = [{bytes = -131072 : i64, {{.*}}ops = "{{.*}}: sum in 32 parts", reason = "", seconds = {{[0-9]}}
// CHECK-LABEL: func.func @columns
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} output_shape [32, 625, 512]
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#[[IN]], #[[PARTS]]], iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[X]] : tensor<32x625x512xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[P]] : tensor<32x512xf32>)
func.func @columns(%x: tensor<20000x512xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<512xf32>) -> tensor<512xf32>
  %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<20000x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  return %s : tensor<512xf32>
}

// -----

// Long rows, and the outer loops of a sum over several dims, which are parts already; the unknown number of images too.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#channel = affine_map<(d0, d1, d2) -> (d1)>
#first = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @rows
// CHECK: tensor.expand_shape %arg0 {{.*}} output_shape [4, 256, 4096]
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<4x256xf32>)
// CHECK: %[[C:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg1 : tensor<?x4x50176xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[C]] : tensor<?x4xf32>)
func.func @rows(%x: tensor<4x1048576xf32>, %y: tensor<?x4x50176xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#all, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x1048576xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [#id, #channel], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%y : tensor<?x4x50176xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %s, %t : tensor<4xf32>, tensor<4xf32>
}

// -----

// Sums of many rows: few parts of several rows, of a prime number of rows, too, where one row counts twice as that
// takes the fewest; on a GPU each row is a part.
// CHECK-DAG: #[[MAIN:.*]] = affine_map<(d0, d1, d2) -> (d0 * 49 + d1, d2)>
// CHECK-DAG: #[[REST:.*]] = affine_map<(d0, d1, d2) -> (d0 + d1 + 4017, d2)>
// CHECK-LABEL: func.func @rows_of_totals
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} output_shape [64, 64, 256]
// CHECK: %[[P:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "reduction"]} ins(%[[X]] : tensor<64x64x256xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[P]] : tensor<64xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[MAIN]], {{.*}} outs(%{{.*}} : tensor<82x49x257xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[REST]], {{.*}} outs(%{{.*}} : tensor<82x1x257xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%{{.*}} : tensor<82xf32>)
// GPU-LABEL: func.func @rows_of_totals
// GPU: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<4096x256xf32>) outs(%{{.*}} : tensor<4096xf32>)
// GPU: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%arg1 : tensor<4099x257xf32>) outs(%{{.*}} : tensor<4099xf32>)
func.func @rows_of_totals(%x: tensor<4096x256xf32>, %y: tensor<4099x257xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<4096x256xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  %t = linalg.reduce { arith.addf } ins(%y : tensor<4099x257xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  return %s, %t : tensor<f32>, tensor<f32>
}
