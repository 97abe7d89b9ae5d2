// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// The maximum less each number, and not the other way round: exponentials that grow are weighed by no part's maximum.
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @turned_around
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%{{.*}} : tensor<64xf32>) outs(%{{.*}} : tensor<f32>) attrs = {mlopt.op = "reduce"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<64x1024xf32>, tensor<f32>) {{.*}}{mlopt.op = "sub"}
func.func @turned_around(%x: tensor<65536xf32>) -> tensor<f32> {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<65536xf32>
  %low = linalg.fill ins(%least : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %none = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %m = linalg.reduce { arith.maximumf } ins(%x : tensor<65536xf32>) outs(%low : tensor<f32>) dimensions = [0]
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<65536xf32>, tensor<f32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %0 = arith.subf %q, %p : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %p = math.exp %d : tensor<65536xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<65536xf32>) outs(%none : tensor<f32>) dimensions = [0]
  return %t : tensor<f32>
}

// -----

// Around a minimum the exponentials may be infinite, and a part's own would be others.
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @around_a_minimum
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%{{.*}} : tensor<64xf32>) outs(%{{.*}} : tensor<f32>) attrs = {mlopt.op = "reduce"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<64x1024xf32>, tensor<f32>) {{.*}}{mlopt.op = "sub"}
func.func @around_a_minimum(%x: tensor<65536xf32>) -> tensor<f32> {
  %most = arith.constant 0x7F800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<65536xf32>
  %high = linalg.fill ins(%most : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %none = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %m = linalg.reduce { arith.minimumf } ins(%x : tensor<65536xf32>) outs(%high : tensor<f32>) dimensions = [0]
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<65536xf32>, tensor<f32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %p = math.exp %d : tensor<65536xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<65536xf32>) outs(%none : tensor<f32>) dimensions = [0]
  return %t : tensor<f32>
}

// -----

// The maximum of something else.
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @of_another
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%{{.*}} : tensor<64xf32>) outs(%{{.*}} : tensor<f32>) attrs = {mlopt.op = "reduce"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<64x1024xf32>, tensor<f32>) {{.*}}{mlopt.op = "sub"}
func.func @of_another(%x: tensor<65536xf32>, %y: tensor<65536xf32>) -> tensor<f32> {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<65536xf32>
  %low = linalg.fill ins(%least : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %none = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %m = linalg.reduce { arith.maximumf } ins(%y : tensor<65536xf32>) outs(%low : tensor<f32>) dimensions = [0]
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<65536xf32>, tensor<f32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %0 = arith.subf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<65536xf32>
  %p = math.exp %d : tensor<65536xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<65536xf32>) outs(%none : tensor<f32>) dimensions = [0]
  return %t : tensor<f32>
}

// -----

// Half floats: what parts are weighed with would be rounded.
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @halves
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%{{.*}} : tensor<64xf16>) outs(%{{.*}} : tensor<f16>) attrs = {mlopt.op = "reduce"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<64x1024xf16>, tensor<f16>) {{.*}}{mlopt.op = "sub"}
func.func @halves(%x: tensor<65536xf16>) -> tensor<f16> {
  %least = arith.constant 0xFC00 : f16
  %zero = arith.constant 0.0 : f16
  %s = tensor.empty() : tensor<f16>
  %e = tensor.empty() : tensor<65536xf16>
  %low = linalg.fill ins(%least : f16) outs(%s : tensor<f16>) -> tensor<f16>
  %none = linalg.fill ins(%zero : f16) outs(%s : tensor<f16>) -> tensor<f16>
  %m = linalg.reduce { arith.maximumf } ins(%x : tensor<65536xf16>) outs(%low : tensor<f16>) dimensions = [0]
  %d = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<65536xf16>, tensor<f16>) outs(%e : tensor<65536xf16>) {
  ^bb0(%p: f16, %q: f16, %acc: f16):
    %0 = arith.subf %p, %q : f16
    linalg.yield %0 : f16
  } -> tensor<65536xf16>
  %p = math.exp %d : tensor<65536xf16>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<65536xf16>) outs(%none : tensor<f16>) dimensions = [0]
  return %t : tensor<f16>
}

// -----

// Places of what is less than the maximum: no part knows them without it.
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @less
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%{{.*}} : tensor<64xf32>) outs(%{{.*}} : tensor<f32>) attrs = {mlopt.op = "reduce"}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<64x1024xf32>, tensor<f32>)
// CHECK: arith.cmpf olt
func.func @less(%x: tensor<65536xf32>, %at: tensor<65536xi64>) -> tensor<i64> {
  %least = arith.constant 0xFF800000 : f32
  %n = arith.constant 65536 : i64
  %ns = arith.constant dense<65536> : tensor<65536xi64>
  %s = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<65536xf32>
  %o = tensor.empty() : tensor<i64>
  %low = linalg.fill ins(%least : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %m = linalg.reduce { arith.maximumf } ins(%x : tensor<65536xf32>) outs(%low : tensor<f32>) dimensions = [0]
  %c1 = tensor.empty() : tensor<65536xi1>
  %less = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]}
      ins(%x, %m : tensor<65536xf32>, tensor<f32>) outs(%c1 : tensor<65536xi1>) {
  ^bb0(%p: f32, %q: f32, %acc: i1):
    %0 = arith.cmpf olt, %p, %q : f32
    linalg.yield %0 : i1
  } -> tensor<65536xi1>
  %w = arith.select %less, %at, %ns : tensor<65536xi1>, tensor<65536xi64>
  %f = linalg.fill ins(%n : i64) outs(%o : tensor<i64>) -> tensor<i64>
  %r = linalg.reduce { arith.minsi } ins(%w : tensor<65536xi64>) outs(%f : tensor<i64>) dimensions = [0]
  return %r : tensor<i64>
}
