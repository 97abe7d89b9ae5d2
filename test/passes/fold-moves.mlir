// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fold-moves)' --split-input-file | FileCheck %s

// A slice and a transpose of a contraction's operand become its indexing map: the innermost loop stays innermost.
#tr = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#a = affine_map<(b, m, n, k) -> (b, m, k)>
#b = affine_map<(b, m, n, k) -> (b, k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d0 mod 8, d3)>
// CHECK-DAG: #[[V:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d0 + 4, d2)>
// CHECK: mlopt.rewrites = {"mlopt-fold-moves" = [{bytes = 8192 : i64, {{.*}}ops = "transpose", reason = "", seconds = {{[1-9].*}}ops = "slice", reason = ""
// CHECK-LABEL: func.func @heads
// CHECK: %[[E:.*]] = tensor.expand_shape %arg0 {{.*}} into tensor<16x8x16xf32>
// CHECK-NOT: extract_slice
// CHECK: linalg.generic {indexing_maps = [#[[Q]], #[[V]], {{.*}} ins(%[[E]], %{{.*}} : tensor<16x8x16xf32>, tensor<16x8x16xf32>)
func.func @heads(%x: tensor<16x128xf32>, %init: tensor<4x16x16xf32>) -> tensor<4x16x16xf32> {
  %e = tensor.empty() : tensor<4x16x16xf32>
  %q = tensor.extract_slice %x[0, 0] [16, 64] [1, 1] : tensor<16x128xf32> to tensor<16x64xf32>
  %v = tensor.extract_slice %x[0, 64] [16, 64] [1, 1] : tensor<16x128xf32> to tensor<16x64xf32>
  %q3 = tensor.expand_shape %q [[0], [1, 2]] output_shape [16, 4, 16] : tensor<16x64xf32> into tensor<16x4x16xf32>
  %v3 = tensor.expand_shape %v [[0], [1, 2]] output_shape [16, 4, 16] : tensor<16x64xf32> into tensor<16x4x16xf32>
  %qt = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q3 : tensor<16x4x16xf32>) outs(%e : tensor<4x16x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x16x16xf32>
  %vt = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v3 : tensor<16x4x16xf32>) outs(%e : tensor<4x16x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x16x16xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%qt, %vt : tensor<4x16x16xf32>, tensor<4x16x16xf32>) outs(%init : tensor<4x16x16xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x16x16xf32>
  return %r : tensor<4x16x16xf32>
}

// -----

// A slice of all of a dynamic dim, and a broadcast that many read.
#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[S:.*]] = affine_map<(d0, d1) -> (d0, d1 + 3)>
// CHECK-DAG: #[[R:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: mlopt.op = "broadcast"
// CHECK: linalg.generic {indexing_maps = [#[[S]], #[[R]], #{{.*}}], {{.*}} ins(%arg0, %arg1 :
func.func @dynamic(%x: tensor<?x8xf32>, %v: tensor<?xf32>) -> tensor<?x5xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<?x5xf32>
  %s = tensor.extract_slice %x[0, 3] [%d, 5] [1, 1] : tensor<?x8xf32> to tensor<?x5xf32>
  %b = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<?xf32>) outs(%e : tensor<?x5xf32>) attrs = {mlopt.op = "broadcast"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %b : tensor<?x5xf32>, tensor<?x5xf32>) outs(%e : tensor<?x5xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<?x5xf32>
  return %r : tensor<?x5xf32>
}

// -----

// An epilogue runs on the rows of its matmul; what it reads besides is collapsed, and the view goes behind it.
#id3 = affine_map<(i, j, k) -> (i, j, k)>
#last = affine_map<(i, j, k) -> (k)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @rows
// CHECK: %[[M:.*]] = linalg.generic {{.*}}{mlopt.op = "twice"}
// CHECK: %[[X:.*]] = tensor.collapse_shape %arg2 {{.*}} into tensor<?x8xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]{{.*}} ins(%[[M]], %arg1, %[[X]] : {{.*}}{mlopt.op = "add"}
// CHECK: tensor.expand_shape %[[R]] {{.*}} into tensor<?x3x8xf32>
func.func @rows(%m: tensor<?x8xf32>, %bias: tensor<8xf32>, %x: tensor<?x3x8xf32>) -> tensor<?x3x8xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %b = tensor.dim %x, %c0 : tensor<?x3x8xf32>
  %n = arith.muli %b, %c3 : index
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) attrs = {mlopt.op = "twice"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  } -> tensor<?x8xf32>
  // The size comes back to what it was.
  // CHECK-NOT: arith.divsi
  %d = arith.divsi %n, %c3 : index
  %v = tensor.expand_shape %t [[0, 1], [2]] output_shape [%d, 3, 8] : tensor<?x8xf32> into tensor<?x3x8xf32>
  %f = tensor.empty(%d) : tensor<?x3x8xf32>
  %r = linalg.generic {indexing_maps = [#id3, #last, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %bias, %x : tensor<?x3x8xf32>, tensor<8xf32>, tensor<?x3x8xf32>) outs(%f : tensor<?x3x8xf32>)
      attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %s: f32, %out: f32):
    %0 = arith.addf %p, %q : f32
    %1 = arith.addf %0, %s : f32
    linalg.yield %1 : f32
  } -> tensor<?x3x8xf32>
  return %r : tensor<?x3x8xf32>
}

// -----

// An expand of a dynamic dim, which may be one element, is a copy where the sizes are the same.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @expand
// CHECK-NOT: tensor.extract
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<?x8xf32>)
func.func @expand(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<?x8xf32>
  %g = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<?x8xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %one = arith.cmpi eq, %d, %c1 : index
    %k = arith.select %one, %c0, %i : index
    %v = tensor.extract %x[%k, %j] : tensor<?x8xf32>
    linalg.yield %v : f32
  } -> tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}

// -----

// A slice of a slice, both from 0 on: each dim stays marked as the part that it is.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[P:.*]] = affine_map<(d0, d1) -> (d0 mod 9, d1 mod 8)>
// CHECK-LABEL: func.func @slice_of_slice
// CHECK: linalg.generic {indexing_maps = [#[[P]], #{{.*}}], {{.*}} ins(%arg0 :
func.func @slice_of_slice(%x: tensor<9x8xf32>) -> tensor<4x5xf32> {
  %e = tensor.empty() : tensor<4x5xf32>
  %rows = tensor.extract_slice %x[0, 0] [4, 8] [1, 1] : tensor<9x8xf32> to tensor<4x8xf32>
  %s = tensor.extract_slice %rows[0, 0] [4, 5] [1, 1] : tensor<4x8xf32> to tensor<4x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x5xf32>) outs(%e : tensor<4x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}

// -----

// What is gathered of an element-wise result is computed from what that is made of: x at the gathered place, the
// row's number by the loop, the class's weight and number at the gathered place.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#unit = affine_map<(d0, d1) -> (d0, 0)>
#one = affine_map<(d0) -> (d0)>
// CHECK-DAG: #[[UNIT:.*]] = affine_map<(d0) -> (d0, 0)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @gathered
// CHECK-NOT: mlopt.op = "sub"
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[UNIT]], #[[ID]], #[[ID]]], {{.*}} ins(%arg3, %arg4, %arg1 :
// CHECK: ^bb0(%[[T:.*]]: i64, %[[U:.*]]: f32, %[[M:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: arith.index_cast %[[T]]
// CHECK: cf.assert
// CHECK: %[[J:.*]] = arith.select
// CHECK: %[[X:.*]] = tensor.extract %arg0[%[[I]], %[[J]]]
// CHECK: %[[A:.*]] = arith.subf %[[X]], %[[M]]
// CHECK: %[[W:.*]] = tensor.extract %arg2[%[[J]]]
// CHECK: %[[B:.*]] = arith.mulf %[[A]], %[[W]]
// CHECK: arith.addf %[[B]], %[[U]]
// CHECK: arith.index_cast %[[J]]
func.func @gathered(%x: tensor<?x100xf32>, %m: tensor<?xf32>, %w: tensor<100xf32>, %t: tensor<?xi64>,
                    %u: tensor<?x1xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = arith.constant 100 : index
  %d = tensor.dim %x, %c0 : tensor<?x100xf32>
  %e = tensor.empty(%d) : tensor<?x100xf32>
  %s = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<?x100xf32>, tensor<?xf32>) outs(%e : tensor<?x100xf32>) attrs = {mlopt.op = "sub"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x100xf32>
  %p = linalg.generic {indexing_maps = [#id, #column, #unit, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %w, %u : tensor<?x100xf32>, tensor<100xf32>, tensor<?x1xf32>) outs(%e : tensor<?x100xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = linalg.index 1 : index
    %3 = arith.index_cast %2 : index to i64
    %4 = arith.sitofp %3 : i64 to f32
    %5 = arith.mulf %1, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<?x100xf32>
  %f = tensor.empty(%d) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%t : tensor<?xi64>) outs(%f : tensor<?xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%a: i64, %out: f32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %a : i64 to index
    %2 = arith.cmpi ult, %1, %n : index
    cf.assert %2, "IndexError: index out of range in self"
    %3 = arith.select %2, %1, %c0 : index
    %4 = tensor.extract %p[%0, %3] : tensor<?x100xf32>
    linalg.yield %4 : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// What is read beside a collapsed contraction is split as that was, whatever it was collapsed from itself.
// CHECK-LABEL: func.func @two_collapses
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %arg2 {{.*}} : tensor<4x8xf32> into tensor<32xf32>
// CHECK: %[[OTHER:.*]] = tensor.expand_shape %[[FLAT]] {{.*}} : tensor<32xf32> into tensor<8x4xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[OTHER]] : tensor<8x4xf32>, tensor<8x4xf32>)
func.func @two_collapses(%x: tensor<8x2xf32>, %y: tensor<2x4xf32>, %z: tensor<4x8xf32>) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                        affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<8x2xf32>, tensor<2x4xf32>) outs(%f : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  %p = tensor.collapse_shape %m [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
  %q = tensor.collapse_shape %z [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %g = tensor.empty() : tensor<32xf32>
  %r = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}
      ins(%p, %q : tensor<32xf32>, tensor<32xf32>) outs(%g : tensor<32xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  return %r : tensor<32xf32>
}

// -----

// A product reads factors that are no weights where they are: transposed on the right, or on the left.
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-DAG: #[[MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[KM:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[KN:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[NK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @transposed
// CHECK-NOT: "transpose"
// CHECK: linalg.generic {indexing_maps = [#[[MK]], #[[NK]], {{.*}} ins(%arg0, %arg1 :
// CHECK-NOT: "transpose"
// CHECK: linalg.generic {indexing_maps = [#[[KM]], #[[KN]], {{.*}} ins(%arg0, %arg2 :
func.func @transposed(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %y: tensor<4x16xf32>, %init: tensor<4x16xf32>,
    %other: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<8x16xf32>) {
  %e = tensor.empty() : tensor<8x16xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x16xf32>
  %f = tensor.empty() : tensor<8x4xf32>
  %u = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%f : tensor<8x4xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%u, %y : tensor<8x4xf32>, tensor<4x16xf32>) outs(%other : tensor<8x16xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x16xf32>
  return %r, %q : tensor<4x16xf32>, tensor<8x16xf32>
}

// -----

// So does one that reads batches of a transposed tensor joined; sizes that are not known come from the original.
#tr = affine_map<(b, h, d, n) -> (b, h, n, d)>
#id = affine_map<(b, h, d, n) -> (b, h, d, n)>
#a = affine_map<(b, m, n, d) -> (b, m, d)>
#b = affine_map<(b, m, n, d) -> (b, d, n)>
#c = affine_map<(b, m, n, d) -> (b, m, n)>
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-LABEL: func.func @joined_batches
// CHECK-SAME: (%[[X:[^:]*]]: tensor<6x4x8xf32>, %[[Y:[^:]*]]: tensor<2x3x?x8xf32>
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[Y]] {{\[\[}}0, 1], [2], [3]] : tensor<2x3x?x8xf32> into tensor<6x?x8xf32>
// CHECK-NOT: "transpose"
// CHECK: linalg.generic {indexing_maps = [#[[Q]], #[[K]], {{.*}} ins(%[[X]], %[[C]] :
func.func @joined_batches(%x: tensor<6x4x8xf32>, %y: tensor<2x3x?x8xf32>, %init: tensor<6x4x?xf32>, %n: index) -> tensor<6x4x?xf32> {
  %e = tensor.empty(%n) : tensor<2x3x8x?xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<2x3x?x8xf32>) outs(%e : tensor<2x3x8x?xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x3x8x?xf32>
  %f = tensor.collapse_shape %t [[0, 1], [2], [3]] : tensor<2x3x8x?xf32> into tensor<6x8x?xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %f : tensor<6x4x8xf32>, tensor<6x8x?xf32>) outs(%init : tensor<6x4x?xf32>) {
  ^bb0(%p: f32, %s: f32, %out: f32):
    %0 = arith.mulf %p, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<6x4x?xf32>
  return %r : tensor<6x4x?xf32>
}
