// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' --split-input-file | FileCheck %s --check-prefix=GPU

// Refused: a factor that would be read against its order in memory; one that is a result as well.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
// CHECK: mlopt.fusion = ["transpose -> matmul: matmul would read an operand against its order in memory, again for each tile",
// CHECK-SAME: "relu -> matmul: what matmul reads is stored for the caller as well"]
// CHECK-LABEL: @refused
func.func @refused(%x: tensor<16x32xf32>, %w: tensor<8x32xf32>) -> (tensor<16x8xf32>, tensor<16x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) attrs = {mlopt.op = "relu"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.maximumf %in, %zero : f32
    linalg.yield %a : f32
  } -> tensor<16x32xf32>
  %1 = tensor.empty() : tensor<32x8xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<8x32xf32>) outs(%1 : tensor<32x8xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<32x8xf32>
  %2 = tensor.empty() : tensor<16x8xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%r, %t : tensor<16x32xf32>, tensor<32x8xf32>) outs(%3 : tensor<16x8xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.mulf %p, %q : f32
    %u = arith.addf %out, %s : f32
    linalg.yield %u : f32
  } -> tensor<16x8xf32>
  return %m, %r : tensor<16x8xf32>, tensor<16x32xf32>
}

// -----

// Maxima of rows would be found again for each tile of columns.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#in = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK: mlopt.fusion = ["max -> matmul: only element-wise work is computed again for each tile of matmul, max is none"]
// CHECK-LABEL: @of_rows
// GPU: mlopt.fusion = ["max -> matmul: only element-wise work is computed again for each tile of matmul, max is none"]
func.func @of_rows(%x: tensor<16x32x64xf32>, %w: tensor<32x8xf32>) -> tensor<16x8xf32> {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x32xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.generic {indexing_maps = [#in, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<16x32x64xf32>) outs(%1 : tensor<16x32xf32>) attrs = {mlopt.op = "max"} {
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<16x32xf32>
  %e = tensor.empty() : tensor<16x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<16x32xf32>, tensor<32x8xf32>) outs(%f : tensor<16x8xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %y = arith.addf %o, %m : f32
    linalg.yield %y : f32
  } -> tensor<16x8xf32>
  return %m : tensor<16x8xf32>
}

// -----

// Rows of a table: where they are is read for each tile, too.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: mlopt.fusion = ["gather -> matmul: only element-wise work is computed again for each tile of matmul, gather is none"]
// CHECK-LABEL: @of_a_table
// GPU: mlopt.fusion = ["gather -> matmul: only element-wise work is computed again for each tile of matmul, gather is none"]
func.func @of_a_table(%table: tensor<50x32xf32>, %rows: tensor<16xindex>, %w: tensor<32x8xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x32xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<16xindex>) outs(%0 : tensor<16x32xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%a: index, %o: f32):
    %j = linalg.index 1 : index
    %y = tensor.extract %table[%a, %j] : tensor<50x32xf32>
    linalg.yield %y : f32
  } -> tensor<16x32xf32>
  %e = tensor.empty() : tensor<16x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%g, %w : tensor<16x32xf32>, tensor<32x8xf32>) outs(%f : tensor<16x8xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %y = arith.addf %o, %m : f32
    linalg.yield %y : f32
  } -> tensor<16x8xf32>
  return %m : tensor<16x8xf32>
}

// -----

// Rows of heads of 16 bytes: each line of a cache would be read for four tiles.
#heads = affine_map<(h, m, d) -> (m, h, d)>
#id = affine_map<(h, m, d) -> (h, m, d)>
#a = affine_map<(h, m, n, d) -> (h, m, d)>
#b = affine_map<(h, m, n, d) -> (h, n, d)>
#c = affine_map<(h, m, n, d) -> (h, m, n)>
// CHECK: mlopt.fusion = ["scale -> matmul: matmul would read an operand against its order in memory, again for each tile"]
// CHECK-LABEL: @narrow_heads
// GPU: mlopt.fusion = ["scale -> matmul: matmul would read an operand against its order in memory, again for each tile"]
func.func @narrow_heads(%x: tensor<32x4x4xf32>, %y: tensor<4x8x4xf32>) -> tensor<4x32x8xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %0 = tensor.empty() : tensor<4x32x4xf32>
  %s = linalg.generic {indexing_maps = [#heads, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<32x4x4xf32>) outs(%0 : tensor<4x32x4xf32>) attrs = {mlopt.op = "scale"} {
  ^bb0(%in: f32, %out: f32):
    %t = arith.mulf %in, %half : f32
    linalg.yield %t : f32
  } -> tensor<4x32x4xf32>
  %1 = tensor.empty() : tensor<4x32x8xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<4x32x8xf32>) -> tensor<4x32x8xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %y : tensor<4x32x4xf32>, tensor<4x8x4xf32>) outs(%2 : tensor<4x32x8xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %out, %t : f32
    linalg.yield %u : f32
  } -> tensor<4x32x8xf32>
  return %m : tensor<4x32x8xf32>
}
