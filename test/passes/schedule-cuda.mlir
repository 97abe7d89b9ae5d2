// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda})' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda machine=h100})' | FileCheck %s --check-prefix=H100
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda tf32=true})' | FileCheck %s --check-prefix=TF32
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda choices="product:1"})' | FileCheck %s --check-prefix=SECOND
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cud})' 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: schedule: no target 'cud'; use one of cpu, cuda

// Four 16-byte accesses a thread, 128 threads; divided dims get powers of two. Registers for each element
// and what comes of it, and for places: 40, with which a multiprocessor holds twelve blocks.
// CHECK-LABEL: @relu
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 12>, tile = array<i64: 2, 0>, warps = array<i64: 4>}
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

// Two accesses where functions are dear: registers are for what is computed.
// CHECK-LABEL: @tanh
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 0>, warps = array<i64: 4>}
func.func private @tanh(%x: tensor<1001x1000xf32>, %out: tensor<1001x1000xf32>) -> tensor<1001x1000xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1001x1000xf32>) outs(%out : tensor<1001x1000xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.tanh %a : f32
    linalg.yield %y : f32
  } -> tensor<1001x1000xf32>
  return %r : tensor<1001x1000xf32>
}

// Both sides of a transpose are contiguous somewhere: square tiles.
// CHECK-LABEL: @transpose
// CHECK-SAME: tile = array<i64: 32, 32>
func.func private @transpose(%x: tensor<1000x1001xf32>, %out: tensor<1001x1000xf32>) -> tensor<1001x1000xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1000x1001xf32>) outs(%out : tensor<1001x1000xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1001x1000xf32>
  return %r : tensor<1001x1000xf32>
}

// Of half floats they are longer, up to a line of 128 bytes.
// CHECK-LABEL: @transpose_halves
// CHECK-SAME: tile = array<i64: 64, 64>
func.func private @transpose_halves(%x: tensor<1000x1001xbf16>, %out: tensor<1001x1000xbf16>) -> tensor<1001x1000xbf16> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1000x1001xbf16>) outs(%out : tensor<1001x1000xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    linalg.yield %a : bf16
  } -> tensor<1001x1000xbf16>
  return %r : tensor<1001x1000xbf16>
}

// Every second element of a row: a thread has one, and neighbouring lanes read along the row.
// CHECK-LABEL: @every_second
// CHECK-SAME: tile = array<i64: 1, 1>
func.func private @every_second(%x: tensor<100x2000xf32>, %out: tensor<100x1000xf32>) -> tensor<100x1000xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j * 2)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<100x2000xf32>) outs(%out : tensor<100x1000xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.negf %a : f32
    linalg.yield %y : f32
  } -> tensor<100x1000xf32>
  return %r : tensor<100x1000xf32>
}

// A column sum: the reduced dim in steps, two of 512 rows: a block has a multiprocessor to itself, and all its
// warps, whose threads have four wide loads each.
// CHECK-LABEL: @column_sum
// CHECK-SAME: {min_blocks = array<i64: 1>, tile = array<i64: 32, 512>, warps = array<i64: 32>
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

// Long columns, 256 blocks: of an A100's 108 multiprocessors some have three, each a quarter of 32 warps; of an
// H100's 132 none has more than two, each half of them. A thread has two wide loads a step, and two steps at once.
// CHECK-LABEL: @long_columns
// CHECK-SAME: {min_blocks = array<i64: 6>, tile = array<i64: 1, 64, 32>, warps = array<i64: 8>}
// H100-LABEL: @long_columns
// H100-SAME: {min_blocks = array<i64: 3>, tile = array<i64: 1, 64, 64>, warps = array<i64: 16>}
func.func private @long_columns(%x: tensor<2x4096x8192xf32>, %out: tensor<2x8192xf32>) -> tensor<2x8192xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<2x8192xf32>) -> tensor<2x8192xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(p, i, j) -> (p, i, j)>, affine_map<(p, i, j) -> (p, j)>], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<2x4096x8192xf32>) outs(%f : tensor<2x8192xf32>) {
  ^bb0(%a: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<2x8192xf32>
  return %r : tensor<2x8192xf32>
}

// Rows that are long, but fit a block as those of a softmax do: no steps.
// CHECK-LABEL: @long_rows
// CHECK-SAME: {min_blocks = array<i64: 4>, tile = array<i64: 1, 0>, warps = array<i64: 16>}
func.func private @long_rows(%x: tensor<8192x8192xf32>, %out: tensor<8192xf32>) -> tensor<8192xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<8192xf32>) -> tensor<8192xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8192x8192xf32>) outs(%f : tensor<8192xf32>) {
  ^bb0(%a: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<8192xf32>
  return %r : tensor<8192xf32>
}

// So do rows that are reduced twice, here to a maximum and to the sum of what is left below it.
// CHECK-LABEL: @two_totals
// CHECK-SAME: tile = array<i64: 1, 0, 0>, warps = array<i64: 8>}
// Longer ones have steps.
// CHECK-LABEL: @two_long_totals
// CHECK-SAME: tile = array<i64: 1, 2048, 2048>
func.func private @two_totals(%x: tensor<256x4096xf32>, %out: tensor<256xf32>, %sum: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) attributes {mlopt.kernel} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%low : f32) outs(%out : tensor<256xf32>) -> tensor<256xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<256x4096xf32>) outs(%f : tensor<256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.maximumf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<256xf32>
  %g = linalg.fill ins(%zero : f32) outs(%sum : tensor<256xf32>) -> tensor<256xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<256x4096xf32>, tensor<256xf32>) outs(%g : tensor<256xf32>) {
  ^bb0(%a: f32, %t: f32, %b: f32):
    %d = arith.subf %a, %t : f32
    %y = arith.addf %b, %d : f32
    linalg.yield %y : f32
  } -> tensor<256xf32>
  return %m, %s : tensor<256xf32>, tensor<256xf32>
}
func.func private @two_long_totals(%x: tensor<256x32768xf32>, %out: tensor<256xf32>, %sum: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) attributes {mlopt.kernel} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%low : f32) outs(%out : tensor<256xf32>) -> tensor<256xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<256x32768xf32>) outs(%f : tensor<256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.maximumf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<256xf32>
  %g = linalg.fill ins(%zero : f32) outs(%sum : tensor<256xf32>) -> tensor<256xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<256x32768xf32>, tensor<256xf32>) outs(%g : tensor<256xf32>) {
  ^bb0(%a: f32, %t: f32, %b: f32):
    %d = arith.subf %a, %t : f32
    %y = arith.addf %b, %d : f32
    linalg.yield %y : f32
  } -> tensor<256xf32>
  return %m, %s : tensor<256xf32>, tensor<256xf32>
}

// A square of the product, smaller than 64 x 64 so that there are blocks for all multiprocessors.
// Tensor cores multiply it if they may round.
// TF32-LABEL: func.func private @matmul
// TF32-SAME: mlopt.considered
// TF32-SAME: tf32 = array<i64: 1>
// CHECK-LABEL: @matmul
// CHECK-SAME: {min_blocks = array<i64: 4>, tile = array<i64: 32, 32, 8>, warps = array<i64: 4>}
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

// A row that is reduced and divided belongs to one block, which gets the warps to hold it: 16 elements a thread.
// It is counted once among the registers, though it is read by two loops.
// CHECK-LABEL: @normalize
// CHECK-SAME: {min_blocks = array<i64: 4>, tile = array<i64: 1, 0, 0>, warps = array<i64: 16>
func.func private @normalize(%x: tensor<64x8192xf32>, %out: tensor<64x8192xf32>) -> tensor<64x8192xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x8192xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<64x8192xf32>, tensor<64xf32>) outs(%out : tensor<64x8192xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<64x8192xf32>
  return %r : tensor<64x8192xf32>
}

// A block has 512 elements, since in between they are wider; two warps hold them in accesses of 16 bytes.
// CHECK-LABEL: @few_elements
// CHECK-SAME: tile = array<i64: 512>, warps = array<i64: 2>
func.func private @few_elements(%x: tensor<131072xf16>, %out: tensor<131072xf16>) -> tensor<131072xf16> attributes {mlopt.kernel} {
  %e = tensor.empty() : tensor<131072xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<131072xf16>) outs(%e : tensor<131072xf32>) {
  ^bb0(%a: f16, %o: f32):
    %y = arith.extf %a : f16 to f32
    linalg.yield %y : f32
  } -> tensor<131072xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%w : tensor<131072xf32>) outs(%out : tensor<131072xf16>) {
  ^bb0(%a: f32, %o: f16):
    %y = arith.truncf %a : f32 to f16
    linalg.yield %y : f16
  } -> tensor<131072xf16>
  return %r : tensor<131072xf16>
}

// Two inputs: half the accesses to each.
// CHECK-LABEL: @add
// CHECK-SAME: tile = array<i64: 1024>
func.func private @add(%x: tensor<1000000xf32>, %y: tensor<1000000xf32>, %out: tensor<1000000xf32>) -> tensor<1000000xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<1000000xf32>, tensor<1000000xf32>) outs(%out : tensor<1000000xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<1000000xf32>
  return %r : tensor<1000000xf32>
}

// So it is with two halves of one tensor; a function is dear, and one half waits in registers for it.
// CHECK-LABEL: @halves
// CHECK-SAME: {min_blocks = array<i64: 16>, tile = array<i64: 1, 512>, warps = array<i64: 4>}
func.func private @halves(%x: tensor<256x4096xf32>, %out: tensor<256x2048xf32>) -> tensor<256x2048xf32> attributes {mlopt.kernel} {
  %e = tensor.empty() : tensor<256x2048xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1 mod 4096)>, affine_map<(d0, d1) -> (d0, d1 + 2048)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %x : tensor<256x4096xf32>, tensor<256x4096xf32>) outs(%e : tensor<256x2048xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %f = math.erf %a : f32
    %g = arith.mulf %f, %b : f32
    linalg.yield %g : f32
  } -> tensor<256x2048xf32>
  return %r : tensor<256x2048xf32>
}

// Two reductions of a row, one after the other: each has the whole budget for its steps.
// CHECK-LABEL: @statistics
// CHECK-SAME: tile = array<i64: 1, 2048, 2048>
func.func private @statistics(%x: tensor<640x32768xf32>, %most: tensor<640xf32>, %out: tensor<640xf32>) -> (tensor<640xf32>, tensor<640xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %f = linalg.fill ins(%low : f32) outs(%most : tensor<640xf32>) -> tensor<640xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<640x32768xf32>) outs(%f : tensor<640xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.maximumf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<640xf32>
  %g = linalg.fill ins(%zero : f32) outs(%out : tensor<640xf32>) -> tensor<640xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<640x32768xf32>, tensor<640xf32>) outs(%g : tensor<640xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %y = arith.addf %c, %d : f32
    linalg.yield %y : f32
  } -> tensor<640xf32>
  return %m, %s : tensor<640xf32>, tensor<640xf32>
}

// Few rows: a block has a multiprocessor to itself, and longer steps with all warps that it can have.
// CHECK-LABEL: @few_rows
// CHECK-SAME: tile = array<i64: 1, 8192, 8192>, warps = array<i64: 32>
func.func private @few_rows(%x: tensor<64x32768xf32>, %most: tensor<64xf32>, %out: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %f = linalg.fill ins(%low : f32) outs(%most : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x32768xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.maximumf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  %g = linalg.fill ins(%zero : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<64x32768xf32>, tensor<64xf32>) outs(%g : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %y = arith.addf %c, %d : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %m, %s : tensor<64xf32>, tensor<64xf32>
}

// A row of unknown length: a block runs along a single one, in steps of eight elements a thread.
// CHECK-LABEL: @dynamic_row
// CHECK-SAME: tile = array<i64: 1, 1024, 1024>, warps = array<i64: 4>
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

// Columns of unknown length: a thread has four wide loads in a step, as nobody knows how many steps there are.
// CHECK-LABEL: @dynamic_columns
// CHECK-SAME: tile = array<i64: 32, 64>, warps = array<i64: 4>
func.func private @dynamic_columns(%x: tensor<?x1024xf32>, %out: tensor<1024xf32>) -> tensor<1024xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1024xf32>) -> tensor<1024xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x1024xf32>) outs(%f : tensor<1024xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<1024xf32>
  return %s : tensor<1024xf32>
}

// Columns of unknown length that are read again: a block has a line of them, and runs down in steps.
// CHECK-LABEL: @walked_columns
// CHECK-SAME: tile = array<i64: 32, 32, 64>, warps = array<i64: 4>
func.func private @walked_columns(%x: tensor<?x600xf32>, %out: tensor<?x600xf32>) -> tensor<?x600xf32> attributes {mlopt.kernel} {
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

// Columns that are reduced and divided: a block takes as many as a sector of each row has.
// CHECK-LABEL: @normalize_columns
// CHECK-SAME: tile = array<i64: 0, 8, 0>, warps = array<i64: 8>
func.func private @normalize_columns(%x: tensor<512x1024xf32>, %out: tensor<512x1024xf32>) -> tensor<512x1024xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<512x1024xf32>) outs(%f : tensor<1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %g = arith.addf %o, %a : f32
    linalg.yield %g : f32
  } -> tensor<1024xf32>
  %g = tensor.empty() : tensor<512x1024xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<512x1024xf32>, tensor<1024xf32>) outs(%g : tensor<512x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<512x1024xf32>
  return %r : tensor<512x1024xf32>
}

// A row of 1024 bytes has a wide access for each thread of two warps; more would repeat them.
// CHECK-LABEL: @byte_rows
// CHECK-SAME: tile = array<i64: 1, 0>, warps = array<i64: 2>
func.func private @byte_rows(%x: tensor<128x1024xi8>, %out: tensor<128xi64>) -> tensor<128xi64> attributes {mlopt.kernel} {
  %zero = arith.constant 0 : i64
  %f = linalg.fill ins(%zero : i64) outs(%out : tensor<128xi64>) -> tensor<128xi64>
  %e = tensor.empty() : tensor<128x1024xi64>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x1024xi8>) outs(%e : tensor<128x1024xi64>) {
  ^bb0(%a: i8, %o: i64):
    %y = arith.extsi %a : i8 to i64
    linalg.yield %y : i64
  } -> tensor<128x1024xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<128x1024xi64>) outs(%f : tensor<128xi64>) {
  ^bb0(%a: i64, %o: i64):
    %y = arith.addi %a, %o : i64
    linalg.yield %y : i64
  } -> tensor<128xi64>
  return %r : tensor<128xi64>
}

// A row that fills a block of 1024 threads waits in 32 registers of each; 64 are left to it, and 48 enough.
// CHECK-LABEL: @waiting_row
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 1>, most_registers = array<i64: 48>, tile = array<i64: 1, 0, 0>, warps = array<i64: 32>}
func.func private @waiting_row(%x: tensor<2048x32768xf32>, %s: tensor<2048xf32>, %out: tensor<2048x32768xf32>) -> tensor<2048x32768xf32> attributes {mlopt.kernel} {
  %low = arith.constant 0xFF800000 : f32
  %f = linalg.fill ins(%low : f32) outs(%s : tensor<2048xf32>) -> tensor<2048xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<2048x32768xf32>) outs(%f : tensor<2048xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %a, %o : f32
    linalg.yield %y : f32
  } -> tensor<2048xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<2048x32768xf32>, tensor<2048xf32>) outs(%out : tensor<2048x32768xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.subf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<2048x32768xf32>
  return %r : tensor<2048x32768xf32>
}

// On tensor cores a block is the one that is predicted to be the fastest, and its kernel says what was compared.
// Another one of these can be asked for.
// SECOND-LABEL: @product
// SECOND-SAME: mlopt.considered = ["256x128x32,
// SECOND-SAME: tile = array<i64: 256, 128, 32>
// CHECK-LABEL: @product
// CHECK-SAME: mlopt.considered = ["128x256x32, 8 warps, 4 stages: {{[0-9.]+}} {{.*}}bound by arithmetic", "256x128x32,
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 1>, registers = array<i64: 184, 224>, stages = array<i64: 4>, tile = array<i64: 128, 256, 32>, warps = array<i64: 8>}
func.func private @product(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>, %out: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%f : tensor<4096x4096xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// Eight partial results of a split product are added up: a step of one row is not halved, but two make one of more warps.
// CHECK-LABEL: @partial_results
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 2048, 2>, warps = array<i64: 8>}
func.func private @partial_results(%x: tensor<8x524288xf32>, %out: tensor<524288xf32>) -> tensor<524288xf32>
    attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<524288xf32>) -> tensor<524288xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(k, m) -> (k, m)>, affine_map<(k, m) -> (m)>],
                       iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x524288xf32>) outs(%f : tensor<524288xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<524288xf32>
  return %r : tensor<524288xf32>
}

// Rows that are reduced, of which another tensor has the columns: 16 rows fill a sector of each of its own. Where 132
// multiprocessors would have no such block each, as of 256 rows, they are fewer.
// CHECK-LABEL: @normalize_with_columns
// CHECK-SAME: tile = array<i64: 16, 0>, warps = array<i64: 8>
func.func private @normalize_with_columns(%x: tensor<2304x256xf16>, %y: tensor<256x2304xf16>, %sums: tensor<2304xf16>, %out: tensor<2304x256xf16>) -> tensor<2304x256xf16> attributes {mlopt.kernel} {
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
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m : tensor<2304x256xf16>, tensor<2304xf16>) outs(%out : tensor<2304x256xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %t = arith.divf %a, %b : f16
    linalg.yield %t : f16
  } -> tensor<2304x256xf16>
  return %r : tensor<2304x256xf16>
}

// CHECK-LABEL: @few_with_columns
// CHECK-SAME: tile = array<i64: 4, 0>, warps = array<i64: 4>
func.func private @few_with_columns(%x: tensor<256x256xf16>, %y: tensor<256x256xf16>, %sums: tensor<256xf16>, %out: tensor<256x256xf16>) -> tensor<256x256xf16> attributes {mlopt.kernel} {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<256x256xf16>, tensor<256x256xf16>) outs(%out : tensor<256x256xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %t = arith.addf %a, %b : f16
    linalg.yield %t : f16
  } -> tensor<256x256xf16>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<256x256xf16>) outs(%sums : tensor<256xf16>) {
  ^bb0(%a: f16, %o: f16):
    %t = arith.addf %a, %o : f16
    linalg.yield %t : f16
  } -> tensor<256xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m : tensor<256x256xf16>, tensor<256xf16>) outs(%out : tensor<256x256xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %t = arith.divf %a, %b : f16
    linalg.yield %t : f16
  } -> tensor<256x256xf16>
  return %r : tensor<256x256xf16>
}

// Four blocks of 16 rows, each with a multiprocessor to itself: a warp a row, not four of them with four rows each.
// CHECK-LABEL: @few_rows_of_warps
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 2>, tile = array<i64: 16, 0, 0>, warps = array<i64: 16>}
func.func private @few_rows_of_warps(%x: tensor<64x64xf64>, %maxima: tensor<64x2xf64>, %out: tensor<64x64xi8>) -> (tensor<64x2xf64>, tensor<64x64xi8>) attributes {mlopt.kernel} {
  %f = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<64xf64>
  %i = linalg.fill ins(%f : f64) outs(%e : tensor<64xf64>) -> tensor<64xf64>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x64xf64>) outs(%i : tensor<64xf64>) {
  ^bb0(%a: f64, %o: f64):
    %t = arith.maximumf %a, %o : f64
    linalg.yield %t : f64
  } -> tensor<64xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<64x64xf64>, tensor<64xf64>) outs(%out : tensor<64x64xi8>) {
  ^bb0(%a: f64, %b: f64, %o: i8):
    %t = arith.cmpf oge, %a, %b : f64
    %u = arith.extui %t : i1 to i8
    linalg.yield %u : i8
  } -> tensor<64x64xi8>
  %s = tensor.insert_slice %m into %maxima[0, 0] [64, 1] [1, 1] : tensor<64xf64> into tensor<64x2xf64>
  return %s, %r : tensor<64x2xf64>, tensor<64x64xi8>
}
