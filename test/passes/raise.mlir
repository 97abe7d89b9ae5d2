// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' --split-input-file | FileCheck %s

// A bias that a matmul starts from is added behind it; the matmul starts from zero.
// CHECK-LABEL: func.func @linear
// CHECK: %[[T:.*]] = linalg.generic {{.*}}{mlopt.op = "transpose"}
// CHECK: %[[Z:.*]] = linalg.fill ins(%cst
// CHECK: %[[M:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]{{.*}} ins(%arg0, %[[T]] {{.*}} outs(%[[Z]] {{.*}}{mlopt.op = "matmul"}
// CHECK: linalg.generic {{.*}} ins(%[[M]], %arg2 {{.*}}{mlopt.op = "add"}
func.func @linear(%x: tensor<4x16xf32>, %w: tensor<32x16xf32>, %b: tensor<32xf32>) -> tensor<4x32xf32> {
  %0 = tensor.empty() : tensor<16x32xf32>
  %t = linalg.transpose ins(%w : tensor<32x16xf32>) outs(%0 : tensor<16x32xf32>) permutation = [1, 0]
  %1 = tensor.empty() : tensor<4x32xf32>
  %bb = linalg.broadcast ins(%b : tensor<32xf32>) outs(%1 : tensor<4x32xf32>) dimensions = [0]
  %m = linalg.matmul ins(%x, %t : tensor<4x16xf32>, tensor<16x32xf32>) outs(%bb : tensor<4x32xf32>) -> tensor<4x32xf32>
  return %m : tensor<4x32xf32>
}

// -----

// The argmax that nobody reads goes, and with it the second accumulator. A dim that is kept as 1 goes too.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: func.func @amax
// CHECK-NOT: i64
// CHECK: %[[E:.*]] = tensor.empty() : tensor<5xf32>
// CHECK: linalg.generic {{.*}}outs({{.*}} : tensor<5xf32>) attrs = {mlopt.op = "amax"}
// CHECK: tensor.expand_shape {{.*}} : tensor<5xf32> into tensor<5x1xf32>
func.func @amax(%x: tensor<5x7xf32>) -> tensor<5x1xf32> {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %0 = tensor.empty() : tensor<5x1xf32>
  %1 = linalg.fill ins(%ninf : f32) outs(%0 : tensor<5x1xf32>) -> tensor<5x1xf32>
  %2 = tensor.empty() : tensor<5x1xi64>
  %3 = linalg.fill ins(%zero : i64) outs(%2 : tensor<5x1xi64>) -> tensor<5x1xi64>
  %m:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x7xf32>) outs(%1, %3 : tensor<5x1xf32>, tensor<5x1xi64>) {
  ^bb0(%in: f32, %max: f32, %arg: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %a = arith.maximumf %in, %max : f32
    %c = arith.cmpf ogt, %in, %max : f32
    %s = arith.select %c, %j, %arg : i64
    linalg.yield %a, %s : f32, i64
  } -> (tensor<5x1xf32>, tensor<5x1xi64>)
  return %m#0 : tensor<5x1xf32>
}

// -----

// A strided convolution of an odd size reads it in steps, through its padding; the weights get their channels last.
// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 2 + d5, d3 * 2 + d6)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d1)>
// CHECK-LABEL: func.func @conv
// CHECK: %[[F:.*]] = linalg.fill {{.*}} : tensor<2x3x19x19xf32>
// CHECK: %[[P:.*]] = tensor.insert_slice %arg0 into %[[F]][0, 0, 1, 1] [2, 3, 17, 17] [1, 1, 1, 1] {mlopt.op = "pad"}
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%arg1 {{.*}} : tensor<3x3x3x8xf32>) attrs = {mlopt.op = "transpose"}
// CHECK: linalg.generic {indexing_maps = [#[[IN]], #[[W]], {{.*}} ins(%[[P]], %[[T]] {{.*}}{mlopt.op = "conv2d"}
func.func @conv(%x: tensor<2x3x17x17xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<2x8x9x9xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<2x3x17x17xf32> to tensor<2x3x19x19xf32>
  %0 = tensor.empty() : tensor<2x8x9x9xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x8x9x9xf32>) -> tensor<2x8x9x9xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
      ins(%p, %w : tensor<2x3x19x19xf32>, tensor<8x3x3x3xf32>) outs(%1 : tensor<2x8x9x9xf32>) -> tensor<2x8x9x9xf32>
  return %r : tensor<2x8x9x9xf32>
}

// -----

// In steps of three a row cannot be read: the padding grows to a multiple of the stride.
// CHECK: affine_map<(d0, d1, d2) -> (d0, d1 + d2 floordiv 3, d2 mod 3)>
// CHECK-LABEL: func.func @thirds
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 1] [2, 16] [1, 1] {mlopt.op = "pad"} : tensor<2x16xf32> into tensor<2x18xf32>
// CHECK: tensor.expand_shape {{.*}} into tensor<2x6x3xf32>
func.func @thirds(%x: tensor<1x2x16xf32>) -> tensor<1x2x5xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1] high[0, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %zero : f32
  } : tensor<1x2x16xf32> to tensor<1x2x17xf32>
  %0 = tensor.empty() : tensor<1x2x5xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  %w = tensor.empty() : tensor<4xf32>
  %r = linalg.pooling_ncw_sum {dilations = dense<1> : vector<1xi64>, strides = dense<3> : vector<1xi64>}
      ins(%p, %w : tensor<1x2x17xf32>, tensor<4xf32>) outs(%1 : tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  return %r : tensor<1x2x5xf32>
}

// -----

// The window of a pooling stays as an operand that nobody reads: it shows the extents of its loops.
// CHECK-LABEL: func.func @pool
// CHECK: %[[W:.*]] = tensor.empty() : tensor<2x3xf32>
// CHECK: linalg.generic {{.*}} ins({{.*}}, %[[W]] : {{.*}}{mlopt.op = "max_pool"}
func.func @pool(%x: tensor<2x4x8x9xf32>) -> tensor<2x4x7x7xf32> {
  %ninf = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<2x4x7x7xf32>
  %1 = linalg.fill ins(%ninf : f32) outs(%0 : tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %w = tensor.empty() : tensor<2x3xf32>
  %r = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
      ins(%x, %w : tensor<2x4x8x9xf32>, tensor<2x3xf32>) outs(%1 : tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  return %r : tensor<2x4x7x7xf32>
}

// -----

// CHECK-LABEL: func.func @concat
// CHECK: %[[E:.*]] = tensor.empty(%{{.*}}) : tensor<?x8xf32>
// CHECK: %[[A:.*]] = tensor.insert_slice %arg0 into %[[E]][0, 0] {{.*}}{mlopt.op = "concat"}
// CHECK: tensor.insert_slice %arg1 into %[[A]][0, 3]
func.func @concat(%x: tensor<?x3xf32>, %y: tensor<?x5xf32>) -> tensor<?x8xf32> {
  %c = tensor.concat dim(1) %x, %y : (tensor<?x3xf32>, tensor<?x5xf32>) -> tensor<?x8xf32>
  return %c : tensor<?x8xf32>
}

// -----

// Indices from memory are checked; the reciprocal's assert, which eager does not have, goes.
#i = affine_map<(d0, d1) -> (d0)>
#o = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @gather
// CHECK: %[[OK:.*]] = arith.cmpi ult, %[[I:.*]], %c10 : index
// CHECK-NEXT: cf.assert %[[OK]], "IndexError: index out of range in self"
// CHECK-NEXT: %[[S:.*]] = arith.select %[[OK]], %[[I]], %c0 : index
// CHECK-NEXT: tensor.extract %arg0[%[[S]], %{{.*}}]
// CHECK-NOT: cf.assert
func.func @gather(%t: tensor<10x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : i64
  %0 = tensor.empty() : tensor<3x4xf32>
  %g = linalg.generic {indexing_maps = [#i, #o], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<3xi64>) outs(%0 : tensor<3x4xf32>) {
  ^bb0(%in: i64, %out: f32):
    %j = arith.index_cast %in : i64 to index
    %k = linalg.index 1 : index
    %c = arith.cmpi sge, %in, %c0 : i64
    cf.assert %c, "index must be larger or equal to 0"
    %e = tensor.extract %t[%j, %k] : tensor<10x4xf32>
    linalg.yield %e : f32
  } -> tensor<3x4xf32>
  %r = linalg.generic {indexing_maps = [#o, #o], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %c = arith.cmpf one, %in, %zero : f32
    cf.assert %c, "unimplemented: tensor with zero element"
    %d = arith.divf %one, %in : f32
    linalg.yield %d : f32
  } -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----

// bf16 operands are read as bf16, and splat constants as scalars.
#id = affine_map<(d0, d1) -> (d0, d1)>
#s = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func @narrow
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4x8xbf16>, tensor<8x16xf32>) {{.*}}{mlopt.op = "matmul"}
// CHECK-NEXT: ^bb0(%[[A:.*]]: bf16,
// CHECK-NEXT: arith.extf %[[A]] : bf16 to f32
// CHECK: linalg.generic {indexing_maps = [#{{[a-z0-9]*}}, #{{[a-z0-9]*}}], {{.*}}{mlopt.op = "mul"}
// CHECK: arith.mulf %{{.*}}, %cst
func.func @narrow(%x: tensor<4x8xbf16>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant dense<0.5> : tensor<f32>
  %0 = tensor.empty() : tensor<4x8xf32>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xbf16>) outs(%0 : tensor<4x8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %e = arith.extf %in : bf16 to f32
    linalg.yield %e : f32
  } -> tensor<4x8xf32>
  %1 = tensor.empty() : tensor<4x16xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %m = linalg.matmul ins(%wide, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%2 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #s, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %half : tensor<4x16xf32>, tensor<f32>) outs(%1 : tensor<4x16xf32>) {
  ^bb0(%in: f32, %h: f32, %out: f32):
    %p = arith.mulf %in, %h : f32
    linalg.yield %p : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// A large sum of everything is a sum of parts, four rows each, and one of their sums; its squares stay with the first.
#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func @total
// CHECK: %[[P:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "reduction"]} ins(%{{.*}} : tensor<64x4x128xf32>) outs(%{{.*}} : tensor<64xf32>) attrs = {mlopt.op = "sum"}
// CHECK: arith.mulf
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]{{.*}} ins(%[[P]] : tensor<64xf32>) outs(%{{.*}} : tensor<f32>) attrs = {mlopt.op = "sum"}
// CHECK-NOT: arith.mulf
func.func @total(%x: tensor<256x128xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<256x128xf32>) outs(%1 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %in : f32
    %b = arith.addf %a, %out : f32
    linalg.yield %b : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// The tensor that a buffer becomes is taken behind the loop that fills the buffer.
// CHECK-LABEL: func.func @cumulative
// CHECK: %[[A:.*]] = memref.alloc
// CHECK-NEXT: scf.for %
// CHECK: %[[T:.*]] = bufferization.to_tensor %[[A]]
// CHECK-NEXT: return %[[T]]
func.func @cumulative(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %alloc = memref.alloc() : memref<8xf32>
  %t = bufferization.to_tensor %alloc restrict : memref<8xf32> to tensor<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = tensor.extract %x[%i] : tensor<8xf32>
    memref.store %v, %alloc[%i] : memref<8xf32>
  }
  return %t : tensor<8xf32>
}

// -----

// Tensors made by index are generics; padding that varies, too. What a pad crops is a part.
// CHECK-LABEL: func.func @by_index
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x?xf32>) attrs = {mlopt.op = "generate"}
// CHECK: linalg.index 1
// CHECK: %[[S:.*]] = tensor.extract_slice %{{.*}}[0, 0] [4, %{{.*}}] [1, 1] : tensor<4x?xf32> to tensor<4x?xf32>
// CHECK: tensor.insert_slice %[[S]] into %{{.*}}[0, 1] [4, %{{.*}}] [1, 1]
func.func @by_index(%n: index) -> tensor<4x?xf32> {
  %g = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %s = arith.index_cast %j : index to i32
    %f = arith.sitofp %s : i32 to f32
    tensor.yield %f : f32
  } : tensor<4x?xf32>
  %p = tensor.pad %g low[0, 1] high[0, -2] {
  ^bb0(%i: index, %j: index):
    %s = arith.index_cast %i : index to i32
    %f = arith.sitofp %s : i32 to f32
    tensor.yield %f : f32
  } : tensor<4x?xf32> to tensor<4x?xf32>
  return %p : tensor<4x?xf32>
}

// -----

// A splat is read in the body; a reduction that starts from a constant starts from a fill.
// CHECK-LABEL: func.func @filled
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[S:.*]]: f32
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x8xf32>)
// CHECK: arith.mulf %{{.*}}, %[[S]]
// CHECK: %[[F:.*]] = linalg.fill ins(%{{.*}}) outs(%{{.*}} : tensor<4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[P]] {{.*}} outs(%[[F]]
func.func @filled(%x: tensor<4x8xf32>, %s: f32) -> tensor<4xf32> {
  %all = tensor.splat %s : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %p = linalg.mul ins(%x, %all : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %ones = arith.constant dense<1.0> : tensor<4xf32>
  %r = linalg.reduce { arith.addf } ins(%p : tensor<4x8xf32>) outs(%ones : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}

// A constant of one number that is no operand of a generic is filled in.
// CHECK-LABEL: @constant_result
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-DAG: %[[E:.*]] = tensor.empty() : tensor<5x7xf32>
// CHECK: %[[F:.*]] = linalg.fill ins(%[[TWO]] : f32) outs(%[[E]]
// CHECK: return %[[F]]
func.func @constant_result() -> tensor<5x7xf32> {
  %c = arith.constant dense<2.0> : tensor<5x7xf32>
  return %c : tensor<5x7xf32>
}

// A reduction over a dim of one element is element-wise, and knows the number that it starts from.
// CHECK-LABEL: @of_one
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%{{.*}} : tensor<4xf32>) outs(%{{.*}} : tensor<4xf32>)
// CHECK: arith.addf %{{.*}}, %cst
func.func @of_one(%x: tensor<4x1xf32>) -> tensor<4xf32> {
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%two : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<4x1xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}

// -----

// A window with one place along a dim: the loop over it ends before the dim does.
// CHECK: #[[PART:.*]] = affine_map<(d0, d1, d2) -> (d0 + d1, d2 mod 4)>
// CHECK-LABEL: @one_place
// CHECK: linalg.generic {indexing_maps = [#[[PART]], {{.*}} ins(%{{.*}}, %{{.*}} : tensor<6x4xf32>, tensor<3x2xf32>)
func.func @one_place(%x: tensor<6x4xf32>, %w: tensor<3x2xf32>) -> tensor<4x1xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x1xf32>) -> tensor<4x1xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k, l) -> (i + k, j * 3 + l)>, affine_map<(i, j, k, l) -> (k, l)>, affine_map<(i, j, k, l) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<6x4xf32>, tensor<3x2xf32>) outs(%f : tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x1xf32>
  return %r : tensor<4x1xf32>
}

// -----

// A power by an integer is one by a float, of which there are vectors; a narrow one in f32, which holds the integer.
// CHECK-LABEL: @powers
// CHECK: %[[BY:.*]] = arith.constant 5.000000e+00 : f32
// CHECK: math.powf %{{.*}}, %[[BY]] : f32
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[N:.*]] = arith.sitofp %{{.*}} : i64 to f32
// CHECK: %[[Y:.*]] = math.powf %[[WIDE]], %[[N]] : f32
// CHECK: arith.truncf %[[Y]] : f32 to f16
#id = affine_map<(i) -> (i)>
func.func @powers(%x: tensor<4xf32>, %h: tensor<4xf16>, %n: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf16>) {
  %five = arith.constant 5 : i64
  %e = tensor.empty() : tensor<4xf32>
  %eh = tensor.empty() : tensor<4xf16>
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.fpowi %a, %five : f32, i64
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%h, %n : tensor<4xf16>, tensor<4xi64>) outs(%eh : tensor<4xf16>) {
  ^bb0(%a: f16, %b: i64, %o: f16):
    %y = math.fpowi %a, %b : f16, i64
    linalg.yield %y : f16
  } -> tensor<4xf16>
  return %p, %q : tensor<4xf32>, tensor<4xf16>
}

// -----

// Bytes that are cast before they are transposed, as the weights of a linear layer, or joined, as its rows, are
// multiplied as bytes.
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#ijk = affine_map<(i, j, k) -> (i, j, k)>
// CHECK-LABEL: @cast_before_views
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<2x3x8xi8>, %[[W:[a-z0-9]*]]: tensor<16x8xi8>
// CHECK-DAG: %[[ROWS:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<2x3x8xi8> into tensor<6x8xi8>
// CHECK-DAG: %[[T:.*]] = linalg.generic {{.*}} ins(%[[W]] : tensor<16x8xi8>) outs(%{{.*}} : tensor<8x16xi8>) {{.*}}{mlopt.op = "transpose"}
// CHECK: linalg.generic {{.*}} ins(%[[ROWS]], %[[T]] : tensor<6x8xi8>, tensor<8x16xi8>) {{.*}}{mlopt.op = "matmul"}
// CHECK-NEXT: ^bb0(%[[A:.*]]: i8, %[[B:.*]]: i8,
// CHECK-DAG: arith.extsi %[[A]] : i8 to i32
// CHECK-DAG: arith.extsi %[[B]] : i8 to i32
func.func @cast_before_views(%x: tensor<2x3x8xi8>, %w: tensor<16x8xi8>) -> tensor<6x16xi32> {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<2x3x8xi32>
  %wide = linalg.generic {indexing_maps = [#ijk, #ijk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x3x8xi8>) outs(%0 : tensor<2x3x8xi32>) {
  ^bb0(%in: i8, %out: i32):
    %e = arith.extsi %in : i8 to i32
    linalg.yield %e : i32
  } -> tensor<2x3x8xi32>
  %rows = tensor.collapse_shape %wide [[0, 1], [2]] : tensor<2x3x8xi32> into tensor<6x8xi32>
  %1 = tensor.empty() : tensor<16x8xi32>
  %weights = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x8xi8>) outs(%1 : tensor<16x8xi32>) {
  ^bb0(%in: i8, %out: i32):
    %e = arith.extsi %in : i8 to i32
    linalg.yield %e : i32
  } -> tensor<16x8xi32>
  %2 = tensor.empty() : tensor<8x16xi32>
  %turned = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%weights : tensor<16x8xi32>) outs(%2 : tensor<8x16xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<8x16xi32>
  %3 = tensor.empty() : tensor<6x16xi32>
  %f = linalg.fill ins(%zero : i32) outs(%3 : tensor<6x16xi32>) -> tensor<6x16xi32>
  %r = linalg.matmul ins(%rows, %turned : tensor<6x8xi32>, tensor<8x16xi32>) outs(%f : tensor<6x16xi32>) -> tensor<6x16xi32>
  return %r : tensor<6x16xi32>
}
