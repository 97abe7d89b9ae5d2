// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda})' | FileCheck %s

// Rows with weights, few enough for all to be on the chip at once: a warp each, and a block.
// CHECK-LABEL: @few_rows
// CHECK-SAME: tile = array<i64: 1, 0, 0>, warps = array<i64: 1>
func.func private @few_rows(%x: tensor<256x256xf32>, %w: tensor<256xf32>, %sums: tensor<256xf32>, %out: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {mlopt.kernel} {
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<256x256xf32>) outs(%sums : tensor<256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<256xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m, %w : tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>) outs(%out : tensor<256x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %t = arith.divf %a, %b : f32
    %u = arith.mulf %t, %c : f32
    linalg.yield %u : f32
  } -> tensor<256x256xf32>
  return %r : tensor<256x256xf32>
}

// More of them than 32 for each multiprocessor: warps of a block have the weights from its L1 cache.
// CHECK-LABEL: @many_rows
// CHECK-SAME: tile = array<i64: 4, 0, 0>, warps = array<i64: 4>
func.func private @many_rows(%x: tensor<8192x256xf32>, %w: tensor<256xf32>, %sums: tensor<8192xf32>, %out: tensor<8192x256xf32>) -> tensor<8192x256xf32> attributes {mlopt.kernel} {
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8192x256xf32>) outs(%sums : tensor<8192xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<8192xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m, %w : tensor<8192x256xf32>, tensor<8192xf32>, tensor<256xf32>) outs(%out : tensor<8192x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %t = arith.divf %a, %b : f32
    %u = arith.mulf %t, %c : f32
    linalg.yield %u : f32
  } -> tensor<8192x256xf32>
  return %r : tensor<8192x256xf32>
}

// Two weights of each column are more than its elements of one row: two rows a block, and blocks for all of an
// A100's multiprocessors.
// CHECK-LABEL: @two_weights
// CHECK-SAME: tile = array<i64: 2, 0>
func.func private @two_weights(%x: tensor<256x512xf16>, %w: tensor<512xf32>, %b: tensor<512xf32>, %out: tensor<256x512xf16>) -> tensor<256x512xf16> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w, %b : tensor<256x512xf16>, tensor<512xf32>, tensor<512xf32>) outs(%out : tensor<256x512xf16>) {
  ^bb0(%a: f16, %c: f32, %d: f32, %o: f16):
    %e = arith.extf %a : f16 to f32
    %t = arith.mulf %e, %c : f32
    %u = arith.addf %t, %d : f32
    %v = arith.truncf %u : f32 to f16
    linalg.yield %v : f16
  } -> tensor<256x512xf16>
  return %r : tensor<256x512xf16>
}

// Two weights in f32 for rows of bf16: 128 blocks of two rows keep 132 multiprocessors as busy as 256 of one.
// CHECK-LABEL: @wide_weights
// CHECK-SAME: tile = array<i64: 2, 0>
func.func private @wide_weights(%x: tensor<256x512xbf16>, %w: tensor<512xf32>, %b: tensor<512xf32>, %out: tensor<256x512xbf16>) -> tensor<256x512xbf16> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w, %b : tensor<256x512xbf16>, tensor<512xf32>, tensor<512xf32>) outs(%out : tensor<256x512xbf16>) {
  ^bb0(%a: bf16, %c: f32, %d: f32, %o: bf16):
    %e = arith.extf %a : bf16 to f32
    %t = arith.mulf %e, %c : f32
    %u = arith.addf %t, %d : f32
    %v = arith.truncf %u : f32 to bf16
    linalg.yield %v : bf16
  } -> tensor<256x512xbf16>
  return %r : tensor<256x512xbf16>
}

// As of one weight more is moved than asked for twice: a row a block stays.
// CHECK-LABEL: @one_weight
// CHECK-SAME: tile = array<i64: 1, 0>
func.func private @one_weight(%x: tensor<256x512xf32>, %w: tensor<512xf32>, %out: tensor<256x512xf32>) -> tensor<256x512xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<256x512xf32>, tensor<512xf32>) outs(%out : tensor<256x512xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %t = arith.mulf %a, %c : f32
    linalg.yield %t : f32
  } -> tensor<256x512xf32>
  return %r : tensor<256x512xf32>
}

// Tables of positions for heads that lie beside them: two heads of eight positions, not one of sixteen.
// CHECK-LABEL: @heads
// CHECK-SAME: tile = array<i64: 2, 8, 0>
func.func private @heads(%x: tensor<8x128x32xf16>, %w: tensor<128x32xf32>, %b: tensor<128x32xf32>, %out: tensor<8x128x32xf16>) -> tensor<8x128x32xf16> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (i, j)>, affine_map<(h, i, j) -> (i, j)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %w, %b : tensor<8x128x32xf16>, tensor<128x32xf32>, tensor<128x32xf32>) outs(%out : tensor<8x128x32xf16>) {
  ^bb0(%a: f16, %c: f32, %d: f32, %o: f16):
    %e = arith.extf %a : f16 to f32
    %t = arith.mulf %e, %c : f32
    %u = arith.addf %t, %d : f32
    %v = arith.truncf %u : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x128x32xf16>
  return %r : tensor<8x128x32xf16>
}

// What is loaded beside columns waits while their totals are exchanged: 46 registers are left to a thread, not 32.
// CHECK-LABEL: @beside_columns
// CHECK-SAME: min_blocks = array<i64: 11>, tile = array<i64: 0, 8, 0>
func.func private @beside_columns(%x: tensor<256x512xf32>, %w: tensor<512xf32>, %sums: tensor<512xf32>, %out: tensor<256x512xf32>) -> tensor<256x512xf32> attributes {mlopt.kernel} {
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<256x512xf32>) outs(%sums : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m, %w : tensor<256x512xf32>, tensor<512xf32>, tensor<512xf32>) outs(%out : tensor<256x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %t = arith.addf %b, %c : f32
    %u = arith.mulf %a, %t : f32
    linalg.yield %u : f32
  } -> tensor<256x512xf32>
  return %r : tensor<256x512xf32>
}

// 16 rows for what has their columns, and weights: four warps with four rows each load these four times, not eight
// with two, and have registers for them as f32. Of few bytes eight load them.
// CHECK-LABEL: @weights_with_columns
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 16, 0>, warps = array<i64: 4>}
func.func private @weights_with_columns(%x: tensor<2304x256xf16>, %y: tensor<256x2304xf16>, %w: tensor<256xf32>, %sums: tensor<2304xf16>, %out: tensor<2304x256xf16>) -> tensor<2304x256xf16> attributes {mlopt.kernel} {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<2304x256xf16>, tensor<256x2304xf16>) outs(%out : tensor<2304x256xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %t = arith.addf %a, %b : f16
    linalg.yield %t : f16
  } -> tensor<2304x256xf16>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<2304x256xf16>) outs(%sums : tensor<2304xf16>) {
  ^bb0(%a: f16, %o: f16):
    %t = arith.addf %a, %o : f16
    linalg.yield %t : f16
  } -> tensor<2304xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m, %w : tensor<2304x256xf16>, tensor<2304xf16>, tensor<256xf32>) outs(%out : tensor<2304x256xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f32, %o: f16):
    %t = arith.divf %a, %b : f16
    %g = arith.truncf %c : f32 to f16
    %u = arith.mulf %t, %g : f16
    linalg.yield %u : f16
  } -> tensor<2304x256xf16>
  return %r : tensor<2304x256xf16>
}

// CHECK-LABEL: @marks_with_columns
// CHECK-SAME: tile = array<i64: 16, 0>, warps = array<i64: 8>
func.func private @marks_with_columns(%x: tensor<2304x256xf16>, %y: tensor<256x2304xf16>, %w: tensor<256xi8>, %sums: tensor<2304xf16>, %out: tensor<2304x256xf16>) -> tensor<2304x256xf16> attributes {mlopt.kernel} {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<2304x256xf16>, tensor<256x2304xf16>) outs(%out : tensor<2304x256xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %t = arith.addf %a, %b : f16
    linalg.yield %t : f16
  } -> tensor<2304x256xf16>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<2304x256xf16>) outs(%sums : tensor<2304xf16>) {
  ^bb0(%a: f16, %o: f16):
    %t = arith.addf %a, %o : f16
    linalg.yield %t : f16
  } -> tensor<2304xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m, %w : tensor<2304x256xf16>, tensor<2304xf16>, tensor<256xi8>) outs(%out : tensor<2304x256xf16>) {
  ^bb0(%a: f16, %b: f16, %c: i8, %o: f16):
    %t = arith.divf %a, %b : f16
    %g = arith.sitofp %c : i8 to f16
    %u = arith.mulf %t, %g : f16
    linalg.yield %u : f16
  } -> tensor<2304x256xf16>
  return %r : tensor<2304x256xf16>
}
