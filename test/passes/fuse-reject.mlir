// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// One task makes a full reduction: what reads it has many, and waits for it.
#id = affine_map<(d0, d1) -> (d0, d1)>
#s = affine_map<(d0, d1) -> ()>
// CHECK: mlopt.decisions = [{bytes = 131080 : i64, from = 0 : i64, ops = "sum -> div", reason = "only 1 task would be left, 16 are wanted", seconds = {{.*}} : f64, to = 1 : i64, where = ["{{.*}}:14", "{{.*}}:21"]}]
// CHECK-SAME: mlopt.fusion = ["sum -> div: {{.*}}"]
// CHECK: mlopt.group = 0 : i64, mlopt.op = "sum"
// CHECK: mlopt.group = 1 : i64, mlopt.op = "div"
func.func @full(%x: tensor<256x128xf32>) -> tensor<256x128xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %t = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<256x128xf32>) outs(%1 : tensor<f32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<f32>
  %2 = tensor.empty() : tensor<256x128xf32>
  %r = linalg.generic {indexing_maps = [#id, #s, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : tensor<256x128xf32>, tensor<f32>) outs(%2 : tensor<256x128xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %a = arith.divf %in, %sum : f32
    linalg.yield %a : f32
  } -> tensor<256x128xf32>
  return %r : tensor<256x128xf32>
}

// -----

// Dear work on a vector would be done for each row; cheap work is.
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
#vec = affine_map<(d0) -> (d0)>
// CHECK: mlopt.fusion = ["exp -> add: what would be computed again costs more than is saved: exp, 64 times"]
// CHECK: mlopt.group = 0 : i64, mlopt.op = "exp"
// CHECK: mlopt.group = 1 : i64, mlopt.op = "neg"
// CHECK: mlopt.group = 1 : i64, mlopt.op = "add"
func.func @dear(%x: tensor<64x128xf32>, %v: tensor<128xf32>) -> tensor<64x128xf32> {
  %0 = tensor.empty() : tensor<128xf32>
  %e = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%v : tensor<128xf32>) outs(%0 : tensor<128xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%in: f32, %out: f32):
    %a = math.exp %in : f32
    linalg.yield %a : f32
  } -> tensor<128xf32>
  %n = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]}
      ins(%v : tensor<128xf32>) outs(%0 : tensor<128xf32>) attrs = {mlopt.op = "neg"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.negf %in : f32
    linalg.yield %a : f32
  } -> tensor<128xf32>
  %1 = tensor.empty() : tensor<64x128xf32>
  %r = linalg.generic {indexing_maps = [#id, #col, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %e, %n : tensor<64x128xf32>, tensor<128xf32>, tensor<128xf32>) outs(%1 : tensor<64x128xf32>)
      attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %s: f32, %out: f32):
    %a = arith.addf %p, %q : f32
    %b = arith.addf %a, %s : f32
    linalg.yield %b : f32
  } -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}

// -----

// The view between two readers of one value would be inside the kernel and outside of it: relu and add stay apart.
// What the views keep apart is priced as if they were not there: of relu's result one reader would still be outside.
#id = affine_map<(d0) -> (d0)>
#m = affine_map<(d0, d1) -> (d1, d0)>
#i = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: {bytes = 1024 : i64, {{.*}}ops = "relu -> transpose", reason = "a reshape is between them: transpose goes through the parts in another order; and add reads what relu makes as a whole"
// CHECK-SAME: {bytes = 3072 : i64, {{.*}}ops = "transpose -> add", reason = "a reshape is between them: add also reads relu, which cannot be made in these parts"
// CHECK-SAME: mlopt.fusion = ["relu -> add: transpose, another kernel, is between them",
// CHECK-SAME:   "relu -> transpose: a reshape is between them: {{[^"]+}}", "transpose -> add: a reshape is between them: {{[^"]+}}"]
// CHECK: mlopt.group = [[R:[0-9]+]] : i64, mlopt.op = "relu"
// CHECK: mlopt.group = [[T:[0-9]+]] : i64, mlopt.op = "transpose"
// CHECK-NOT: mlopt.group = [[R]]
// CHECK: mlopt.op = "add"
func.func @circle(%x: tensor<256xf32>) -> tensor<256xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<256xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<256xf32>) outs(%0 : tensor<256xf32>) attrs = {mlopt.op = "relu"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.maximumf %in, %zero : f32
    linalg.yield %a : f32
  } -> tensor<256xf32>
  %v = tensor.expand_shape %r [[0, 1]] output_shape [16, 16] : tensor<256xf32> into tensor<16x16xf32>
  %1 = tensor.empty() : tensor<16x16xf32>
  %t = linalg.generic {indexing_maps = [#m, #i], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<16x16xf32>) outs(%1 : tensor<16x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<16x16xf32>
  %c = tensor.collapse_shape %t [[0, 1]] : tensor<16x16xf32> into tensor<256xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%r, %c : tensor<256xf32>, tensor<256xf32>) outs(%0 : tensor<256xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %a = arith.addf %p, %q : f32
    linalg.yield %a : f32
  } -> tensor<256xf32>
  return %s : tensor<256xf32>
}

// -----

// Two contractions; the second one is stored transposed.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: mlopt.fusion = ["matmul -> matmul: a kernel has one contraction, not matmul and matmul"]
func.func @chain(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<64x64xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<64x64xf32>
  %n = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%m, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<64x64xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<64x64xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%n : tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// A step is taken one element at a time; a row that is reduced and stored is one task's, whole.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK: mlopt.fusion = ["extract_slice -> sum: a task would go through loop 1 of extract_slice one element at a time, and needs all of loop 1 of sum: the same dim"]
// CHECK-LABEL: @step
func.func @step(%x: tensor<64x128xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = tensor.extract_slice %x[0, 0] [64, 64] [1, 2] : tensor<64x128xf32> to tensor<64x64xf32>
  %0 = tensor.empty() : tensor<64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %t = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<64x64xf32>) outs(%1 : tensor<64xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %s, %t : tensor<64x64xf32>, tensor<64xf32>
}

// -----

// An attention's values are read from memory: a task goes through them across their rows. A reduction of its
// result runs later.
#weights = affine_map<(b, m, d, n) -> (b, m, n)>
#values = affine_map<(b, m, d, n) -> (b, n, d)>
#sums = affine_map<(b, m, d, n) -> (b, m, d)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: "exp -> attention: what is made in the kernel is read there transposed: its dims are loops 0, 3, 2 of the reader"
// CHECK-SAME: "attention -> sum: attention's kernel has only element-wise ops beside it, sum is none"
// CHECK-LABEL: func.func @attention
func.func @attention(%t: tensor<12x128x128xf32>, %v: tensor<12x128x64xf32>) -> tensor<12x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x128x64xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v : tensor<12x128x64xf32>) outs(%e : tensor<12x128x64xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %c: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<12x128x64xf32>
  %r = "mlopt.attention"(%t, %w, %e) {indexing_maps = [#weights, #values, #sums], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], mlopt.op = "attention", zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<12x128x128xf32>, tensor<12x128x64xf32>, tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
  %e2 = tensor.empty() : tensor<12x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<12x128xf32>) -> tensor<12x128xf32>
  %y = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%r : tensor<12x128x64xf32>) outs(%f : tensor<12x128xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%a: f32, %c: f32):
    %p = arith.addf %a, %c : f32
    linalg.yield %p : f32
  } -> tensor<12x128xf32>
  return %y : tensor<12x128xf32>
}

// -----

// Values that lie the other way round could be made by each task, which would make all of its matrix again.
#weights = affine_map<(b, m, d, n) -> (b, m, n)>
#values = affine_map<(b, m, d, n) -> (b, d, n)>
#sums = affine_map<(b, m, d, n) -> (b, m, d)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK: mlopt.fusion = ["exp -> attention: attention's values, which exp makes, would be made again for each tile"]
// CHECK-LABEL: func.func @values
func.func @values(%t: tensor<12x128x128xf32>, %v: tensor<12x64x128xf32>) -> tensor<12x128x64xf32> {
  %e = tensor.empty() : tensor<12x64x128xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v : tensor<12x64x128xf32>) outs(%e : tensor<12x64x128xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %c: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<12x64x128xf32>
  %o = tensor.empty() : tensor<12x128x64xf32>
  %r = "mlopt.attention"(%t, %w, %o) {indexing_maps = [#weights, #values, #sums], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], mlopt.op = "attention", zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<12x128x128xf32>, tensor<12x64x128xf32>, tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
  return %r : tensor<12x128x64xf32>
}

// -----

// A function without a body has nothing to fuse.
// CHECK: module attributes {mlopt.decisions = [], mlopt.fusion = []} {
// CHECK-NEXT: func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
module {
  func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
}

// -----

// Channels between two dims of unknown length: a task would have few elements of each of very many rows.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#kept = affine_map<(d0, d1, d2) -> (d1)>
// CHECK: mlopt.fusion = ["sum -> div: a task would have short pieces of rows, whose number is not known"]
// CHECK: mlopt.group = 0 : i64, mlopt.op = "sum"
// CHECK: mlopt.group = 1 : i64, mlopt.op = "div"
func.func @channels_between_unknown_dims(%x: tensor<?x64x?xf32>) -> tensor<?x64x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c : tensor<?x64x?xf32>
  %m = tensor.dim %x, %c2 : tensor<?x64x?xf32>
  %0 = tensor.empty() : tensor<64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #kept], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<?x64x?xf32>) outs(%1 : tensor<64xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  %2 = tensor.empty(%n, %m) : tensor<?x64x?xf32>
  %r = linalg.generic {indexing_maps = [#id, #kept, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %s : tensor<?x64x?xf32>, tensor<64xf32>) outs(%2 : tensor<?x64x?xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %a = arith.divf %in, %sum : f32
    linalg.yield %a : f32
  } -> tensor<?x64x?xf32>
  return %r : tensor<?x64x?xf32>
}

// -----

// Totals of columns of what totals of rows divide: each step along a row of totals would sum all rows again.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#rows = affine_map<(d0, d1, d2) -> (d0, d2)>
#columns = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK: mlopt.fusion = [{{.*}}a reduction would be made again in each step along a dim, whose length is not known
// CHECK-LABEL: func.func @totals_of_both
func.func @totals_of_both(%x: tensor<?x?x17xf32>) -> tensor<?x17xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?x17xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?x17xf32>
  %0 = tensor.empty(%n) : tensor<?x17xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x17xf32>) -> tensor<?x17xf32>
  %s = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<?x?x17xf32>) outs(%1 : tensor<?x17xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<?x17xf32>
  %2 = tensor.empty(%n, %m) : tensor<?x?x17xf32>
  %r = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %s : tensor<?x?x17xf32>, tensor<?x17xf32>) outs(%2 : tensor<?x?x17xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %a = arith.divf %in, %sum : f32
    linalg.yield %a : f32
  } -> tensor<?x?x17xf32>
  %3 = tensor.empty(%m) : tensor<?x17xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<?x17xf32>) -> tensor<?x17xf32>
  %t = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%r : tensor<?x?x17xf32>) outs(%4 : tensor<?x17xf32>) attrs = {mlopt.op = "total"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<?x17xf32>
  return %t : tensor<?x17xf32>
}

// -----

// Sums of columns that grow step by step along a dim of unknown length wait in a task's scratch: 2000 rows of them
// and what is read beside them are too much.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#rows = affine_map<(d0, d1, d2) -> (d1, d2)>
#cols = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK: mlopt.fusion = ["total -> sub: what columns need ahead would take 412352 bytes of a task's scratch, 262144 are allowed"]
// CHECK-LABEL: func.func @columns_ahead
func.func @columns_ahead(%x: tensor<2000x?x17xf32>) -> tensor<2000x?x17xf32> {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<2000x?x17xf32>
  %0 = tensor.empty() : tensor<2000x17xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2000x17xf32>) -> tensor<2000x17xf32>
  %s = linalg.generic {indexing_maps = [#id, #cols], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<2000x?x17xf32>) outs(%1 : tensor<2000x17xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<2000x17xf32>
  %2 = tensor.empty(%n) : tensor<2000x?x17xf32>
  %r = linalg.generic {indexing_maps = [#id, #cols, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %s : tensor<2000x?x17xf32>, tensor<2000x17xf32>) outs(%2 : tensor<2000x?x17xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %a = arith.divf %in, %sum : f32
    linalg.yield %a : f32
  } -> tensor<2000x?x17xf32>
  %3 = tensor.empty(%n) : tensor<?x17xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<?x17xf32>) -> tensor<?x17xf32>
  %t = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x : tensor<2000x?x17xf32>) outs(%4 : tensor<?x17xf32>) attrs = {mlopt.op = "total"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<?x17xf32>
  %5 = tensor.empty(%n) : tensor<2000x?x17xf32>
  %u = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r, %t : tensor<2000x?x17xf32>, tensor<?x17xf32>) outs(%5 : tensor<2000x?x17xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %a = arith.subf %in, %sum : f32
    linalg.yield %a : f32
  } -> tensor<2000x?x17xf32>
  return %u : tensor<2000x?x17xf32>
}

// -----

// Without the reshape, sums of sums would be two kernels as well: that is the reason.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK: mlopt.fusion = ["sum -> sum: a reduction reads what tasks of other rows reduce"]
func.func @sums_of_sums(%x: tensor<64x32xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x32xf32>) outs(%f : tensor<64xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %v = tensor.expand_shape %s [[0, 1]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
  %w = tensor.empty() : tensor<8xf32>
  %g = linalg.fill ins(%zero : f32) outs(%w : tensor<8xf32>) -> tensor<8xf32>
  %t = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%v : tensor<8x8xf32>) outs(%g : tensor<8xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %t : tensor<8xf32>
}

// -----

// What is known of a view says why it is one, and goes; decisions from before stay.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: mlopt.decisions = [{{.*}}ops = "matmul | matmul", reason = "because",
// CHECK-SAME: {bytes = 1024 : i64, from = 0 : i64, ops = "exp -> relu", reason = "its parts are short", {{.*}}to = 1 : i64, where = [{{.*}}]}]
// CHECK-LABEL: func.func @noted
// CHECK: tensor.expand_shape
// CHECK-NOT: mlopt.whole
module attributes {mlopt.decisions = [{bytes = 8 : i64, from = -1 : i64, ops = "matmul | matmul", reason = "because", seconds = 1.0 : f64, to = -1 : i64}]} {
  func.func @noted(%x: tensor<16x16xf32>) -> tensor<4x64xf32> {
    %e = tensor.empty() : tensor<16x16xf32>
    %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) attrs = {mlopt.op = "exp"} {
    ^bb0(%a: f32, %o: f32):
      %y = math.exp %a : f32
      linalg.yield %y : f32
    } -> tensor<16x16xf32>
    %c = tensor.collapse_shape %m [[0, 1]] : tensor<16x16xf32> into tensor<256xf32>
    %v = tensor.expand_shape %c [[0, 1]] output_shape [4, 64] {mlopt.whole = "its parts are short"} : tensor<256xf32> into tensor<4x64xf32>
    %f = tensor.empty() : tensor<4x64xf32>
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%v : tensor<4x64xf32>) outs(%f : tensor<4x64xf32>) attrs = {mlopt.op = "relu"} {
    ^bb0(%a: f32, %o: f32):
      %y = arith.addf %a, %a : f32
      linalg.yield %y : f32
    } -> tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----

// Sizes that never agree: the call fails, and the two are not one loop.
// CHECK: mlopt.fusion = ["add -> mul: one loop would run to 4 and to 5"]
// CHECK-LABEL: func.func @two_lengths
#vec = affine_map<(i) -> (i)>
func.func @two_lengths(%x: tensor<?xf32>, %y: tensor<4xf32>, %z: tensor<5xf32>) -> tensor<5xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %0 = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#vec, #vec, #vec], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<?xf32>, tensor<4xf32>) outs(%0 : tensor<?xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %2 = tensor.empty() : tensor<5xf32>
  %3 = linalg.generic {indexing_maps = [#vec, #vec, #vec], iterator_types = ["parallel"]}
      ins(%1, %z : tensor<?xf32>, tensor<5xf32>) outs(%2 : tensor<5xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %3 : tensor<5xf32>
}
