// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda})' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda choices="narrow:1"})' | FileCheck %s --check-prefix=SECOND
#rows = affine_map<(b, m, n, d) -> (b, m, d)>
#keys = affine_map<(b, m, n, d) -> (b, n, d)>
#scores = affine_map<(b, m, n, d) -> (b, m, n)>
#weights = affine_map<(b, m, d, n) -> (b, m, n)>
#values = affine_map<(b, m, d, n) -> (b, n, d)>
#out = affine_map<(b, m, d, n) -> (b, m, d)>

// On tensor cores 256 rows of one matrix, 32 a warp, against steps of 64 keys, whole queries and keys.
// SECOND-LABEL: @narrow
// SECOND-SAME: mlopt.considered = ["128 rows, 64 keys a step, 4 warps
// SECOND-SAME: tile = array<i64: 1, 128, 0, 64, 64>
// CHECK-LABEL: @narrow
// CHECK-SAME: mlopt.considered = ["256 rows, 64 keys a step, 8 warps, 4 stages: {{.*}} bound by instructions", "128 rows, 64 keys a step, 4 warps
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 4>, tile = array<i64: 1, 256, 0, 64, 64>, warps = array<i64: 8>}
func.func private @narrow(%q: tensor<32x4096x64xbf16>, %k: tensor<32x4096x64xbf16>, %v: tensor<32x4096x64xbf16>, %o: tensor<32x4096x64xf32>) -> tensor<32x4096x64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x4096x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x4096x4096xf32>) -> tensor<32x4096x4096xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<32x4096x64xbf16>, tensor<32x4096x64xbf16>) outs(%f : tensor<32x4096x4096xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %aw, %bw : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<32x4096x4096xf32>
  %r = "mlopt.attention"(%s, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64, mlopt.rounds = "bf16"} : (tensor<32x4096x4096xf32>, tensor<32x4096x64xbf16>, tensor<32x4096x64xf32>) -> tensor<32x4096x64xf32>
  return %r : tensor<32x4096x64xf32>
}

// Sums of twice as many elements leave registers for the scores of half as many keys.
// CHECK-LABEL: @wide
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 4>, tile = array<i64: 1, 256, 0, 32, 128>, warps = array<i64: 8>}
func.func private @wide(%q: tensor<32x4096x128xf16>, %k: tensor<32x4096x128xf16>, %v: tensor<32x4096x128xf16>, %o: tensor<32x4096x128xf32>) -> tensor<32x4096x128xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x4096x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x4096x4096xf32>) -> tensor<32x4096x4096xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<32x4096x128xf16>, tensor<32x4096x128xf16>) outs(%f : tensor<32x4096x4096xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %aw = arith.extf %a : f16 to f32
    %bw = arith.extf %b : f16 to f32
    %p = arith.mulf %aw, %bw : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<32x4096x4096xf32>
  %r = "mlopt.attention"(%s, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64, mlopt.rounds = "f16"} : (tensor<32x4096x4096xf32>, tensor<32x4096x128xf16>, tensor<32x4096x128xf32>) -> tensor<32x4096x128xf32>
  return %r : tensor<32x4096x128xf32>
}

// Of the widest rows a warp has 16.
// CHECK-LABEL: @widest
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 3>, tile = array<i64: 1, 128, 0, 32, 256>, warps = array<i64: 8>}
func.func private @widest(%q: tensor<32x4096x256xf16>, %k: tensor<32x4096x256xf16>, %v: tensor<32x4096x256xf16>, %o: tensor<32x4096x256xf32>) -> tensor<32x4096x256xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x4096x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x4096x4096xf32>) -> tensor<32x4096x4096xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<32x4096x256xf16>, tensor<32x4096x256xf16>) outs(%f : tensor<32x4096x4096xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %aw = arith.extf %a : f16 to f32
    %bw = arith.extf %b : f16 to f32
    %p = arith.mulf %aw, %bw : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<32x4096x4096xf32>
  %r = "mlopt.attention"(%s, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64, mlopt.rounds = "f16"} : (tensor<32x4096x4096xf32>, tensor<32x4096x256xf16>, tensor<32x4096x256xf32>) -> tensor<32x4096x256xf32>
  return %r : tensor<32x4096x256xf32>
}

// Fewer rows, so that there are blocks for half of the chip; keys past the end are masked.
// CHECK-LABEL: @few
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 4>, tile = array<i64: 1, 64, 0, 128, 64>, warps = array<i64: 4>}
func.func private @few(%q: tensor<32x128x64xbf16>, %k: tensor<32x500x64xbf16>, %v: tensor<32x500x64xbf16>, %o: tensor<32x128x64xf32>) -> tensor<32x128x64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x128x500xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x128x500xf32>) -> tensor<32x128x500xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<32x128x64xbf16>, tensor<32x500x64xbf16>) outs(%f : tensor<32x128x500xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %aw, %bw : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<32x128x500xf32>
  %r = "mlopt.attention"(%s, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64, mlopt.rounds = "bf16"} : (tensor<32x128x500xf32>, tensor<32x500x64xbf16>, tensor<32x128x64xf32>) -> tensor<32x128x64xf32>
  return %r : tensor<32x128x64xf32>
}

// f32 is exact.
// CHECK-LABEL: @single
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 1, 32, 0, 16, 8>, warps = array<i64: 4>}
func.func private @single(%q: tensor<32x4096x64xf32>, %k: tensor<32x4096x64xf32>, %v: tensor<32x4096x64xf32>, %o: tensor<32x4096x64xf32>) -> tensor<32x4096x64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x4096x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x4096x4096xf32>) -> tensor<32x4096x4096xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<32x4096x64xf32>, tensor<32x4096x64xf32>) outs(%f : tensor<32x4096x4096xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<32x4096x4096xf32>
  %r = "mlopt.attention"(%s, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<32x4096x4096xf32>, tensor<32x4096x64xf32>, tensor<32x4096x64xf32>) -> tensor<32x4096x64xf32>
  return %r : tensor<32x4096x64xf32>
}

// The scores alone are made on tensor cores where the program does not round the weights.
// CHECK-LABEL: @exact
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 1, 32, 0, 16, 16>, warps = array<i64: 4>}
func.func private @exact(%q: tensor<32x4096x64xbf16>, %k: tensor<32x4096x64xbf16>, %v: tensor<32x4096x64xbf16>, %o: tensor<32x4096x64xf32>) -> tensor<32x4096x64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x4096x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x4096x4096xf32>) -> tensor<32x4096x4096xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<32x4096x64xbf16>, tensor<32x4096x64xbf16>) outs(%f : tensor<32x4096x4096xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %aw, %bw : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<32x4096x4096xf32>
  %r = "mlopt.attention"(%s, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<32x4096x4096xf32>, tensor<32x4096x64xbf16>, tensor<32x4096x64xf32>) -> tensor<32x4096x64xf32>
  return %r : tensor<32x4096x64xf32>
}

// 8 blocks of 4 rows would leave most multiprocessors idle: blocks share the keys, the last of a tile's joins
// what they found. What they write and read for that is counted.
// CHECK-LABEL: @shared
// CHECK-SAME: mlopt.bytes = 17{{[0-9]+}} : i64
// CHECK-SAME: mlopt.considered = ["16 rows, {{[0-9]+}} keys a step, {{[0-9]+}} warps, {{[0-9]+}} stages, {{[0-9]+}} parts of all keys: {{.*}} bound by memory"
// CHECK-SAME: mlopt.last_blocks = "{{[0-9]+}} blocks share the keys of a tile, the last of them joins their parts: {{.*}}, one block with all of them {{.*}}"
// CHECK-SAME: parts = array<i64: {{[0-9]+}}>, stages = array<i64: {{[0-9]+}}>, tile = array<i64: 1, 0, 0,
func.func private @shared(%q: tensor<8x4x128xbf16>, %k: tensor<8x4096x128xbf16>, %v: tensor<8x4096x128xbf16>, %o: tensor<8x4x128xf32>) -> tensor<8x4x128xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4x4096xf32>) -> tensor<8x4x4096xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<8x4x128xbf16>, tensor<8x4096x128xbf16>) outs(%f : tensor<8x4x4096xf32>) attrs = {mlopt.op = "row_scores"} {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %aw, %bw : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x4x4096xf32>
  %r = "mlopt.attention"(%s, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64, mlopt.rounds = "bf16"} : (tensor<8x4x4096xf32>, tensor<8x4096x128xbf16>, tensor<8x4x128xf32>) -> tensor<8x4x128xf32>
  return %r : tensor<8x4x128xf32>
}


// So without tensor cores: enough for two blocks of each multiprocessor, of four steps at least.
// CHECK-LABEL: @floats
// CHECK-SAME: parts = array<i64: 16>, tile = array<i64: 1, 0, 0, 64, 0>
func.func private @floats(%q: tensor<8x1x64xf32>, %k: tensor<8x4096x64xf32>, %v: tensor<8x4096x64xf32>, %o: tensor<8x1x64xf32>) -> tensor<8x1x64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x1x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x1x4096xf32>) -> tensor<8x1x4096xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<8x1x64xf32>, tensor<8x4096x64xf32>) outs(%f : tensor<8x1x4096xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x1x4096xf32>
  %r = "mlopt.attention"(%s, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<8x1x4096xf32>, tensor<8x4096x64xf32>, tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  return %r : tensor<8x1x64xf32>
}


// A step of keys is no time to share.
// CHECK-LABEL: @soon
// CHECK-NOT: parts
// CHECK: return
func.func private @soon(%q: tensor<8x4x64xbf16>, %k: tensor<8x16x64xbf16>, %v: tensor<8x16x64xbf16>, %o: tensor<8x4x64xf32>) -> tensor<8x4x64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<8x4x64xbf16>, tensor<8x16x64xbf16>) outs(%f : tensor<8x4x16xf32>) attrs = {mlopt.op = "row_scores"} {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %aw, %bw : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x4x16xf32>
  %r = "mlopt.attention"(%s, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64, mlopt.rounds = "bf16"} : (tensor<8x4x16xf32>, tensor<8x16x64xbf16>, tensor<8x4x64xf32>) -> tensor<8x4x64xf32>
  return %r : tensor<8x4x64xf32>
}
