// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// What is known is made ahead, and what is returned is made.
// CHECK-LABEL: @known
// CHECK: mlopt.op = "arange"
// CHECK-LABEL: @returned
// CHECK: mlopt.op = "arange"
// CHECK-NOT: linalg.index 1
func.func @known() -> tensor<8x8xi64> {
  %e = tensor.empty() : tensor<8xi64>
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%e : tensor<8xi64>) attrs = {mlopt.op = "arange"} {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i64
    linalg.yield %c : i64
  } -> tensor<8xi64>
  %d = tensor.empty() : tensor<8x8xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %a : tensor<8xi64>, tensor<8xi64>) outs(%d : tensor<8x8xi64>) attrs = {mlopt.op = "sub"} {
  ^bb0(%j: i64, %i: i64, %o: i64):
    %s = arith.subi %j, %i : i64
    linalg.yield %s : i64
  } -> tensor<8x8xi64>
  return %r : tensor<8x8xi64>
}
func.func @returned(%n: index) -> tensor<?xi64> {
  %e = tensor.empty(%n) : tensor<?xi64>
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%e : tensor<?xi64>) attrs = {mlopt.op = "arange"} {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i64
    linalg.yield %c : i64
  } -> tensor<?xi64>
  return %a : tensor<?xi64>
}

// -----

// What takes long is made once for all matrices.
// CHECK: mlopt.fusion = ["tan -> add: what would be computed again costs more than is saved: tan, 64 times"]
// CHECK-LABEL: @dear_bias
#queries = affine_map<(b, m, n, d) -> (b, m, d)>
#keys = affine_map<(b, m, n, d) -> (b, n, d)>
#scores = affine_map<(b, m, n, d) -> (b, m, n)>
#id = affine_map<(b, m, n) -> (b, m, n)>
#matrix = affine_map<(b, m, n) -> (m, n)>
#weights = affine_map<(b, m, d, n) -> (b, m, n)>
#values = affine_map<(b, m, d, n) -> (b, n, d)>
#sums = affine_map<(b, m, d, n) -> (b, m, d)>
func.func @dear_bias(%q: tensor<?x?x64xf32>, %k: tensor<?x?x64xf32>, %v: tensor<?x?x64xf32>, %p: tensor<?x?xf32>, %b: index, %m: index, %n: index) -> tensor<?x?x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%b, %m, %n) : tensor<?x?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %s = linalg.generic {indexing_maps = [#queries, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<?x?x64xf32>, tensor<?x?x64xf32>) outs(%f : tensor<?x?x?xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %x = arith.mulf %a, %c : f32
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  } -> tensor<?x?x?xf32>
  %g = tensor.empty(%m, %n) : tensor<?x?xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<?x?xf32>) outs(%g : tensor<?x?xf32>) attrs = {mlopt.op = "tan"} {
  ^bb0(%a: f32, %o: f32):
    %x = math.tan %a : f32
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  %t = linalg.generic {indexing_maps = [#id, #matrix, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %h : tensor<?x?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?x?xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %x = arith.addf %a, %c : f32
    linalg.yield %x : f32
  } -> tensor<?x?x?xf32>
  %i = tensor.empty(%b, %m) : tensor<?x?x64xf32>
  %r = "mlopt.attention"(%t, %v, %i) {indexing_maps = [#weights, #values, #sums], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], mlopt.op = "attention", zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<?x?x?xf32>, tensor<?x?x64xf32>, tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  return %r : tensor<?x?x64xf32>
}
