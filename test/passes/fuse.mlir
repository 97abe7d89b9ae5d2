// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Softmax: a task owns its rows, so reductions and what reads them are one kernel; each has a fill of its own.
// CHECK: mlopt.fusion = []
// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-6: mlopt.group = 0
// CHECK-NOT: mlopt.group = 1
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64xf32>
  %1 = linalg.fill ins(%ninf : f32) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x128xf32>) outs(%1 : tensor<64xf32>) attrs = {mlopt.op = "amax"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.maximumf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  %2 = tensor.empty() : tensor<64x128xf32>
  %e = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<64x128xf32>, tensor<64xf32>) outs(%2 : tensor<64x128xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%in: f32, %max: f32, %out: f32):
    %a = arith.subf %in, %max : f32
    %b = math.exp %a : f32
    linalg.yield %b : f32
  } -> tensor<64x128xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<64x128xf32>) outs(%3 : tensor<64xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %s : tensor<64x128xf32>, tensor<64xf32>) outs(%2 : tensor<64x128xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %a = arith.divf %in, %sum : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}

// -----

// An epilogue behind a matmul, written into a padded buffer, and read outside as well: one kernel with two results.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK: mlopt.fusion = ["fill -> pad: fill writes all of the buffer that pad writes a part of, before"]
// CHECK-LABEL: func.func @epilogue
// CHECK: linalg.fill {mlopt.group = [[G:[0-9]+]]
// CHECK: mlopt.group = [[G]] : i64, mlopt.op = "matmul"
// CHECK: mlopt.group = [[G]] : i64, mlopt.op = "relu"
// CHECK: linalg.fill {mlopt.group = [[F:[0-9]+]]
// CHECK: tensor.insert_slice {{.*}}mlopt.group = [[G]]
func.func @epilogue(%x: tensor<64x32xf32>, %w: tensor<32x16xf32>, %bias: tensor<16xf32>)
    -> (tensor<64x16xf32>, tensor<66x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x16xf32>) -> tensor<64x16xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x32xf32>, tensor<32x16xf32>) outs(%1 : tensor<64x16xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<64x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<64x16xf32>, tensor<16xf32>) outs(%0 : tensor<64x16xf32>) attrs = {mlopt.op = "relu"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  } -> tensor<64x16xf32>
  %2 = tensor.empty() : tensor<66x16xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<66x16xf32>) -> tensor<66x16xf32>
  %i = tensor.insert_slice %r into %3[1, 0] [64, 16] [1, 1] {mlopt.op = "pad"} : tensor<64x16xf32> into tensor<66x16xf32>
  return %r, %i : tensor<64x16xf32>, tensor<66x16xf32>
}

// -----

// The score at an index that is made in the kernel, less what its row was reduced to.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>
// CHECK: mlopt.fusion = []
// CHECK-LABEL: func.func @gathered
// CHECK-COUNT-4: mlopt.group = 0
// CHECK-NOT: mlopt.group = 1
func.func @gathered(%x: tensor<64x128xf32>, %t: tensor<64xi64>) -> tensor<64xf32> {
  %ninf = arith.constant 0xFF800000 : f32
  %seven = arith.constant 7 : i64
  %0 = tensor.empty() : tensor<64xf32>
  %1 = linalg.fill ins(%ninf : f32) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x128xf32>) outs(%1 : tensor<64xf32>) attrs = {mlopt.op = "amax"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.maximumf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  %2 = tensor.empty() : tensor<64xi64>
  %i = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%t : tensor<64xi64>) outs(%2 : tensor<64xi64>) attrs = {mlopt.op = "and"} {
  ^bb0(%in: i64, %out: i64):
    %a = arith.andi %in, %seven : i64
    linalg.yield %a : i64
  } -> tensor<64xi64>
  %r = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}
      ins(%i, %m : tensor<64xi64>, tensor<64xf32>) outs(%0 : tensor<64xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%in: i64, %max: f32, %out: f32):
    %n = linalg.index 0 : index
    %j = arith.index_cast %in : i64 to index
    %a = tensor.extract %x[%n, %j] : tensor<64x128xf32>
    %b = arith.subf %a, %max : f32
    linalg.yield %b : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// Attention with the product of its scores, what is done to them, and what reads the result with heads and rows
// turned around.
#rows = affine_map<(b, m, n, d) -> (b, m, d)>
#keys = affine_map<(b, m, n, d) -> (b, n, d)>
#scores = affine_map<(b, m, n, d) -> (b, m, n)>
#weights = affine_map<(b, m, d, n) -> (b, m, n)>
#values = affine_map<(b, m, d, n) -> (b, n, d)>
#sums = affine_map<(b, m, d, n) -> (b, m, d)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#turned = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
// CHECK: mlopt.fusion = []
// CHECK-LABEL: func.func @attention
// CHECK-COUNT-4: mlopt.group = 0
// CHECK-NOT: mlopt.group = 1
func.func @attention(%q: tensor<12x128x64xf32>, %k: tensor<12x128x64xf32>, %v: tensor<12x128x64xf32>) -> tensor<128x12x64xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %e = tensor.empty() : tensor<12x128x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<12x128x64xf32>, tensor<12x128x64xf32>) outs(%f : tensor<12x128x128xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<12x128x128xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<12x128x128xf32>) outs(%e : tensor<12x128x128xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%a: f32, %c: f32):
    %p = arith.mulf %a, %scale : f32
    linalg.yield %p : f32
  } -> tensor<12x128x128xf32>
  %e2 = tensor.empty() : tensor<12x128x64xf32>
  %r = "mlopt.attention"(%t, %v, %e2) {indexing_maps = [#weights, #values, #sums], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], mlopt.op = "attention", zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<12x128x128xf32>, tensor<12x128x64xf32>, tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
  %e3 = tensor.empty() : tensor<128x12x64xf32>
  %y = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r : tensor<12x128x64xf32>) outs(%e3 : tensor<128x12x64xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<128x12x64xf32>
  return %y : tensor<128x12x64xf32>
}

// -----

// A row of unknown length: a task runs along it for the sum, and again for the results.
#id = affine_map<(d0, d1) -> (d0, d1)>
#kept = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @row_of_unknown_length
// CHECK: mlopt.group = 0 : i64, mlopt.op = "sum"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "div"
func.func @row_of_unknown_length(%x: tensor<64x?xf32>) -> tensor<64x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c = arith.constant 1 : index
  %n = tensor.dim %x, %c : tensor<64x?xf32>
  %0 = tensor.empty() : tensor<64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x?xf32>) outs(%1 : tensor<64xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  %2 = tensor.empty(%n) : tensor<64x?xf32>
  %r = linalg.generic {indexing_maps = [#id, #kept, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<64x?xf32>, tensor<64xf32>) outs(%2 : tensor<64x?xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %a = arith.divf %in, %sum : f32
    linalg.yield %a : f32
  } -> tensor<64x?xf32>
  return %r : tensor<64x?xf32>
}
