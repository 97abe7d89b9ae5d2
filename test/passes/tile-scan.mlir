// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-tile,cse)' | FileCheck %s

// What is computed before a scan and behind it is in its kernel; a task has whole rows.
// CHECK-LABEL: @rows
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK: scf.forall (%[[I:.*]]) = (0) to (100) step (16)
// CHECK:   %[[V:.*]] = vector.transfer_read %{{.*}}[%[[I]], %c0{{.*}}], {{.*}} : tensor<100x33xf16>, vector<16x33xf16>
// CHECK:   %[[W:.*]] = arith.extf %[[V]] : vector<16x33xf16> to vector<16x33xf32>
// CHECK:   %[[S:.*]], %{{.*}} = vector.scan <add>, %[[W]], %[[ZERO]] {inclusive = true, reduction_dim = 1 : i64} : vector<16x33xf32>, vector<16xf32>
// CHECK:   %[[T:.*]] = arith.truncf %[[S]] : vector<16x33xf32> to vector<16x33xf16>
// CHECK:   vector.transfer_write %[[T]]
#id = affine_map<(i, j) -> (i, j)>
func.func private @rows(%x: tensor<100x33xf16>, %out: tensor<100x33xf16>) -> tensor<100x33xf16> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 16, 0>}} {
  %e = tensor.empty() : tensor<100x33xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<100x33xf16>) outs(%e : tensor<100x33xf32>) {
  ^bb0(%a: f16, %o: f32):
    %y = arith.extf %a : f16 to f32
    linalg.yield %y : f32
  } -> tensor<100x33xf32>
  %s = "mlopt.scan"(%w, %e) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<100x33xf32>, tensor<100x33xf32>) -> tensor<100x33xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<100x33xf32>) outs(%out : tensor<100x33xf16>) {
  ^bb0(%a: f32, %o: f16):
    %y = arith.truncf %a : f32 to f16
    linalg.yield %y : f16
  } -> tensor<100x33xf16>
  return %r : tensor<100x33xf16>
}

// -----

// Sums of what the elements are the logarithms of.
// CHECK-LABEL: @logarithms
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : vector<8xf32>
// CHECK: vector.scan <add>, %{{.*}}, %[[NONE]] {inclusive = true, mlopt.by_logarithms, reduction_dim = 0 : i64} : vector<33x8xf32>, vector<8xf32>
#id = affine_map<(i, j) -> (i, j)>
func.func private @logarithms(%x: tensor<33x100xf32>, %out: tensor<33x100xf32>) -> tensor<33x100xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 0, 8>}} {
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], kind = "logaddexp"} : (tensor<33x100xf32>, tensor<33x100xf32>) -> tensor<33x100xf32>
  return %r : tensor<33x100xf32>
}

// -----

// Columns, of products of integers.
// CHECK-LABEL: @columns
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1> : vector<8xi64>
// CHECK: scf.forall (%[[J:.*]]) = (0) to (100) step (8)
// CHECK:   vector.scan <mul>, %{{.*}}, %[[ONE]] {inclusive = true, reduction_dim = 0 : i64} : vector<33x8xi64>, vector<8xi64>
#id = affine_map<(i, j) -> (i, j)>
func.func private @columns(%x: tensor<33x100xi64>, %out: tensor<33x100xi64>) -> tensor<33x100xi64> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 0, 8>}} {
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], kind = "mul"} : (tensor<33x100xi64>, tensor<33x100xi64>) -> tensor<33x100xi64>
  return %r : tensor<33x100xi64>
}

// -----

// A dim of one element beside a row that is all there is.
// CHECK-LABEL: @alone
// CHECK:   %[[V:.*]] = vector.transfer_read {{.*}} vector<33xf32>
// CHECK:   %[[ROW:.*]] = vector.shape_cast %[[V]] : vector<33xf32> to vector<1x33xf32>
// CHECK:   %[[S:.*]], %{{.*}} = vector.scan <add>, %[[ROW]], %{{.*}} {inclusive = true, reduction_dim = 1 : i64} : vector<1x33xf32>, vector<1xf32>
// CHECK:   %[[T:.*]] = vector.shape_cast %[[S]] : vector<1x33xf32> to vector<33xf32>
// CHECK:   vector.transfer_write %[[T]]
func.func private @alone(%x: tensor<33xf32>, %out: tensor<33xf32>) -> tensor<33xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 0>}} {
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = [#linalg.iterator_type<reduction>], kind = "add"} : (tensor<33xf32>, tensor<33xf32>) -> tensor<33xf32>
  return %r : tensor<33xf32>
}

// -----

// Of a row of any length: steps carry its total on, the one beyond the last whole one too.
// CHECK-LABEL: @any_length
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<1xf32>
// CHECK:   %[[IN:.*]]:2 = scf.for %[[J:.*]] = %c0{{.*}} to %[[WHOLE:.*]] step %c32{{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[BEFORE:.*]] = %[[ZERO]])
// CHECK:     %[[V:.*]] = vector.transfer_read %{{.*}}[%{{.*}}, %[[J]]], {{.*}} {in_bounds = [true, true]}
// CHECK:     %[[S:.*]], %[[T:.*]] = vector.scan <add>, %[[V]], %[[BEFORE]]
// CHECK:     %[[R:.*]] = vector.transfer_write %[[S]], %[[O]]
// CHECK:     scf.yield %[[R]], %[[T]]
// CHECK:   scf.for %{{.*}} = %[[WHOLE]] to %{{.*}} step %c32{{.*}} iter_args(%{{.*}} = %[[IN]]#0, %[[BEFORE:.*]] = %[[IN]]#1)
// CHECK:     vector.transfer_read {{.*}} {in_bounds = [true, false]}
// CHECK:     vector.scan <add>, %{{.*}}, %[[BEFORE]]
#id = affine_map<(i, j) -> (i, j)>
func.func private @any_length(%x: tensor<4x?xf32>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 32>, warps = array<i64: 4>}} {
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [#id, #id], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = "add"} : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}
