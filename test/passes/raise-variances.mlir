// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// A variance of columns, in 32 parts: each around its own mean, which is what its task has summed; the last sum adds
// how far the parts' means are from that of all.
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#one = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @columns
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<32x625x512xf32>) {{.*}}{mlopt.op = "sum"}
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<32x512xf32>) {{.*}}{mlopt.op = "sum"}
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<512xf32>) {{.*}}{mlopt.op = "div"}
// CHECK: %[[MEANS:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<32x512xf32>) {{.*}}{mlopt.op = "div"}
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[MEANS]] : tensor<32x625x512xf32>, tensor<32x512xf32>)
// CHECK: %[[D2:.*]] = linalg.generic {{.*}} ins(%[[D]] : tensor<32x625x512xf32>)
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%[[D2]] : tensor<32x625x512xf32>) {{.*}}{mlopt.op = "sum"}
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[Q]], %[[S]], %[[MEAN]] :
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[M:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK: %[[OWN:.*]] = arith.divf %[[B]], %[[W:.*]] : f32
// CHECK: %[[OFF:.*]] = arith.subf %[[OWN]], %[[M]]
// CHECK: %[[OFF2:.*]] = arith.mulf %[[OFF]], %[[OFF]]
// CHECK: %[[FAR:.*]] = arith.mulf %[[OFF2]], %[[W]]
// CHECK: %[[ONE:.*]] = arith.addf %[[A]], %[[FAR]]
// CHECK: arith.addf %[[ONE]], %[[ACC]]
func.func @columns(%x: tensor<20000x512xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 20000.0 : f32
  %o = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<512xf32>) -> tensor<512xf32>
  %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<20000x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  %m = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%s : tensor<512xf32>) outs(%o : tensor<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.divf %in, %n : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  %e = tensor.empty() : tensor<20000x512xf32>
  %d = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<20000x512xf32>, tensor<512xf32>) outs(%e : tensor<20000x512xf32>) {
  ^bb0(%in: f32, %mean: f32, %out: f32):
    %0 = arith.subf %in, %mean : f32
    linalg.yield %0 : f32
  } -> tensor<20000x512xf32>
  %d2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%d, %d : tensor<20000x512xf32>, tensor<20000x512xf32>) outs(%e : tensor<20000x512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<20000x512xf32>
  %q = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%d2 : tensor<20000x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  return %q : tensor<512xf32>
}

// -----

// A prime number of elements: 65 parts go on with 3 more each, of which the first 32 are in parts already. How many a
// part has follows from which it is.
// CHECK-LABEL: func.func @left_over
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<100003xf32>) outs(%{{.*}} : tensor<65x1536xf32>) {{.*}}{mlopt.op = "slice"}
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<100003xf32>) outs(%{{.*}} : tensor<65x3xf32>) {{.*}}{mlopt.op = "slice"}
// CHECK: %[[S0:.*]] = linalg.generic {{.*}} ins(%[[A]] : {{.*}}{mlopt.op = "sum"}
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[B]] : {{.*}} outs(%[[S0]] : {{.*}}{mlopt.op = "sum"}
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[S]] : {{.*}}{mlopt.op = "sum"}
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<f32>) {{.*}}{mlopt.op = "div"}
// CHECK: %[[MEANS:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<65xf32>)
// CHECK: %[[PART:.*]] = linalg.index 0
// CHECK: %[[NEXT:.*]] = arith.addi %[[PART]], %c1
// CHECK: %[[END:.*]] = arith.muli %[[NEXT]], %c3
// CHECK: %[[REST:.*]] = arith.subi %[[END]], %c32
// CHECK: %[[SOME:.*]] = arith.maxsi %[[REST]], %c0
// CHECK: %[[OWN:.*]] = arith.minsi %[[SOME]], %c3
// CHECK: arith.addi %[[OWN]], %c1536
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[MEANS]] : tensor<65x1536xf32>, tensor<65xf32>) {{.*}}{mlopt.op = "sub"}
// CHECK: %[[Q0:.*]] = linalg.generic {{.*}}{mlopt.op = "sum"}
// CHECK: linalg.generic {{.*}} ins(%[[B]], %[[MEANS]] : tensor<65x3xf32>, tensor<65xf32>) {{.*}}{mlopt.op = "sub"}
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} outs(%[[Q0]] : {{.*}}{mlopt.op = "sum"}
// CHECK: linalg.generic {{.*}} ins(%[[Q]], %[[S]], %[[MEAN]] : tensor<65xf32>, tensor<65xf32>, tensor<f32>) {{.*}}{mlopt.op = "sum"}
#id = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
func.func @left_over(%x: tensor<100003xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 100003.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]}
      ins(%x : tensor<100003xf32>) outs(%f : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %m = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%s : tensor<f32>) outs(%o : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.divf %in, %n : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %e = tensor.empty() : tensor<100003xf32>
  %d = linalg.generic {indexing_maps = [#id, #s, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<100003xf32>, tensor<f32>) outs(%e : tensor<100003xf32>) {
  ^bb0(%in: f32, %mean: f32, %out: f32):
    %0 = arith.subf %in, %mean : f32
    linalg.yield %0 : f32
  } -> tensor<100003xf32>
  %d2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%d, %d : tensor<100003xf32>, tensor<100003xf32>) outs(%e : tensor<100003xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<100003xf32>
  %q = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]}
      ins(%d2 : tensor<100003xf32>) outs(%f : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %q : tensor<f32>
}
