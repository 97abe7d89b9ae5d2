// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{choices=3})' | FileCheck %s --check-prefix=ALL
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{choices="conv:1 relu:4"})' | FileCheck %s --check-prefix=SOME
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{vector-bits=256})' | FileCheck %s --check-prefix=NARROW

// Another candidate than the first: for all kernels, or for some.
// ALL: @relu{{.*}} mlopt.schedule = {tile = array<i64: 13, 0>}
// ALL: @conv{{.*}} mlopt.schedule = {tile = array<i64: 0, 64, 1, 14, 4, 1, 1>}
// SOME: @relu{{.*}} mlopt.schedule = {tile = array<i64: 31, 0>}
// SOME: @transpose{{.*}} mlopt.schedule = {tile = array<i64: 64, 64>
// SOME: @conv{{.*}} mlopt.schedule = {tile = array<i64: 0, 64, 1, 0, 4, 1, 1>}

// Whole innermost rows, as many as make a task of some thousand elements.
// CHECK-LABEL: @relu
// CHECK-SAME: mlopt.bytes = 8008000 : i64, mlopt.flops = 1001000 : i64
// CHECK-SAME: mlopt.schedule = {tile = array<i64: 7, 0>}
func.func private @relu(%x: tensor<1001x1000xf32>, %out: tensor<1001x1000xf32>) -> tensor<1001x1000xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1001x1000xf32>) outs(%out : tensor<1001x1000xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %a, %zero : f32
    linalg.yield %y : f32
  } -> tensor<1001x1000xf32>
  return %r : tensor<1001x1000xf32>
}

// Both sides of a transpose are contiguous somewhere: square tiles.
// CHECK-LABEL: @transpose
// CHECK-SAME: tile = array<i64: 64, 64>
func.func private @transpose(%x: tensor<1000x1001xf32>, %out: tensor<1001x1000xf32>) -> tensor<1001x1000xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1000x1001xf32>) outs(%out : tensor<1001x1000xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1001x1000xf32>
  return %r : tensor<1001x1000xf32>
}

// What no cache holds is read in longer rows: a cache line of what is written by 8192 elements in all.
// CHECK-LABEL: @large_transpose
// CHECK-SAME: tile = array<i64: 512, 16>
func.func private @large_transpose(%x: tensor<2049x2053xf32>, %out: tensor<2053x2049xf32>) -> tensor<2053x2049xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2049x2053xf32>) outs(%out : tensor<2053x2049xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<2053x2049xf32>
  return %r : tensor<2053x2049xf32>
}

// The rows of three channels leave room for more of the other dim.
// CHECK-LABEL: @large_transpose_of_few_columns
// CHECK-SAME: tile = array<i64: 0, 2720>
func.func private @large_transpose_of_few_columns(%x: tensor<1500000x3xf32>, %out: tensor<3x1500000xf32>) -> tensor<3x1500000xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1500000x3xf32>) outs(%out : tensor<3x1500000xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<3x1500000xf32>
  return %r : tensor<3x1500000xf32>
}

// What is read along what is written, too, would come in pieces of a cache line: squares.
// CHECK-LABEL: @large_sum_with_transpose
// CHECK-SAME: tile = array<i64: 64, 64>
func.func private @large_sum_with_transpose(%x: tensor<2049x2053xf32>, %y: tensor<2053x2049xf32>, %out: tensor<2053x2049xf32>) -> tensor<2053x2049xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<2049x2053xf32>, tensor<2053x2049xf32>) outs(%out : tensor<2053x2049xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<2053x2049xf32>
  return %r : tensor<2053x2049xf32>
}

// A column sum: full strips of lanes, the reduced dim whole.
// CHECK-LABEL: @column_sum
// CHECK-SAME: tile = array<i64: 256, 0>
func.func private @column_sum(%x: tensor<1001x1000xf32>, %out: tensor<1000xf32>) -> tensor<1000xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1000xf32>) -> tensor<1000xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1001x1000xf32>) outs(%f : tensor<1000xf32>) {
  ^bb0(%a: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<1000xf32>
  return %r : tensor<1000xf32>
}

// Rows in register tiles, a panel of columns that fits L2, the reduced dim in steps. Two FLOPs a product.
// CHECK-LABEL: @matmul
// CHECK-SAME: mlopt.bytes = 3975256 : i64, mlopt.flops = 197628000 : i64
// CHECK-SAME: tile = array<i64: 0, 64, 8>
// Sixteen registers hold sums of three by four; a task has two such strips.
// NARROW-LABEL: @matmul
// NARROW-SAME: tile = array<i64: 68, 48, 8>
func.func private @matmul(%a: tensor<129x766xf32>, %b: tensor<766x1000xf32>, %out: tensor<129x1000xf32>) -> tensor<129x1000xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<129x1000xf32>) -> tensor<129x1000xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<129x766xf32>, tensor<766x1000xf32>) outs(%f : tensor<129x1000xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<129x1000xf32>
  return %r : tensor<129x1000xf32>
}

// 130 columns are three strips either way: of 48, with eight rows in registers, 14 are empty; of 64, 62.
// CHECK-LABEL: @narrow_strips
// CHECK-SAME: tile = array<i64: 76, 48, 4>
func.func private @narrow_strips(%a: tensor<300x700xf32>, %b: tensor<700x130xf32>, %out: tensor<300x130xf32>) -> tensor<300x130xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<300x130xf32>) -> tensor<300x130xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<300x700xf32>, tensor<700x130xf32>) outs(%f : tensor<300x130xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<300x130xf32>
  return %r : tensor<300x130xf32>
}

// Twelve tasks of 128 rows: more tasks would each fill a panel for fewer rows.
// CHECK-LABEL: @wide_rows
// CHECK-SAME: tile = array<i64: 0, 64, 8>
func.func private @wide_rows(%a: tensor<128x3072xf32>, %b: tensor<3072x768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<128x768xf32>) -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x3072xf32>, tensor<3072x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// One panel and many rows: eight tasks of 128 would leave processors without work.
// CHECK-LABEL: @narrow
// CHECK-SAME: tile = array<i64: 64, 0, 8>
func.func private @narrow(%a: tensor<1024x256xf32>, %b: tensor<256x64xf32>, %out: tensor<1024x64xf32>) -> tensor<1024x64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<1024x256xf32>, tensor<256x64xf32>) outs(%f : tensor<1024x64xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<1024x64xf32>
  return %r : tensor<1024x64xf32>
}

// 64 channels, whole rows of the image, windows one element at a time. Loops: n, co, h, w, then ci, kh, kw.
// CHECK-LABEL: @conv
// CHECK-SAME: tile = array<i64: 0, 64, 1, 0, 4, 1, 1>
func.func private @conv(%x: tensor<1x64x58x58xf32>, %w: tensor<64x3x3x128xf32>, %out: tensor<1x128x56x56xf32>) -> tensor<1x128x56x56xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x128x56x56xf32>) -> tensor<1x128x56x56xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, co, h, w, ci, kh, kw) -> (n, ci, h + kh, w + kw)>, affine_map<(n, co, h, w, ci, kh, kw) -> (ci, kh, kw, co)>, affine_map<(n, co, h, w, ci, kh, kw) -> (n, co, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x64x58x58xf32>, tensor<64x3x3x128xf32>) outs(%f : tensor<1x128x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<1x128x56x56xf32>
  return %r : tensor<1x128x56x56xf32>
}

// A part of a larger buffer is written in tiles that divide it: a ragged one would go past its end. Alone,
// 31 rows would be cut into tiles of 16.
// CHECK-LABEL: func.func private @kernel_into_part
// CHECK-SAME: mlopt.schedule = {tile = array<i64: 0, 0>}
func.func private @kernel_into_part(%x: tensor<31x100xf32>, %out: tensor<33x100xf32>) -> tensor<33x100xf32>
    attributes {mlopt.kernel} {
  %r = tensor.insert_slice %x into %out[1, 0] [31, 100] [1, 1] : tensor<31x100xf32> into tensor<33x100xf32>
  return %r : tensor<33x100xf32>
}

// Of a table, what is taken from it: 15 floats, by 3 indices, into 15.
// CHECK-LABEL: @gathered
// CHECK-SAME: mlopt.bytes = 144 : i64, mlopt.flops = 0 : i64
func.func private @gathered(%x: tensor<100x3xf32>, %i: tensor<3xi64>, %out: tensor<5x3xf32>) -> tensor<5x3xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(n, m) -> (m)>, affine_map<(n, m) -> (n, m)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<3xi64>) outs(%out : tensor<5x3xf32>) {
  ^bb0(%a: i64, %o: f32):
    %n = arith.index_cast %a : i64 to index
    %m = linalg.index 1 : index
    %v = tensor.extract %x[%n, %m] : tensor<100x3xf32>
    linalg.yield %v : f32
  } -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}

// Rows that read a total, which each task adds up: they are no columns that are summed.
// CHECK-LABEL: @divided_by_total
// CHECK-SAME: mlopt.schedule = {tile = array<i64: 8192, 0>}
func.func private @divided_by_total(%p: tensor<512xf32>, %x: tensor<1048576xf32>, %out: tensor<1048576xf32>) -> tensor<1048576xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%p : tensor<512xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %s : tensor<1048576xf32>, tensor<f32>) outs(%out : tensor<1048576xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<1048576xf32>
  return %r : tensor<1048576xf32>
}

// Rows that read the sums of 1024 columns: four tasks, however many rows they write.
// CHECK-LABEL: @minus_sums
// CHECK-SAME: mlopt.schedule = {tile = array<i64: 0, 256, 0>}
func.func private @minus_sums(%x: tensor<4096x1024xf32>, %out: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<4096x1024xf32>) outs(%f : tensor<1024xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<1024xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4096x1024xf32>, tensor<1024xf32>) outs(%out : tensor<4096x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.subf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4096x1024xf32>
  return %r : tensor<4096x1024xf32>
}

// A row of unknown length: a task has a single one, and runs along it.
// CHECK-LABEL: @dynamic_row
// CHECK-SAME: tile = array<i64: 1, 0, 0>
func.func private @dynamic_row(%x: tensor<4x?xf32>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x?xf32>, tensor<4xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// Columns of unknown length: a task has strips of them side by side, and runs down all rows in steps.
// CHECK-LABEL: @dynamic_columns
// CHECK-SAME: tile = array<i64: 0, 192, 0>
func.func private @dynamic_columns(%x: tensor<?x600xf32>, %out: tensor<?x600xf32>) -> tensor<?x600xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<600xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<600xf32>) -> tensor<600xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x600xf32>) outs(%f : tensor<600xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<600xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x600xf32>, tensor<600xf32>) outs(%out : tensor<?x600xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<?x600xf32>
  return %r : tensor<?x600xf32>
}

// Of columns that fill no second strip of 48, one of 64.
// NARROW-LABEL: @few_columns
// NARROW-SAME: tile = array<i64: 20, 0, 8>
func.func private @few_columns(%a: tensor<300x1024xf32>, %b: tensor<1024x64xf32>, %out: tensor<300x64xf32>) -> tensor<300x64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<300x64xf32>) -> tensor<300x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<300x1024xf32>, tensor<1024x64xf32>) outs(%f : tensor<300x64xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<300x64xf32>
  return %r : tensor<300x64xf32>
}

// Columns of weights are the lanes, although pixels that a dilated window reads lie side by side, too.
// CHECK-LABEL: @dilated
// CHECK-SAME: mlopt.schedule = {tile = array<i64: 0, 1, 0, 4, 1, 1>}
func.func private @dilated(%x: tensor<16x44x44xf32>, %k: tensor<16x3x3x16xf32>, %out: tensor<16x40x40xf32>) -> tensor<16x40x40xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<16x40x40xf32>) -> tensor<16x40x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(o, h, w, c, i, j) -> (c, h + 2 * i, w + 2 * j)>, affine_map<(o, h, w, c, i, j) -> (c, i, j, o)>, affine_map<(o, h, w, c, i, j) -> (o, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %k : tensor<16x44x44xf32>, tensor<16x3x3x16xf32>) outs(%f : tensor<16x40x40xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x40x40xf32>
  return %y : tensor<16x40x40xf32>
}
