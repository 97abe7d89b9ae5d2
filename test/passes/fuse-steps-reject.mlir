// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' --split-input-file | FileCheck %s --check-prefixes=CHECK,CUDA

// A GPU has too few bags at once to hide how long each waits for its rows, one after the other.
#at = affine_map<(b, t, c) -> (b, t)>
#id = affine_map<(b, t, c) -> (b, t, c)>
#bags = affine_map<(b, t, c) -> (b, c)>
// CPU: mlopt.fusion = []
// CUDA: mlopt.fusion = ["gather -> sum: a block would wait for one row after the other"]
// CHECK-LABEL: @few_bags
func.func @few_bags(%table: tensor<1000x256xf32>, %i: tensor<8x50xi64>) -> tensor<8x256xf32> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x50x256xf32>
  %g = linalg.generic {indexing_maps = [#at, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%i : tensor<8x50xi64>) outs(%e : tensor<8x50x256xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%at: i64, %o: f32):
    %rows = arith.constant 1000 : i64
    %zero = arith.constant 0 : i64
    %ok = arith.cmpi ult, %at, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %at, %zero : i64
    %row = arith.index_cast %safe : i64 to index
    %column = linalg.index 2 : index
    %v = tensor.extract %table[%row, %column] : tensor<1000x256xf32>
    linalg.yield %v : f32
  } -> tensor<8x50x256xf32>
  %0 = tensor.empty() : tensor<8x256xf32>
  %1 = linalg.fill ins(%f : f32) outs(%0 : tensor<8x256xf32>) -> tensor<8x256xf32>
  %r = linalg.generic {indexing_maps = [#id, #bags], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%g : tensor<8x50x256xf32>) outs(%1 : tensor<8x256xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x256xf32>
  return %r : tensor<8x256xf32>
}

// -----

// Of single elements, those of a row lie side by side; columns would be walked down one at a time.
#id = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>
// CHECK: mlopt.fusion = ["gather -> sum: columns would be reduced one at a time, against their order in memory"]
// CHECK-LABEL: @columns
func.func @columns(%table: tensor<1000xf32>, %i: tensor<100x256xindex>) -> tensor<256xf32> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100x256xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<100x256xindex>) outs(%e : tensor<100x256xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%at: index, %o: f32):
    %v = tensor.extract %table[%at] : tensor<1000xf32>
    linalg.yield %v : f32
  } -> tensor<100x256xf32>
  %0 = tensor.empty() : tensor<256xf32>
  %1 = linalg.fill ins(%f : f32) outs(%0 : tensor<256xf32>) -> tensor<256xf32>
  %r = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<100x256xf32>) outs(%1 : tensor<256xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<256xf32>
  return %r : tensor<256xf32>
}

// -----

// Where each element of a row is to go is a sum over all of the row: a task an element would read the row for each.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j, k) -> (i, k)>
#pairs = affine_map<(i, j, k) -> (i, j, k)>
#sums = affine_map<(i, j, k) -> (i, j)>
// CHECK: mlopt.fusion = ["sum -> gather: each element would be a task, which reads again what others reduce, too"]
// CHECK-LABEL: @places
func.func @places(%ranks: tensor<32x64xi32>, %x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %none = arith.constant 0 : i32
  %p = tensor.empty() : tensor<32x64x64xi32>
  %w = linalg.generic {indexing_maps = [#row, #pairs], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ranks : tensor<32x64xi32>) outs(%p : tensor<32x64x64xi32>) attrs = {mlopt.op = "where"} {
  ^bb0(%rank: i32, %o: i32):
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %wanted = arith.index_cast %j : index to i32
    %place = arith.index_cast %k : index to i32
    %is = arith.cmpi eq, %rank, %wanted : i32
    %s = arith.select %is, %place, %none : i32
    linalg.yield %s : i32
  } -> tensor<32x64x64xi32>
  %e = tensor.empty() : tensor<32x64xi32>
  %f = linalg.fill ins(%none : i32) outs(%e : tensor<32x64xi32>) -> tensor<32x64xi32>
  %t = linalg.generic {indexing_maps = [#pairs, #sums], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w : tensor<32x64x64xi32>) outs(%f : tensor<32x64xi32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%a: i32, %o: i32):
    %s = arith.addi %a, %o : i32
    linalg.yield %s : i32
  } -> tensor<32x64xi32>
  %g = tensor.empty() : tensor<32x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<32x64xi32>) outs(%g : tensor<32x64xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%at: i32, %o: f32):
    %i = linalg.index 0 : index
    %column = arith.index_cast %at : i32 to index
    %v = tensor.extract %x[%i, %column] : tensor<32x64xf32>
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}
