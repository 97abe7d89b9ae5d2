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

// Not so: sums of what is subtracted the other way round, around a minimum, and of half floats; places of what is
// less than the maximum.
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK-LABEL: func.func @others
// CHECK-NOT: tensor<64x1024xf32>, tensor<64xf32>
// CHECK-NOT: tensor<64x1024xf16>, tensor<64xf16>
// CHECK: return
func.func @others(%x: tensor<65536xf32>, %h: tensor<65536xf16>, %at: tensor<65536xi64>)
    -> (tensor<f32>, tensor<f32>, tensor<f16>, tensor<i64>) {
  %ninf = arith.constant 0xFF800000 : f32
  %inf = arith.constant 0x7F800000 : f32
  %zero = arith.constant 0.0 : f32
  %hninf = arith.constant 0xFC00 : f16
  %hzero = arith.constant 0.0 : f16
  %n = arith.constant 65536 : i64
  %s = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<65536xf32>
  %low = linalg.fill ins(%ninf : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %high = linalg.fill ins(%inf : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %none = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<65536xf32>) outs(%low : tensor<f32>) dimensions = [0]
  %min = linalg.reduce { arith.minimumf } ins(%x : tensor<65536xf32>) outs(%high : tensor<f32>) dimensions = [0]
  %d = linalg.generic {indexing_maps = [#none, #id, #id], iterator_types = ["parallel"]}
      ins(%max, %x : tensor<f32>, tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.subf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %p = linalg.exp ins(%d : tensor<65536xf32>) outs(%e : tensor<65536xf32>) -> tensor<65536xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<65536xf32>) outs(%none : tensor<f32>) dimensions = [0]
  %d1 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %min : tensor<65536xf32>, tensor<f32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.subf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %p1 = linalg.exp ins(%d1 : tensor<65536xf32>) outs(%e : tensor<65536xf32>) -> tensor<65536xf32>
  %t1 = linalg.reduce { arith.addf } ins(%p1 : tensor<65536xf32>) outs(%none : tensor<f32>) dimensions = [0]
  %hs = tensor.empty() : tensor<f16>
  %he = tensor.empty() : tensor<65536xf16>
  %hlow = linalg.fill ins(%hninf : f16) outs(%hs : tensor<f16>) -> tensor<f16>
  %hnone = linalg.fill ins(%hzero : f16) outs(%hs : tensor<f16>) -> tensor<f16>
  %hmax = linalg.reduce { arith.maximumf } ins(%h : tensor<65536xf16>) outs(%hlow : tensor<f16>) dimensions = [0]
  %hd = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%h, %hmax : tensor<65536xf16>, tensor<f16>) outs(%he : tensor<65536xf16>) {
  ^bb0(%in: f16, %b: f16, %out: f16):
    %0 = arith.subf %in, %b : f16
    linalg.yield %0 : f16
  } -> tensor<65536xf16>
  %hp = linalg.exp ins(%hd : tensor<65536xf16>) outs(%he : tensor<65536xf16>) -> tensor<65536xf16>
  %ht = linalg.reduce { arith.addf } ins(%hp : tensor<65536xf16>) outs(%hnone : tensor<f16>) dimensions = [0]
  %c = tensor.empty() : tensor<65536xi1>
  %less = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %max : tensor<65536xf32>, tensor<f32>) outs(%c : tensor<65536xi1>) {
  ^bb0(%in: f32, %b: f32, %out: i1):
    %0 = arith.cmpf olt, %in, %b : f32
    linalg.yield %0 : i1
  } -> tensor<65536xi1>
  %we = tensor.empty() : tensor<65536xi64>
  %w = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%less, %at : tensor<65536xi1>, tensor<65536xi64>) outs(%we : tensor<65536xi64>) {
  ^bb0(%in: i1, %b: i64, %out: i64):
    %0 = arith.select %in, %b, %n : i64
    linalg.yield %0 : i64
  } -> tensor<65536xi64>
  %o = tensor.empty() : tensor<i64>
  %f = linalg.fill ins(%n : i64) outs(%o : tensor<i64>) -> tensor<i64>
  %r = linalg.reduce { arith.minsi } ins(%w : tensor<65536xi64>) outs(%f : tensor<i64>) dimensions = [0]
  return %t, %t1, %ht, %r : tensor<f32>, tensor<f32>, tensor<f16>, tensor<i64>
}
