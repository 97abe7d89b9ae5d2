// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// Softmax of one long row: each part sums around its own maximum; the total weighs the parts' sums.
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK-LABEL: func.func @softmax
// CHECK-DAG: %[[NINF:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} output_shape [256, 4096]
// CHECK: %[[MP:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[X]] : tensor<256x4096xf32>) {{.*}} attrs = {mlopt.op = "amax"}
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[MP]] : tensor<256xf32>) {{.*}} attrs = {mlopt.op = "amax"}
// CHECK: %[[OWN:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[MP]] : tensor<256xf32>)
// CHECK: %[[ALL:.*]] = arith.cmpf oeq, %{{.*}}, %[[NINF]]
// CHECK: arith.select %[[ALL]], %{{.*}}, %{{.*}}
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[OWN]] : tensor<256x4096xf32>, tensor<256xf32>) {{.*}} attrs = {mlopt.op = "sub"}
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[D]] : tensor<256x4096xf32>) {{.*}} attrs = {mlopt.op = "exp"}
// CHECK: %[[SP:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[E]] : tensor<256x4096xf32>) {{.*}} attrs = {mlopt.op = "sum"}
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%[[MP]], %[[M]] : tensor<256xf32>, tensor<f32>) {{.*}} attrs = {mlopt.op = "sub"}
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[SP]], %[[A]] : tensor<256xf32>, tensor<256xf32>)
// CHECK: %[[W:.*]] = math.exp
// CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %[[W]]
// CHECK: arith.addf %[[P]]
func.func @softmax(%x: tensor<1048576xf32>) -> (tensor<1048576xf32>, tensor<f32>) {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<1048576xf32>
  %low = linalg.fill ins(%ninf : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %m = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<1048576xf32>) outs(%low : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<1048576xf32>, tensor<f32>) outs(%e : tensor<1048576xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.subf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<1048576xf32>
  %p = linalg.exp ins(%d : tensor<1048576xf32>) outs(%e : tensor<1048576xf32>) -> tensor<1048576xf32>
  %none = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %t = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%p : tensor<1048576xf32>) outs(%none : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %p, %t : tensor<1048576xf32>, tensor<f32>
}

// -----

// The first place of the least number, NaN first: each part looks for its own, then for the parts that hold it.
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK-LABEL: func.func @place
// CHECK-DAG: %[[N:.*]] = arith.constant 1048576 : i64
// CHECK-DAG: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} output_shape [256, 4096]
// CHECK: %[[MP:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<256x4096xf32>) {{.*}} attrs = {mlopt.op = "amin"}
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[MP]] : tensor<256xf32>) {{.*}} attrs = {mlopt.op = "amin"}
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[MP]] : tensor<256x4096xf32>, tensor<256xf32>)
// CHECK: arith.cmpf une
// CHECK: %[[IP:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<256x4096xi64>) {{.*}} attrs = {mlopt.op = "amin"}
// CHECK: linalg.generic {{.*}} ins(%[[MP]], %[[M]] : tensor<256xf32>, tensor<f32>)
// CHECK: arith.cmpf une
// CHECK: linalg.generic {{.*}} ins(%[[MP]], %[[MP]] : tensor<256xf32>, tensor<256xf32>)
// CHECK: %[[L:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[IP]] : tensor<256xi1>, tensor<256xi64>)
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[N]]
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[L]] : tensor<256xi64>)
func.func @place(%x: tensor<1048576xf32>, %at: tensor<1048576xi64>) -> tensor<i64> {
  %inf = arith.constant 0x7F800000 : f32
  %false = arith.constant false
  %n = arith.constant 1048576 : i64
  %most = arith.constant 9223372036854775807 : i64
  %s = tensor.empty() : tensor<f32>
  %c = tensor.empty() : tensor<1048576xi1>
  %high = linalg.fill ins(%inf : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %m = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<1048576xf32>) outs(%high : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.minimumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %other = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<1048576xf32>, tensor<f32>) outs(%c : tensor<1048576xi1>) {
  ^bb0(%in: f32, %b: f32, %out: i1):
    %0 = arith.cmpf une, %in, %b : f32
    linalg.yield %0 : i1
  } -> tensor<1048576xi1>
  %same = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%other : tensor<1048576xi1>) outs(%c : tensor<1048576xi1>) {
  ^bb0(%in: i1, %out: i1):
    %0 = arith.cmpi eq, %in, %false : i1
    linalg.yield %0 : i1
  } -> tensor<1048576xi1>
  %nan = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %x : tensor<1048576xf32>, tensor<1048576xf32>) outs(%c : tensor<1048576xi1>) {
  ^bb0(%in: f32, %b: f32, %out: i1):
    %0 = arith.cmpf une, %in, %b : f32
    linalg.yield %0 : i1
  } -> tensor<1048576xi1>
  %hit = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%same, %nan : tensor<1048576xi1>, tensor<1048576xi1>) outs(%c : tensor<1048576xi1>) {
  ^bb0(%in: i1, %b: i1, %out: i1):
    %0 = arith.ori %in, %b : i1
    linalg.yield %0 : i1
  } -> tensor<1048576xi1>
  %e = tensor.empty() : tensor<1048576xi64>
  %w = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%hit, %at : tensor<1048576xi1>, tensor<1048576xi64>) outs(%e : tensor<1048576xi64>) {
  ^bb0(%in: i1, %b: i64, %out: i64):
    %0 = arith.select %in, %b, %n : i64
    linalg.yield %0 : i64
  } -> tensor<1048576xi64>
  %o = tensor.empty() : tensor<i64>
  %f = linalg.fill ins(%most : i64) outs(%o : tensor<i64>) -> tensor<i64>
  %p = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%w : tensor<1048576xi64>) outs(%f : tensor<i64>) {
  ^bb0(%in: i64, %out: i64):
    %0 = arith.minsi %in, %out : i64
    linalg.yield %0 : i64
  } -> tensor<i64>
  return %p : tensor<i64>
}

// -----

// A prime number of elements: both of a part's sums, of its own elements and of its share of the last ones, are
// around the part's one maximum.
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK-LABEL: func.func @prime
// CHECK: %[[M1:.*]] = linalg.generic {{.*}} attrs = {mlopt.op = "amax"}
// CHECK: %[[MP:.*]] = linalg.generic {{.*}} outs(%[[M1]] : tensor<{{[0-9]+}}xf32>) attrs = {mlopt.op = "amax"}
// CHECK: %[[OWN:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[MP]] :
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[OWN]] : {{.*}} attrs = {mlopt.op = "sub"}
// CHECK: %[[S1:.*]] = linalg.generic {{.*}} attrs = {mlopt.op = "sum"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[OWN]] : {{.*}} attrs = {mlopt.op = "sub"}
// CHECK: linalg.generic {{.*}} outs(%[[S1]] :
func.func @prime(%x: tensor<100003xf32>) -> tensor<f32> {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<100003xf32>
  %low = linalg.fill ins(%ninf : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %m = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<100003xf32>) outs(%low : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<100003xf32>, tensor<f32>) outs(%e : tensor<100003xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.subf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<100003xf32>
  %p = linalg.exp ins(%d : tensor<100003xf32>) outs(%e : tensor<100003xf32>) -> tensor<100003xf32>
  %none = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %t = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%p : tensor<100003xf32>) outs(%none : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %t : tensor<f32>
}
