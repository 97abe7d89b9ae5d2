// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse,mlopt-verify)' --split-input-file | FileCheck %s

#i = affine_map<(k) -> (k)>
#rk = affine_map<(r, k) -> (r, k)>
#k_of_rk = affine_map<(r, k) -> (k)>
#truths = affine_map<(r, k, c) -> (r, k)>
#values = affine_map<(r, k, c) -> (k, c)>
#rkc = affine_map<(r, k, c) -> (r, k, c)>
#rc = affine_map<(r, k, c) -> (r, c)>

// What is no hit counts, too.
// CHECK-LABEL: @ones
// CHECK-NOT: vector.compressstore
// CHECK: vector.multi_reduction <add>, %{{.*}}, %{{.*}} [1]
func.func private @ones(%i: tensor<16xi64>, %v: tensor<16x32xf32>, %out: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {mlopt.kernel, mlopt.schedule = {listed = array<i64: 2>, min_blocks = array<i64: 4>, tile = array<i64: 4, 0, 8>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<8x16xi8>
  %ew = tensor.empty() : tensor<8x16x32xf32>
  %er = tensor.empty() : tensor<8x32xf32>
  %none = arith.constant 0 : i8
  %ei = tensor.empty() : tensor<16xi64>
  %checked = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%i : tensor<16xi64>) outs(%ei : tensor<16xi64>) {
  ^bb0(%x: i64, %o: i64):
    %rows = arith.constant 8 : i64
    %first = arith.constant 0 : i64
    %ok = arith.cmpi ult, %x, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %x, %first : i64
    linalg.yield %safe : i64
  } -> tensor<16xi64>
  %h = linalg.generic {indexing_maps = [#k_of_rk, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%checked : tensor<16xi64>) outs(%e8 : tensor<8x16xi8>) {
  ^bb0(%x: i64, %o: i8):
    %r = linalg.index 0 : index
    %row = arith.index_cast %r : index to i64
    %hit = arith.cmpi eq, %x, %row : i64
    %stored = arith.extui %hit : i1 to i8
    linalg.yield %stored : i8
  } -> tensor<8x16xi8>
  %w = linalg.generic {indexing_maps = [#truths, #values, #rkc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %v : tensor<8x16xi8>, tensor<16x32xf32>) outs(%ew : tensor<8x16x32xf32>) {
  ^bb0(%x: i8, %y: f32, %o: f32):
    %hit = arith.cmpi ne, %x, %none : i8
    %one = arith.constant 1.0 : f32
    %s = arith.select %hit, %y, %one : f32
    linalg.yield %s : f32
  } -> tensor<8x16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<8x32xf32>) -> tensor<8x32xf32>
  %t = linalg.generic {indexing_maps = [#rkc, #rc], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%w : tensor<8x16x32xf32>) outs(%f : tensor<8x32xf32>) {
  ^bb0(%x: f32, %a: f32):
    %s = arith.addf %a, %x : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %t : tensor<8x32xf32>
}

// -----

#i = affine_map<(k) -> (k)>
#rk = affine_map<(r, k) -> (r, k)>
#k_of_rk = affine_map<(r, k) -> (k)>
#truths = affine_map<(r, k, c) -> (r, k)>
#values = affine_map<(r, k, c) -> (k, c)>
#rkc = affine_map<(r, k, c) -> (r, k, c)>
#rc = affine_map<(r, k, c) -> (r, c)>

// Not those that name a row, but those that come before it.
// CHECK-LABEL: @below
// CHECK-NOT: vector.compressstore
// CHECK: vector.multi_reduction <add>, %{{.*}}, %{{.*}} [1]
func.func private @below(%i: tensor<16xi64>, %v: tensor<16x32xf32>, %out: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {mlopt.kernel, mlopt.schedule = {listed = array<i64: 2>, min_blocks = array<i64: 4>, tile = array<i64: 4, 0, 8>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<8x16xi8>
  %ew = tensor.empty() : tensor<8x16x32xf32>
  %er = tensor.empty() : tensor<8x32xf32>
  %none = arith.constant 0 : i8
  %ei = tensor.empty() : tensor<16xi64>
  %checked = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%i : tensor<16xi64>) outs(%ei : tensor<16xi64>) {
  ^bb0(%x: i64, %o: i64):
    %rows = arith.constant 8 : i64
    %first = arith.constant 0 : i64
    %ok = arith.cmpi ult, %x, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %x, %first : i64
    linalg.yield %safe : i64
  } -> tensor<16xi64>
  %h = linalg.generic {indexing_maps = [#k_of_rk, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%checked : tensor<16xi64>) outs(%e8 : tensor<8x16xi8>) {
  ^bb0(%x: i64, %o: i8):
    %r = linalg.index 0 : index
    %row = arith.index_cast %r : index to i64
    %hit = arith.cmpi slt, %x, %row : i64
    %stored = arith.extui %hit : i1 to i8
    linalg.yield %stored : i8
  } -> tensor<8x16xi8>
  %w = linalg.generic {indexing_maps = [#truths, #values, #rkc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %v : tensor<8x16xi8>, tensor<16x32xf32>) outs(%ew : tensor<8x16x32xf32>) {
  ^bb0(%x: i8, %y: f32, %o: f32):
    %hit = arith.cmpi ne, %x, %none : i8
    %s = arith.select %hit, %y, %zero : f32
    linalg.yield %s : f32
  } -> tensor<8x16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<8x32xf32>) -> tensor<8x32xf32>
  %t = linalg.generic {indexing_maps = [#rkc, #rc], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%w : tensor<8x16x32xf32>) outs(%f : tensor<8x32xf32>) {
  ^bb0(%x: f32, %a: f32):
    %s = arith.addf %a, %x : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %t : tensor<8x32xf32>
}

// -----

#i = affine_map<(k) -> (k)>
#rk = affine_map<(r, k) -> (r, k)>
#k_of_rk = affine_map<(r, k) -> (k)>
#truths = affine_map<(r, k, c) -> (r, k)>
#values = affine_map<(r, k, c) -> (k, c)>
#rkc = affine_map<(r, k, c) -> (r, k, c)>
#rc = affine_map<(r, k, c) -> (r, c)>

// An index of 8 bits.
// CHECK-LABEL: @narrow
// CHECK-NOT: vector.compressstore
// CHECK: vector.multi_reduction <add>, %{{.*}}, %{{.*}} [1]
func.func private @narrow(%i: tensor<16xi64>, %v: tensor<16x32xf32>, %out: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {mlopt.kernel, mlopt.schedule = {listed = array<i64: 2>, min_blocks = array<i64: 4>, tile = array<i64: 4, 0, 8>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<8x16xi8>
  %ew = tensor.empty() : tensor<8x16x32xf32>
  %er = tensor.empty() : tensor<8x32xf32>
  %none = arith.constant 0 : i8
  %ei = tensor.empty() : tensor<16xi64>
  %checked = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%i : tensor<16xi64>) outs(%ei : tensor<16xi64>) {
  ^bb0(%x: i64, %o: i64):
    %rows = arith.constant 8 : i64
    %first = arith.constant 0 : i64
    %ok = arith.cmpi ult, %x, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %x, %first : i64
    linalg.yield %safe : i64
  } -> tensor<16xi64>
  %h = linalg.generic {indexing_maps = [#k_of_rk, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%checked : tensor<16xi64>) outs(%e8 : tensor<8x16xi8>) {
  ^bb0(%x: i64, %o: i8):
    %r = linalg.index 0 : index
    %row = arith.index_cast %r : index to i64
    %a = arith.trunci %x : i64 to i8
    %b = arith.trunci %row : i64 to i8
    %hit = arith.cmpi eq, %a, %b : i8
    %stored = arith.extui %hit : i1 to i8
    linalg.yield %stored : i8
  } -> tensor<8x16xi8>
  %w = linalg.generic {indexing_maps = [#truths, #values, #rkc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %v : tensor<8x16xi8>, tensor<16x32xf32>) outs(%ew : tensor<8x16x32xf32>) {
  ^bb0(%x: i8, %y: f32, %o: f32):
    %hit = arith.cmpi ne, %x, %none : i8
    %s = arith.select %hit, %y, %zero : f32
    linalg.yield %s : f32
  } -> tensor<8x16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<8x32xf32>) -> tensor<8x32xf32>
  %t = linalg.generic {indexing_maps = [#rkc, #rc], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%w : tensor<8x16x32xf32>) outs(%f : tensor<8x32xf32>) {
  ^bb0(%x: f32, %a: f32):
    %s = arith.addf %a, %x : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %t : tensor<8x32xf32>
}

// -----

#i = affine_map<(k) -> (k)>
#rk = affine_map<(r, k) -> (r, k)>
#k_of_rk = affine_map<(r, k) -> (k)>
#truths = affine_map<(r, k, c) -> (r, k)>
#values = affine_map<(r, k, c) -> (k, c)>
#rkc = affine_map<(r, k, c) -> (r, k, c)>
#rc = affine_map<(r, k, c) -> (r, c)>

// No schedule says so.
// CHECK-LABEL: @unasked
// CHECK-NOT: vector.compressstore
// CHECK: vector.multi_reduction <add>, %{{.*}}, %{{.*}} [1]
func.func private @unasked(%i: tensor<16xi64>, %v: tensor<16x32xf32>, %out: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {mlopt.kernel, mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 4, 0, 8>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<8x16xi8>
  %ew = tensor.empty() : tensor<8x16x32xf32>
  %er = tensor.empty() : tensor<8x32xf32>
  %none = arith.constant 0 : i8
  %ei = tensor.empty() : tensor<16xi64>
  %checked = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%i : tensor<16xi64>) outs(%ei : tensor<16xi64>) {
  ^bb0(%x: i64, %o: i64):
    %rows = arith.constant 8 : i64
    %first = arith.constant 0 : i64
    %ok = arith.cmpi ult, %x, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %x, %first : i64
    linalg.yield %safe : i64
  } -> tensor<16xi64>
  %h = linalg.generic {indexing_maps = [#k_of_rk, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%checked : tensor<16xi64>) outs(%e8 : tensor<8x16xi8>) {
  ^bb0(%x: i64, %o: i8):
    %r = linalg.index 0 : index
    %row = arith.index_cast %r : index to i64
    %hit = arith.cmpi eq, %x, %row : i64
    %stored = arith.extui %hit : i1 to i8
    linalg.yield %stored : i8
  } -> tensor<8x16xi8>
  %w = linalg.generic {indexing_maps = [#truths, #values, #rkc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %v : tensor<8x16xi8>, tensor<16x32xf32>) outs(%ew : tensor<8x16x32xf32>) {
  ^bb0(%x: i8, %y: f32, %o: f32):
    %hit = arith.cmpi ne, %x, %none : i8
    %s = arith.select %hit, %y, %zero : f32
    linalg.yield %s : f32
  } -> tensor<8x16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<8x32xf32>) -> tensor<8x32xf32>
  %t = linalg.generic {indexing_maps = [#rkc, #rc], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%w : tensor<8x16x32xf32>) outs(%f : tensor<8x32xf32>) {
  ^bb0(%x: f32, %a: f32):
    %s = arith.addf %a, %x : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %t : tensor<8x32xf32>
}
