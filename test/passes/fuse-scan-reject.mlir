// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' | FileCheck %s

// Columns of what has been scanned along rows: one task would own all of it.
// CHECK-LABEL: @both_ways
// CHECK: "mlopt.scan"(%arg0, {{.*}} mlopt.group = [[G:[0-9]+]] : i64
// CHECK-NOT: mlopt.group = [[G]] : i64
// CHECK: return
#id = affine_map<(i, j) -> (i, j)>
func.func @both_ways(%x: tensor<1000x512xf32>) -> tensor<1000x512xf32> {
  %e = tensor.empty() : tensor<1000x512xf32>
  %s = "mlopt.scan"(%x, %e) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<1000x512xf32>, tensor<1000x512xf32>) -> tensor<1000x512xf32>
  %r = "mlopt.scan"(%s, %e) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], kind = "add"} : (tensor<1000x512xf32>, tensor<1000x512xf32>) -> tensor<1000x512xf32>
  return %r : tensor<1000x512xf32>
}

// -----

// Totals that are only added up again: rows would have to be made in steps.
// CHECK-LABEL: @added_up
// CHECK: "mlopt.scan"(%arg0, {{.*}} mlopt.group = [[G:[0-9]+]] : i64
// CHECK-NOT: mlopt.group = [[G]] : i64
// CHECK: return
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @added_up(%x: tensor<1000x512xf32>) -> tensor<1000xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1000x512xf32>
  %s = "mlopt.scan"(%x, %e) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<1000x512xf32>, tensor<1000x512xf32>) -> tensor<1000x512xf32>
  %t = tensor.empty() : tensor<1000xf32>
  %f = linalg.fill ins(%zero : f32) outs(%t : tensor<1000xf32>) -> tensor<1000xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%s : tensor<1000x512xf32>) outs(%f : tensor<1000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %a : f32
    %y = arith.addf %p, %b : f32
    linalg.yield %y : f32
  } -> tensor<1000xf32>
  return %r : tensor<1000xf32>
}
