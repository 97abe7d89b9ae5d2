// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fuse)' --split-input-file | FileCheck %s

// A sum of rows and a product are what one op reads: it goes with the product.
// CHECK: mlopt.fusion = ["reduce -> add: matmul's kernel has only element-wise ops beside it, reduce is none"]
// CHECK-LABEL: @product_and_rows
func.func @product_and_rows(%x: tensor<64x128xf32>, %w: tensor<128x64xf32>, %y: tensor<64x32xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<64x128xf32>, tensor<128x64xf32>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = tensor.empty() : tensor<64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<64xf32>) -> tensor<64xf32>
  %5 = linalg.reduce {arith.addf} ins(%y : tensor<64x32xf32>) outs(%4 : tensor<64xf32>) dimensions = [1]
  %6 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%2, %5 : tensor<64x64xf32>, tensor<64xf32>) outs(%0 : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %7 = arith.addf %a, %b : f32
    linalg.yield %7 : f32
  } -> tensor<64x64xf32>
  return %6 : tensor<64x64xf32>
}

// -----

// The sums of a product's rows: its tiles are parts of rows.
// CHECK: mlopt.fusion = ["matmul -> reduce: only element-wise ops over all loops of its result follow matmul in its kernel"]
// CHECK-LABEL: @rows_of_a_product
func.func @rows_of_a_product(%x: tensor<64x128xf32>, %w: tensor<128x64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<64x128xf32>, tensor<128x64xf32>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = tensor.empty() : tensor<64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<64xf32>) -> tensor<64xf32>
  %5 = linalg.reduce {arith.addf} ins(%2 : tensor<64x64xf32>) outs(%4 : tensor<64xf32>) dimensions = [1]
  return %5 : tensor<64xf32>
}

// -----

// What is divided by a sum of unknown length would be one task's, as the sum is.
// CHECK: mlopt.fusion = ["reduce -> broadcast: one task would make all of div, and nobody knows how much that is"]
// CHECK-LABEL: @total_and_all
func.func @total_and_all(%x: tensor<?x128xf32>) -> tensor<?x128xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x128xf32>
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %2 = linalg.reduce {arith.addf} ins(%x : tensor<?x128xf32>) outs(%1 : tensor<f32>) dimensions = [0, 1]
  %3 = tensor.empty(%n) : tensor<?x128xf32>
  %4 = linalg.broadcast ins(%2 : tensor<f32>) outs(%3 : tensor<?x128xf32>) dimensions = [0, 1]
  %5 = arith.divf %x, %4 : tensor<?x128xf32>
  return %5 : tensor<?x128xf32>
}

// -----

// The sum of all rows' largest: tasks that own rows, and one that waits for them, as there may be many.
// CHECK: mlopt.fusion = ["reduce -> reduce: a reduction reads what tasks of other rows reduce"]
// CHECK-LABEL: @total_of_rows
func.func @total_of_rows(%x: tensor<?x16x128xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x16x128xf32>
  %0 = tensor.empty(%n) : tensor<?x16xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = linalg.reduce {arith.maximumf} ins(%x : tensor<?x16x128xf32>) outs(%1 : tensor<?x16xf32>) dimensions = [2]
  %3 = tensor.empty() : tensor<f32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<f32>) -> tensor<f32>
  %5 = linalg.reduce {arith.addf} ins(%2 : tensor<?x16xf32>) outs(%4 : tensor<f32>) dimensions = [0, 1]
  return %5 : tensor<f32>
}

// -----

// The same where the second one is short: it would take one task for all rows.
// CHECK: mlopt.fusion = ["reduce -> reduce: a reduction reads what tasks of other rows reduce"]
// CHECK-LABEL: @rows_of_rows
func.func @rows_of_rows(%x: tensor<64x16x128xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<64x16xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<64x16xf32>) -> tensor<64x16xf32>
  %2 = linalg.reduce {arith.maximumf} ins(%x : tensor<64x16x128xf32>) outs(%1 : tensor<64x16xf32>) dimensions = [2]
  %3 = tensor.empty() : tensor<64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<64xf32>) -> tensor<64xf32>
  %5 = linalg.reduce {arith.addf} ins(%2 : tensor<64x16xf32>) outs(%4 : tensor<64xf32>) dimensions = [1]
  return %5 : tensor<64xf32>
}

// -----

// What a gather reads must be there; what it makes may be added up, also to a total of unknown length.
// CHECK: mlopt.fusion = ["exp -> gather: {{.*}}"]
// CHECK-LABEL: @gather
func.func @gather(%table: tensor<50x32xf32>, %rows: tensor<?xindex>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %0 = math.exp %table : tensor<50x32xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %rows, %c0 : tensor<?xindex>
  %1 = tensor.empty(%n) : tensor<?x32xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<?xindex>) outs(%1 : tensor<?x32xf32>) {
  ^bb0(%row: index, %out: f32):
    %j = linalg.index 1 : index
    %5 = tensor.extract %0[%row, %j] : tensor<50x32xf32>
    linalg.yield %5 : f32
  } -> tensor<?x32xf32>
  %3 = tensor.empty() : tensor<f32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<f32>) -> tensor<f32>
  %6 = linalg.reduce {arith.addf} ins(%2 : tensor<?x32xf32>) outs(%4 : tensor<f32>) dimensions = [0, 1]
  return %6 : tensor<f32>
}

// -----

// A part, from a place that is not known, of what is made.
// CHECK: mlopt.fusion = ["exp -> extract_slice: a slice from a place that is not known before is read from memory"]
// CHECK-LABEL: @slice
func.func @slice(%x: tensor<64x128xf32>, %at: index) -> (tensor<16x128xf32>) {
  %0 = math.exp %x : tensor<64x128xf32>
  %1 = tensor.extract_slice %0[%at, 0] [16, 128] [1, 1] : tensor<64x128xf32> to tensor<16x128xf32>
  %2 = math.log %1 : tensor<16x128xf32>
  return %2 : tensor<16x128xf32>
}

// -----

// Zeros that are put somewhere are written once, by a kernel of their own.
// CHECK: mlopt.fusion = ["fill -> concat: a fill goes with what starts from it only"]
// CHECK-LABEL: @concat
func.func @concat(%x: tensor<64x128xf32>) -> (tensor<80x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x128xf32>) -> tensor<16x128xf32>
  %2 = tensor.concat dim(0) %1, %x : (tensor<16x128xf32>, tensor<64x128xf32>) -> tensor<80x128xf32>
  return %2 : tensor<80x128xf32>
}

// -----

// What is computed ahead of a window, padded or not, is nowhere in memory.
// CHECK: mlopt.fusion = ["exp -> max_pool: what a window reads is needed elsewhere as well"]
// CHECK-LABEL: @window
func.func @window(%x: tensor<1x8x16x16xf32>) -> (tensor<1x8x14x14xf32>, tensor<1x8x16x16xf32>) {
  %least = arith.constant 0xFF800000 : f32
  %0 = math.exp %x : tensor<1x8x16x16xf32>
  %1 = tensor.empty() : tensor<3x3xf32>
  %2 = tensor.empty() : tensor<1x8x14x14xf32>
  %3 = linalg.fill ins(%least : f32) outs(%2 : tensor<1x8x14x14xf32>) -> tensor<1x8x14x14xf32>
  %4 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
      ins(%0, %1 : tensor<1x8x16x16xf32>, tensor<3x3xf32>) outs(%3 : tensor<1x8x14x14xf32>) -> tensor<1x8x14x14xf32>
  return %4, %0 : tensor<1x8x14x14xf32>, tensor<1x8x16x16xf32>
}

// -----

// CHECK: mlopt.fusion = ["exp -> pad: what a window reads is needed elsewhere as well"]
// CHECK-LABEL: @padded_window
func.func @padded_window(%x: tensor<1x8x14x14xf32>) -> (tensor<1x8x14x14xf32>, tensor<1x8x14x14xf32>) {
  %least = arith.constant 0xFF800000 : f32
  %0 = math.exp %x : tensor<1x8x14x14xf32>
  %p = tensor.pad %0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %least : f32
  } : tensor<1x8x14x14xf32> to tensor<1x8x16x16xf32>
  %1 = tensor.empty() : tensor<3x3xf32>
  %2 = tensor.empty() : tensor<1x8x14x14xf32>
  %3 = linalg.fill ins(%least : f32) outs(%2 : tensor<1x8x14x14xf32>) -> tensor<1x8x14x14xf32>
  %4 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
      ins(%p, %1 : tensor<1x8x16x16xf32>, tensor<3x3xf32>) outs(%3 : tensor<1x8x14x14xf32>) -> tensor<1x8x14x14xf32>
  return %4, %0 : tensor<1x8x14x14xf32>, tensor<1x8x14x14xf32>
}

// -----

// Each of a vector's elements with each: a tile would need two parts of the vector.
// CHECK: mlopt.fusion = ["exp -> mul: loops 0 and 1 of mul would be the same loop: it reads what exp makes along both"]
// CHECK-LABEL: @outer
func.func @outer(%v: tensor<64xf32>) -> tensor<64x64xf32> {
  %0 = math.exp %v : tensor<64xf32>
  %1 = tensor.empty() : tensor<64x64xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0, %0 : tensor<64xf32>, tensor<64xf32>) outs(%1 : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %3 = arith.mulf %a, %b : f32
    linalg.yield %3 : f32
  } -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

// Attention among what attention makes.
#weights = affine_map<(b, m, d, n) -> (b, m, n)>
#values = affine_map<(b, m, d, n) -> (b, n, d)>
#sums = affine_map<(b, m, d, n) -> (b, m, d)>
// CHECK: mlopt.fusion = ["attention -> attention: a kernel has one attention or contraction behind it, attention would be another one"]
// CHECK-LABEL: @attention_of_attention
func.func @attention_of_attention(%t: tensor<4x32x32xf32>, %v: tensor<4x32x32xf32>, %w: tensor<4x32x8xf32>) -> tensor<4x32x8xf32> {
  %e = tensor.empty() : tensor<4x32x32xf32>
  %s = "mlopt.attention"(%t, %v, %e) {indexing_maps = [#weights, #values, #sums], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], mlopt.op = "attention", zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<4x32x32xf32>, tensor<4x32x32xf32>, tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
  %e2 = tensor.empty() : tensor<4x32x8xf32>
  %r = "mlopt.attention"(%s, %w, %e2) {indexing_maps = [#weights, #values, #sums], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], mlopt.op = "attention", zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<4x32x32xf32>, tensor<4x32x8xf32>, tensor<4x32x8xf32>) -> tensor<4x32x8xf32>
  return %r : tensor<4x32x8xf32>
}

// -----

// What is read at the sum of two loops is no tile of what is made.
// CHECK: mlopt.fusion = ["exp -> {{.*}}: what is made in the kernel is read there, along dim 0, at d0 + d1, computed of loops"]
// CHECK-LABEL: @diagonals
func.func @diagonals(%x: tensor<95xf32>) -> tensor<64x32xf32> {
  %0 = math.exp %x : tensor<95xf32>
  %1 = tensor.empty() : tensor<64x32xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<95xf32>) outs(%1 : tensor<64x32xf32>) {
  ^bb0(%a: f32, %out: f32):
    %3 = arith.negf %a : f32
    linalg.yield %3 : f32
  } -> tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}
