// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda})' | FileCheck %s

#i = affine_map<(k) -> (k)>
#rk = affine_map<(r, k) -> (r, k)>
#k_of_rk = affine_map<(r, k) -> (k)>
#truths = affine_map<(r, k, c) -> (r, k)>
#values = affine_map<(r, k, c) -> (k, c)>
#rkc = affine_map<(r, k, c) -> (r, k, c)>
#rc = affine_map<(r, k, c) -> (r, c)>

// Blocks list the indices that name one of their rows: rows that leave each multiprocessor blocks, as many columns as
// warps have wide accesses for.
// CHECK-LABEL: @sum
// CHECK-SAME: mlopt.schedule = {listed = array<i64: 4>, min_blocks = array<i64: 3>, tile = array<i64: 8, 0, 1024>, warps = array<i64: 4>}
func.func private @sum(%i: tensor<4000xi64>, %v: tensor<4000x512xf32>, %out: tensor<3000x512xf32>) -> tensor<3000x512xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<3000x4000xi8>
  %ew = tensor.empty() : tensor<3000x4000x512xf32>
  %er = tensor.empty() : tensor<3000x512xf32>
  %none = arith.constant 0 : i8
  %ei = tensor.empty() : tensor<4000xi64>
  %checked = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%i : tensor<4000xi64>) outs(%ei : tensor<4000xi64>) {
  ^bb0(%x: i64, %o: i64):
    %rows = arith.constant 3000 : i64
    %first = arith.constant 0 : i64
    %ok = arith.cmpi ult, %x, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %x, %first : i64
    linalg.yield %safe : i64
  } -> tensor<4000xi64>
  %h = linalg.generic {indexing_maps = [#k_of_rk, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%checked : tensor<4000xi64>) outs(%e8 : tensor<3000x4000xi8>) {
  ^bb0(%x: i64, %o: i8):
    %r = linalg.index 0 : index
    %row = arith.index_cast %r : index to i64
    %hit = arith.cmpi eq, %x, %row : i64
    %stored = arith.extui %hit : i1 to i8
    linalg.yield %stored : i8
  } -> tensor<3000x4000xi8>
  %w = linalg.generic {indexing_maps = [#truths, #values, #rkc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %v : tensor<3000x4000xi8>, tensor<4000x512xf32>) outs(%ew : tensor<3000x4000x512xf32>) {
  ^bb0(%x: i8, %y: f32, %o: f32):
    %hit = arith.cmpi ne, %x, %none : i8
    %s = arith.select %hit, %y, %zero : f32
    linalg.yield %s : f32
  } -> tensor<3000x4000x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<3000x512xf32>) -> tensor<3000x512xf32>
  %t = linalg.generic {indexing_maps = [#rkc, #rc], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%w : tensor<3000x4000x512xf32>) outs(%f : tensor<3000x512xf32>) {
  ^bb0(%x: f32, %a: f32):
    %s = arith.addf %a, %x : f32
    linalg.yield %s : f32
  } -> tensor<3000x512xf32>
  return %t : tensor<3000x512xf32>
}

// Rows of two elements: a block would wait for one after the other.
// CHECK-LABEL: @few
// CHECK-NOT: listed
func.func private @few(%i: tensor<300xi64>, %v: tensor<300x2xf32>, %out: tensor<20x2xf32>) -> tensor<20x2xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<20x300xi8>
  %ew = tensor.empty() : tensor<20x300x2xf32>
  %er = tensor.empty() : tensor<20x2xf32>
  %none = arith.constant 0 : i8
  %ei = tensor.empty() : tensor<300xi64>
  %checked = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%i : tensor<300xi64>) outs(%ei : tensor<300xi64>) {
  ^bb0(%x: i64, %o: i64):
    %rows = arith.constant 20 : i64
    %first = arith.constant 0 : i64
    %ok = arith.cmpi ult, %x, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %x, %first : i64
    linalg.yield %safe : i64
  } -> tensor<300xi64>
  %h = linalg.generic {indexing_maps = [#k_of_rk, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%checked : tensor<300xi64>) outs(%e8 : tensor<20x300xi8>) {
  ^bb0(%x: i64, %o: i8):
    %r = linalg.index 0 : index
    %row = arith.index_cast %r : index to i64
    %hit = arith.cmpi eq, %x, %row : i64
    %stored = arith.extui %hit : i1 to i8
    linalg.yield %stored : i8
  } -> tensor<20x300xi8>
  %w = linalg.generic {indexing_maps = [#truths, #values, #rkc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %v : tensor<20x300xi8>, tensor<300x2xf32>) outs(%ew : tensor<20x300x2xf32>) {
  ^bb0(%x: i8, %y: f32, %o: f32):
    %hit = arith.cmpi ne, %x, %none : i8
    %s = arith.select %hit, %y, %zero : f32
    linalg.yield %s : f32
  } -> tensor<20x300x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<20x2xf32>) -> tensor<20x2xf32>
  %t = linalg.generic {indexing_maps = [#rkc, #rc], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%w : tensor<20x300x2xf32>) outs(%f : tensor<20x2xf32>) {
  ^bb0(%x: f32, %a: f32):
    %s = arith.addf %a, %x : f32
    linalg.yield %s : f32
  } -> tensor<20x2xf32>
  return %t : tensor<20x2xf32>
}
