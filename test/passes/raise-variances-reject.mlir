// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// Squares around something else than the mean (here: twice the mean) are summed as they are.
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#scalar = affine_map<() -> ()>
// CHECK-LABEL: func.func @around_another
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%{{[0-9]+}} : tensor<64xf32>)
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<f32>)
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<64x1024xf32>, tensor<f32>)
// CHECK: %[[D2:.*]] = linalg.generic {{.*}} ins(%[[D]]
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%[[D2]] : tensor<64x1024xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[Q]] : tensor<64xf32>)
func.func @around_another(%x: tensor<65536xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 32768.0 : f32
  %o = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<65536xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<65536xf32>) outs(%f : tensor<f32>) dimensions = [0]
  %m = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%s : tensor<f32>) outs(%o : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.divf %a, %n : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<65536xf32>, tensor<f32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %d2 = arith.mulf %d, %d : tensor<65536xf32>
  %q = linalg.reduce { arith.addf } ins(%d2 : tensor<65536xf32>) outs(%f : tensor<f32>) dimensions = [0]
  return %q : tensor<f32>
}

// -----

// Sums that start from another number than zero are no parts of the mean.
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
#scalar = affine_map<() -> ()>
// CHECK-LABEL: func.func @starts_elsewhere
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<4x8xf32>)
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<4xf32>)
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<f32>)
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%arg0, %[[M]] : tensor<4x8xf32>, tensor<f32>)
func.func @starts_elsewhere(%x: tensor<4x8xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %five = arith.constant 5.0 : f32
  %n = arith.constant 32.0 : f32
  %e4 = tensor.empty() : tensor<4xf32>
  %f5 = linalg.fill ins(%five : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%f5 : tensor<4xf32>) dimensions = [1]
  %t = linalg.reduce { arith.addf } ins(%s : tensor<4xf32>) outs(%z : tensor<f32>) dimensions = [0]
  %m = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%t : tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.divf %a, %n : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %e48 = tensor.empty() : tensor<4x8xf32>
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<4x8xf32>, tensor<f32>) outs(%e48 : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %q = arith.mulf %d, %d : tensor<4x8xf32>
  %p = linalg.reduce { arith.addf } ins(%q : tensor<4x8xf32>) outs(%z4 : tensor<4xf32>) dimensions = [1]
  %v = linalg.reduce { arith.addf } ins(%p : tensor<4xf32>) outs(%z : tensor<f32>) dimensions = [0]
  return %v : tensor<f32>
}

// -----

// The mean of something else; a product of two differences that are not the same; and half floats, whose sums of
// parts are rounded.
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#scalar = affine_map<() -> ()>
// CHECK-LABEL: func.func @of_others
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<f32>) {{.*}}{mlopt.op = "div"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<64x1024xf32>, tensor<f32>) {{.*}}{mlopt.op = "sub"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<64x1024xf32>, tensor<f32>) {{.*}}{mlopt.op = "sub"}
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<f16>) {{.*}}{mlopt.op = "div"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[H]] : tensor<64x512xf16>, tensor<f16>) {{.*}}{mlopt.op = "sub"}
func.func @of_others(%x: tensor<65536xf32>, %y: tensor<65536xf32>, %h: tensor<32768xf16>) -> (tensor<f32>, tensor<f32>, tensor<f16>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 65536.0 : f32
  %o = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<65536xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<65536xf32>) outs(%f : tensor<f32>) dimensions = [0]
  %m = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%s : tensor<f32>) outs(%o : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.divf %a, %n : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%y, %m : tensor<65536xf32>, tensor<f32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %m0: f32, %acc: f32):
    %0 = arith.subf %a, %m0 : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %d2 = arith.mulf %d, %d : tensor<65536xf32>
  %q = linalg.reduce { arith.addf } ins(%d2 : tensor<65536xf32>) outs(%f : tensor<f32>) dimensions = [0]
  %c = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<65536xf32>, tensor<f32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %m0: f32, %acc: f32):
    %0 = arith.subf %a, %m0 : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %cd = arith.mulf %c, %d : tensor<65536xf32>
  %r = linalg.reduce { arith.addf } ins(%cd : tensor<65536xf32>) outs(%f : tensor<f32>) dimensions = [0]
  %hzero = arith.constant 0.0 : f16
  %hn = arith.constant 32768.0 : f16
  %ho = tensor.empty() : tensor<f16>
  %he = tensor.empty() : tensor<32768xf16>
  %hf = linalg.fill ins(%hzero : f16) outs(%ho : tensor<f16>) -> tensor<f16>
  %hs = linalg.reduce { arith.addf } ins(%h : tensor<32768xf16>) outs(%hf : tensor<f16>) dimensions = [0]
  %hm = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []} ins(%hs : tensor<f16>) outs(%ho : tensor<f16>) {
  ^bb0(%a: f16, %b2: f16):
    %0 = arith.divf %a, %hn : f16
    linalg.yield %0 : f16
  } -> tensor<f16>
  %hd = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%h, %hm : tensor<32768xf16>, tensor<f16>) outs(%he : tensor<32768xf16>) {
  ^bb0(%a: f16, %m0: f16, %acc: f16):
    %0 = arith.subf %a, %m0 : f16
    linalg.yield %0 : f16
  } -> tensor<32768xf16>
  %hd2 = arith.mulf %hd, %hd : tensor<32768xf16>
  %hq = linalg.reduce { arith.addf } ins(%hd2 : tensor<32768xf16>) outs(%hf : tensor<f16>) dimensions = [0]
  return %q, %r, %hq : tensor<f32>, tensor<f32>, tensor<f16>
}

// -----

// Of a prime number of elements, by another number than that: no mean.
// CHECK-LABEL: func.func @by_another_number
// CHECK-NOT: linalg.generic {{.*}} ins(%{{.*}} : tensor<65xf32>) outs(%{{.*}} : tensor<65xf32>)
// CHECK: return
#id = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
func.func @by_another_number(%x: tensor<100003xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 100002.0 : f32
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
