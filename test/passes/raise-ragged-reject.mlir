// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// How many elements there are is not known.
// CHECK-LABEL: func.func @unknown
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%arg0 : tensor<?xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK-NOT: linalg.generic
func.func @unknown(%x: tensor<?xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?xf32>) outs(%f : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}

// -----

// The parts and the rest would both start from the number.
// CHECK-LABEL: func.func @starts_elsewhere
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%arg0 : tensor<100003xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK-NOT: linalg.generic
func.func @starts_elsewhere(%x: tensor<100003xf32>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%one : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<100003xf32>) outs(%f : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}

// -----

// A prime number of elements that one task reduces soon enough.
// CHECK-LABEL: func.func @short
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%arg0 : tensor<16381xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK-NOT: linalg.generic
func.func @short(%x: tensor<16381xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<16381xf32>) outs(%f : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}

// -----

// Elements that are read from several places at once: a window, which has no parts.
#window = affine_map<(i, j) -> (i + j)>
#first = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @windows
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%arg0, %arg1 : tensor<100005xf32>, tensor<100003xf32>) outs(%{{.*}} : tensor<3xf32>)
// CHECK-NOT: linalg.generic
func.func @windows(%x: tensor<100005xf32>, %y: tensor<100003xf32>) -> tensor<3xf32> {
  %least = arith.constant 0xFF800000 : f32
  %o = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%least : f32) outs(%o : tensor<3xf32>) -> tensor<3xf32>
  %s = linalg.generic {indexing_maps = [#window, affine_map<(i, j) -> (i)>, #first], iterator_types = ["reduction", "parallel"]}
      ins(%x, %y : tensor<100005xf32>, tensor<100003xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.maximumf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<3xf32>
  return %s : tensor<3xf32>
}

// -----

// What is no element-wise work is not made again for the parts: they read of it where it lies.
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK: #[[PARTS:.*]] = affine_map<(d0, d1) -> (d0 * {{[0-9]+}} + d1)>
// CHECK-LABEL: func.func @rows_before
// CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<100003x7xf32>) outs(%{{.*}} : tensor<100003xf32>) {{.*}}{mlopt.op = "reduce"}
// CHECK-NOT: %arg0
// CHECK: linalg.generic {indexing_maps = [#[[PARTS]], {{.*}} ins(%[[ROWS]] : tensor<100003xf32>)
func.func @rows_before(%x: tensor<100003x7xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<100003xf32>
  %l = linalg.fill ins(%least : f32) outs(%e : tensor<100003xf32>) -> tensor<100003xf32>
  %m = linalg.reduce { arith.maximumf } ins(%x : tensor<100003x7xf32>) outs(%l : tensor<100003xf32>) dimensions = [1]
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%m : tensor<100003xf32>) outs(%f : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}

// -----

// Rows of a prime length, 33 of them: half as many parts as there might be, and nothing is left over.
// CHECK-LABEL: func.func @rows_are_enough
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<33x521xf32>) outs(%{{.*}} : tensor<33xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%{{.*}} : tensor<33xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK-NOT: linalg.generic
func.func @rows_are_enough(%x: tensor<33x521xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<33x521xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  return %s : tensor<f32>
}
