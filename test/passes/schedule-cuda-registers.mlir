// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda})' | FileCheck %s

// Two results of one input: a thread has its elements and a result's, 32 registers.
// CHECK-LABEL: @one_by_one
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1024>, warps = array<i64: 4>}
func.func private @one_by_one(%x: tensor<131072xf16>, %p: tensor<131072xf16>, %q: tensor<131072xf16>) -> (tensor<131072xf16>, tensor<131072xf16>) attributes {mlopt.kernel} {
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<131072xf16>) outs(%p : tensor<131072xf16>) {
  ^bb0(%v: f16, %o: f16):
    %t = arith.mulf %v, %v : f16
    linalg.yield %t : f16
  } -> tensor<131072xf16>
  %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<131072xf16>) outs(%q : tensor<131072xf16>) {
  ^bb0(%v: f16, %o: f16):
    %t = arith.addf %v, %v : f16
    linalg.yield %t : f16
  } -> tensor<131072xf16>
  return %a, %b : tensor<131072xf16>, tensor<131072xf16>
}

// Inputs that both results need wait beside the first: 8 elements of four values, and places.
// CHECK-LABEL: @shared
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 12>, tile = array<i64: 1024>, warps = array<i64: 4>}
func.func private @shared(%x: tensor<131072xf16>, %y: tensor<131072xf16>, %z: tensor<131072xf16>, %p: tensor<131072xf16>, %q: tensor<131072xf16>) -> (tensor<131072xf16>, tensor<131072xf16>) attributes {mlopt.kernel} {
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y, %z : tensor<131072xf16>, tensor<131072xf16>, tensor<131072xf16>) outs(%p : tensor<131072xf16>) {
  ^bb0(%u: f16, %v: f16, %w: f16, %o: f16):
    %t = arith.mulf %u, %v : f16
    %s = arith.addf %t, %w : f16
    linalg.yield %s : f16
  } -> tensor<131072xf16>
  %c = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<131072xf16>, tensor<131072xf16>) outs(%q : tensor<131072xf16>) {
  ^bb0(%u: f16, %v: f16, %o: f16):
    %t = arith.subf %u, %v : f16
    linalg.yield %t : f16
  } -> tensor<131072xf16>
  %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%c, %a, %z : tensor<131072xf16>, tensor<131072xf16>, tensor<131072xf16>) outs(%q : tensor<131072xf16>) {
  ^bb0(%u: f16, %v: f16, %w: f16, %o: f16):
    %t = arith.mulf %u, %v : f16
    %s = arith.addf %t, %w : f16
    linalg.yield %s : f16
  } -> tensor<131072xf16>
  return %a, %b : tensor<131072xf16>, tensor<131072xf16>
}

// erf of one input, and then the other: 8 elements of each wait in 24 registers, since both are loaded first.
// CHECK-LABEL: @gated
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1024>, wait_for_loads = array<i64: 1>, warps = array<i64: 4>}
func.func private @gated(%x: tensor<131072xbf16>, %y: tensor<131072xbf16>, %p: tensor<131072xbf16>) -> tensor<131072xbf16> attributes {mlopt.kernel} {
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<131072xbf16>, tensor<131072xbf16>) outs(%p : tensor<131072xbf16>) {
  ^bb0(%u: bf16, %v: bf16, %o: bf16):
    %w = arith.extf %u : bf16 to f32
    %e = math.erf %w : f32
    %t = arith.extf %v : bf16 to f32
    %s = arith.mulf %e, %t : f32
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<131072xbf16>
  return %a : tensor<131072xbf16>
}

// Columns of unknown length: 16 loaded elements, as many totals, and places of the steps and of what is left.
// CHECK-LABEL: @dynamic_columns
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 10>, tile = array<i64: 32, 64>, warps = array<i64: 4>}
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

// 64 bits, twice: what is read along columns and along pages does not fit 64 registers.
// CHECK-LABEL: @both_ways
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 1>
func.func private @both_ways(%x: tensor<64x32x128xf64>, %p: tensor<64x128xf64>, %q: tensor<32x128xf64>) -> (tensor<64x128xf64>, tensor<32x128xf64>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f64
  %f = linalg.fill ins(%zero : f64) outs(%p : tensor<64x128xf64>) -> tensor<64x128xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, k)>], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<64x32x128xf64>) outs(%f : tensor<64x128xf64>) {
  ^bb0(%a: f64, %b: f64):
    %c = arith.addf %a, %b : f64
    linalg.yield %c : f64
  } -> tensor<64x128xf64>
  %g = linalg.fill ins(%zero : f64) outs(%q : tensor<32x128xf64>) -> tensor<32x128xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j, k)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x : tensor<64x32x128xf64>) outs(%g : tensor<32x128xf64>) {
  ^bb0(%a: f64, %b: f64):
    %c = arith.maximumf %a, %b : f64
    linalg.yield %c : f64
  } -> tensor<32x128xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, k)>], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x, %s : tensor<64x32x128xf64>, tensor<64x128xf64>) outs(%f : tensor<64x128xf64>) {
  ^bb0(%a: f64, %m: f64, %b: f64):
    %e = arith.subf %a, %m : f64
    %c = arith.addf %e, %b : f64
    linalg.yield %c : f64
  } -> tensor<64x128xf64>
  return %d, %t : tensor<64x128xf64>, tensor<32x128xf64>
}

// Four results as large as what is reduced: a thread has eight elements of each, where it had 16 of two.
// CHECK-LABEL: @four_results
// CHECK-SAME: tile = array<i64: 1, 0, 0>, warps = array<i64: 16>
// CHECK-LABEL: @two_results
// CHECK-SAME: tile = array<i64: 1, 0, 0>, warps = array<i64: 8>
func.func private @four_results(%x: tensor<512x4096xf32>, %o0: tensor<512x4096xf32>, %o1: tensor<512x4096xf32>, %o2: tensor<512x4096xf32>, %o3: tensor<512x4096xf32>) -> (tensor<512x4096xf32>, tensor<512x4096xf32>, tensor<512x4096xf32>, tensor<512x4096xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<512x4096xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<512xf32>
  %r:4 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<512x4096xf32>, tensor<512xf32>) outs(%o0, %o1, %o2, %o3 : tensor<512x4096xf32>, tensor<512x4096xf32>, tensor<512x4096xf32>, tensor<512x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %c0: f32, %c1: f32, %c2: f32, %c3: f32):
    %y0 = arith.addf %a, %b : f32
    %y1 = arith.subf %a, %b : f32
    %y2 = arith.mulf %a, %b : f32
    %y3 = arith.maximumf %a, %b : f32
    linalg.yield %y0, %y1, %y2, %y3 : f32, f32, f32, f32
  } -> (tensor<512x4096xf32>, tensor<512x4096xf32>, tensor<512x4096xf32>, tensor<512x4096xf32>)
  return %r#0, %r#1, %r#2, %r#3 : tensor<512x4096xf32>, tensor<512x4096xf32>, tensor<512x4096xf32>, tensor<512x4096xf32>
}
func.func private @two_results(%x: tensor<512x4096xf32>, %o0: tensor<512x4096xf32>, %o1: tensor<512x4096xf32>) -> (tensor<512x4096xf32>, tensor<512x4096xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<512x4096xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<512xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<512x4096xf32>, tensor<512xf32>) outs(%o0, %o1 : tensor<512x4096xf32>, tensor<512x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %c0: f32, %c1: f32):
    %y0 = arith.addf %a, %b : f32
    %y1 = arith.subf %a, %b : f32
    linalg.yield %y0, %y1 : f32, f32
  } -> (tensor<512x4096xf32>, tensor<512x4096xf32>)
  return %r#0, %r#1 : tensor<512x4096xf32>, tensor<512x4096xf32>
}

// The elements of a row are compared with each other, and what comes of it with their places: more pairs than a
// block has registers for are made in steps, of 100 elements; of 64 they are made at once.
// CHECK-LABEL: @pairs
// CHECK-SAME: tile = array<i64: 1, 0, 8, 0>, warps = array<i64: 16>
// CHECK-LABEL: @fewer_pairs
// CHECK-SAME: tile = array<i64: 1, 0, 0, 0>, warps = array<i64: 8>
func.func private @pairs(%x: tensor<64x100xf32>, %out: tensor<64x100xi32>) -> tensor<64x100xi32> attributes {mlopt.kernel} {
  %zero = arith.constant 0 : i32
  %p = tensor.empty() : tensor<64x100x100xi32>
  %e = tensor.empty() : tensor<64x100xi32>
  %less = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %x : tensor<64x100xf32>, tensor<64x100xf32>) outs(%p : tensor<64x100x100xi32>) {
  ^bb0(%a: f32, %b: f32, %o: i32):
    %t = arith.cmpf olt, %a, %b : f32
    %u = arith.extui %t : i1 to i32
    linalg.yield %u : i32
  } -> tensor<64x100x100xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<64x100xi32>) -> tensor<64x100xi32>
  %rank = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%less : tensor<64x100x100xi32>) outs(%f : tensor<64x100xi32>) {
  ^bb0(%a: i32, %o: i32):
    %t = arith.addi %a, %o : i32
    linalg.yield %t : i32
  } -> tensor<64x100xi32>
  %found = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rank : tensor<64x100xi32>) outs(%p : tensor<64x100x100xi32>) {
  ^bb0(%a: i32, %o: i32):
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %m = arith.index_cast %j : index to i32
    %n = arith.index_cast %k : index to i32
    %t = arith.cmpi eq, %a, %m : i32
    %u = arith.select %t, %n, %zero : i32
    linalg.yield %u : i32
  } -> tensor<64x100x100xi32>
  %g = linalg.fill ins(%zero : i32) outs(%out : tensor<64x100xi32>) -> tensor<64x100xi32>
  %places = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%found : tensor<64x100x100xi32>) outs(%g : tensor<64x100xi32>) {
  ^bb0(%a: i32, %o: i32):
    %t = arith.addi %a, %o : i32
    linalg.yield %t : i32
  } -> tensor<64x100xi32>
  return %places : tensor<64x100xi32>
}

func.func private @fewer_pairs(%x: tensor<64x64xf32>, %out: tensor<64x64xi32>) -> tensor<64x64xi32> attributes {mlopt.kernel} {
  %zero = arith.constant 0 : i32
  %p = tensor.empty() : tensor<64x64x64xi32>
  %e = tensor.empty() : tensor<64x64xi32>
  %less = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%p : tensor<64x64x64xi32>) {
  ^bb0(%a: f32, %b: f32, %o: i32):
    %t = arith.cmpf olt, %a, %b : f32
    %u = arith.extui %t : i1 to i32
    linalg.yield %u : i32
  } -> tensor<64x64x64xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<64x64xi32>) -> tensor<64x64xi32>
  %rank = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%less : tensor<64x64x64xi32>) outs(%f : tensor<64x64xi32>) {
  ^bb0(%a: i32, %o: i32):
    %t = arith.addi %a, %o : i32
    linalg.yield %t : i32
  } -> tensor<64x64xi32>
  %found = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rank : tensor<64x64xi32>) outs(%p : tensor<64x64x64xi32>) {
  ^bb0(%a: i32, %o: i32):
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %m = arith.index_cast %j : index to i32
    %n = arith.index_cast %k : index to i32
    %t = arith.cmpi eq, %a, %m : i32
    %u = arith.select %t, %n, %zero : i32
    linalg.yield %u : i32
  } -> tensor<64x64x64xi32>
  %g = linalg.fill ins(%zero : i32) outs(%out : tensor<64x64xi32>) -> tensor<64x64xi32>
  %places = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%found : tensor<64x64x64xi32>) outs(%g : tensor<64x64xi32>) {
  ^bb0(%a: i32, %o: i32):
    %t = arith.addi %a, %o : i32
    linalg.yield %t : i32
  } -> tensor<64x64xi32>
  return %places : tensor<64x64xi32>
}
