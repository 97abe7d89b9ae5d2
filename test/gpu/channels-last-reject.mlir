// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-channels-last)' | FileCheck %s
#px = affine_map<(n, o, i, j, c) -> (n, c, i, j)>
#pw = affine_map<(n, o, i, j, c) -> (c, o)>
#py = affine_map<(n, o, i, j, c) -> (n, o, i, j)>

// Exact f32 is not for tensor cores.
// CHECK-LABEL: @exact
// CHECK-NOT: tensor<2x8x8x64x
// CHECK: return
func.func @exact(%x: tensor<2x64x8x8xf32>, %w: tensor<64x64xf32>) -> tensor<2x64x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x64x8x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xf32>) outs(%e : tensor<2x64x8x8xf32>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<2x64x8x8xf32>
  %g = tensor.empty() : tensor<2x64x8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%g : tensor<2x64x8x8xf32>) -> tensor<2x64x8x8xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x64x8x8xf32>, tensor<64x64xf32>) outs(%f : tensor<2x64x8x8xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %u: f32, %o: f32):
    %m = arith.mulf %a, %u : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x64x8x8xf32>
  return %c : tensor<2x64x8x8xf32>
}

// The channels of a place are not whole pieces of 16 bytes.
// CHECK-LABEL: @few
// CHECK-NOT: tensor<2x8x8x12x
// CHECK: return
func.func @few(%x: tensor<2x12x8x8xbf16>, %w: tensor<12x64xbf16>) -> tensor<2x64x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x12x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x12x8x8xbf16>) outs(%e : tensor<2x12x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x12x8x8xbf16>
  %g = tensor.empty() : tensor<2x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x12x8x8xbf16>, tensor<12x64xbf16>) outs(%f : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8x8xbf16>
  return %c : tensor<2x64x8x8xbf16>
}

// A product has no image.
// CHECK-LABEL: @product
// CHECK-NOT: tensor<2x8x8x64x
// CHECK: return
func.func @product(%x: tensor<2x64x8x8xbf16>, %w: tensor<64x64xbf16>) -> tensor<2x64x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xbf16>) outs(%e : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x64x8x8xbf16>, tensor<64x64xbf16>) outs(%f : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8x8xbf16>
  return %c : tensor<2x64x8x8xbf16>
}

// The largest sum, not the sum of products.
// CHECK-LABEL: @largest
// CHECK-NOT: tensor<2x8x8x64x
// CHECK: return
func.func @largest(%x: tensor<2x64x8x8xbf16>, %w: tensor<64x64xbf16>) -> tensor<2x64x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xbf16>) outs(%e : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x64x8x8xbf16>, tensor<64x64xbf16>) outs(%f : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.addf %a, %u : bf16
    %s = arith.maximumf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8x8xbf16>
  return %c : tensor<2x64x8x8xbf16>
}

// Every other place.
// CHECK-LABEL: @strided
// CHECK-NOT: tensor<2x16x16x64x
// CHECK: return
func.func @strided(%x: tensor<2x64x16x16xbf16>, %w: tensor<64x64xbf16>) -> tensor<2x64x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x64x16x16xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x16x16xbf16>) outs(%e : tensor<2x64x16x16xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x16x16xbf16>
  %g = tensor.empty() : tensor<2x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i * 2, j * 2)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x64x16x16xbf16>, tensor<64x64xbf16>) outs(%f : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8x8xbf16>
  return %c : tensor<2x64x8x8xbf16>
}

// Two dims of the image are summed over.
// CHECK-LABEL: @two_sums
// CHECK-NOT: tensor<2x8x8x64x
// CHECK: return
func.func @two_sums(%x: tensor<2x64x8x8xbf16>, %w: tensor<64x8x64xbf16>) -> tensor<2x64x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xbf16>) outs(%e : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x64x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8xbf16>) -> tensor<2x64x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, c, j) -> (n, c, i, j)>, affine_map<(n, o, i, c, j) -> (c, j, o)>, affine_map<(n, o, i, c, j) -> (n, o, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%r, %w : tensor<2x64x8x8xbf16>, tensor<64x8x64xbf16>) outs(%f : tensor<2x64x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8xbf16>
  return %c : tensor<2x64x8xbf16>
}

// A place of the result has channels in two dims.
// CHECK-LABEL: @two_made
// CHECK-NOT: tensor<2x8x8x64x
// CHECK: return
func.func @two_made(%x: tensor<2x64x8x8xbf16>, %w: tensor<64x4x16xbf16>) -> tensor<2x4x16x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xbf16>) outs(%e : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x4x16x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x4x16x8x8xbf16>) -> tensor<2x4x16x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, p, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, p, i, j, c) -> (c, o, p)>, affine_map<(n, o, p, i, j, c) -> (n, o, p, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x64x8x8xbf16>, tensor<64x4x16xbf16>) outs(%f : tensor<2x4x16x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x4x16x8x8xbf16>
  return %c : tensor<2x4x16x8x8xbf16>
}

// Groups of channels.
// CHECK-LABEL: @groups
// CHECK-NOT: tensor<2x4x8x8x64x
// CHECK: return
func.func @groups(%x: tensor<2x4x64x8x8xbf16>, %w: tensor<4x64x64xbf16>) -> tensor<2x4x64x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x4x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e, g) -> (a, b, d, e, g)>, affine_map<(a, b, d, e, g) -> (a, b, d, e, g)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x4x64x8x8xbf16>) outs(%e : tensor<2x4x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x4x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x4x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x4x64x8x8xbf16>) -> tensor<2x4x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, g, o, i, j, c) -> (n, g, c, i, j)>, affine_map<(n, g, o, i, j, c) -> (g, c, o)>, affine_map<(n, g, o, i, j, c) -> (n, g, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x4x64x8x8xbf16>, tensor<4x64x64xbf16>) outs(%f : tensor<2x4x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x4x64x8x8xbf16>
  return %c : tensor<2x4x64x8x8xbf16>
}

// Any number of images.
// CHECK-LABEL: @any_number
// CHECK-NOT: tensor<?x8x8x64x
// CHECK: return
func.func @any_number(%x: tensor<?x64x8x8xbf16>, %w: tensor<64x64xbf16>) -> tensor<2x64x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64x8x8xbf16>
  %e = tensor.empty(%n) : tensor<?x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x64x8x8xbf16>) outs(%e : tensor<?x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<?x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<?x64x8x8xbf16>, tensor<64x64xbf16>) outs(%f : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8x8xbf16>
  return %c : tensor<2x64x8x8xbf16>
}

// A view that divides the channels.
// CHECK-LABEL: @divided
// CHECK-NOT: tensor<2x8x8x
// CHECK: return
func.func @divided(%x: tensor<2x256x8x8xbf16>, %w: tensor<64x64xbf16>) -> tensor<2x4x64x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x256x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x256x8x8xbf16>) outs(%e : tensor<2x256x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x256x8x8xbf16>
  %v = tensor.expand_shape %r [[0], [1, 2], [3], [4]] output_shape [2, 4, 64, 8, 8] : tensor<2x256x8x8xbf16> into tensor<2x4x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x4x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x4x64x8x8xbf16>) -> tensor<2x4x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, h, o, i, j, c) -> (n, h, c, i, j)>, affine_map<(n, h, o, i, j, c) -> (c, o)>, affine_map<(n, h, o, i, j, c) -> (n, h, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%v, %w : tensor<2x4x64x8x8xbf16>, tensor<64x64xbf16>) outs(%f : tensor<2x4x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x4x64x8x8xbf16>
  return %c : tensor<2x4x64x8x8xbf16>
}

// A view of a matrix.
// CHECK-LABEL: @flat
// CHECK-NOT: tensor<8x8x64x
// CHECK: return
func.func @flat(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<64x64xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x64xbf16>) outs(%e : tensor<64x64xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<64x64xbf16>
  %v = tensor.expand_shape %r [[0], [1, 2]] output_shape [64, 8, 8] : tensor<64x64xbf16> into tensor<64x8x8xbf16>
  %g = tensor.empty() : tensor<64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<64x8x8xbf16>) -> tensor<64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(o, i, j, c) -> (c, i, j)>, affine_map<(o, i, j, c) -> (c, o)>, affine_map<(o, i, j, c) -> (o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%v, %w : tensor<64x8x8xbf16>, tensor<64x64xbf16>) outs(%f : tensor<64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<64x8x8xbf16>
  return %c : tensor<64x8x8xbf16>
}

// What it is made onto comes from outside.
// CHECK-LABEL: @onto
// CHECK-NOT: tensor<2x8x8x64x
// CHECK: return
func.func @onto(%x: tensor<2x64x8x8xbf16>, %w: tensor<64x64xbf16>, %z: tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xbf16>) outs(%z : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x64x8x8xbf16>, tensor<64x64xbf16>) outs(%f : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8x8xbf16>
  return %c : tensor<2x64x8x8xbf16>
}

// It is returned, too.
// CHECK-LABEL: @returned
// CHECK-NOT: tensor<2x8x8x64x
// CHECK: return
func.func @returned(%x: tensor<2x64x8x8xbf16>, %w: tensor<64x64xbf16>) -> (tensor<2x64x8x8xbf16>, tensor<2x64x8x8xbf16>) {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xbf16>) outs(%e : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x64x8x8xbf16>, tensor<64x64xbf16>) outs(%f : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8x8xbf16>
  return %c, %r : tensor<2x64x8x8xbf16>, tensor<2x64x8x8xbf16>
}

// It is a part of something else.
// CHECK-LABEL: @concat
// CHECK-NOT: tensor<2x8x8x64x
// CHECK: return
func.func @concat(%x: tensor<2x64x8x8xbf16>, %w: tensor<64x64xbf16>, %z: tensor<4x64x8x8xbf16>) -> (tensor<2x64x8x8xbf16>, tensor<4x64x8x8xbf16>) {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xbf16>) outs(%e : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x64x8x8xbf16>, tensor<64x64xbf16>) outs(%f : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8x8xbf16>
  %all = tensor.insert_slice %r into %z[0, 0, 0, 0] [2, 64, 8, 8] [1, 1, 1, 1] : tensor<2x64x8x8xbf16> into tensor<4x64x8x8xbf16>
  %h = tensor.empty() : tensor<4x64x8x8xbf16>
  %d = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%all : tensor<4x64x8x8xbf16>) outs(%h : tensor<4x64x8x8xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<4x64x8x8xbf16>
  return %c, %d : tensor<2x64x8x8xbf16>, tensor<4x64x8x8xbf16>
}

// Something else begins with it.
// CHECK-LABEL: @init
// CHECK-NOT: tensor<2x8x8x64x
// CHECK: return
func.func @init(%x: tensor<2x64x8x8xbf16>, %w: tensor<64x64xbf16>) -> (tensor<2x64x8x8xbf16>, tensor<2x64x8x8xbf16>) {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x64x8x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xbf16>) outs(%e : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x8x8xbf16>
  %g = tensor.empty() : tensor<2x64x8x8xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%g : tensor<2x64x8x8xbf16>) -> tensor<2x64x8x8xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, i, j, c) -> (n, c, i, j)>, affine_map<(n, o, i, j, c) -> (c, o)>, affine_map<(n, o, i, j, c) -> (n, o, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%r, %w : tensor<2x64x8x8xbf16>, tensor<64x64xbf16>) outs(%f : tensor<2x64x8x8xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<2x64x8x8xbf16>
  %d = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x64x8x8xbf16>) outs(%r : tensor<2x64x8x8xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.addf %a, %o : bf16
    linalg.yield %m : bf16
  } -> tensor<2x64x8x8xbf16>
  return %c, %d : tensor<2x64x8x8xbf16>, tensor<2x64x8x8xbf16>
}

// What comes from outside lies along pieces of 16 bytes already: a copy costs more than it saves. What is made of
// it stays as it is.
// CHECK-LABEL: @pieces
// CHECK-NOT: transpose
// CHECK-NOT: 32x56x56x64
// CHECK: return %{{.*}} : tensor<32x64x56x56xbf16>
func.func @pieces(%x: tensor<32x64x56x56xbf16>, %w: tensor<64x64xbf16>) -> tensor<32x64x56x56xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<32x64x56x56xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64x56x56xbf16>) -> tensor<32x64x56x56xbf16>
  %c = linalg.generic {indexing_maps = [#px, #pw, #py], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<32x64x56x56xbf16>, tensor<64x64xbf16>) outs(%f : tensor<32x64x56x56xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x56x56xbf16>
  %d = tensor.empty() : tensor<32x64x56x56xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, d, e) -> (a, b, d, e)>, affine_map<(a, b, d, e) -> (a, b, d, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c : tensor<32x64x56x56xbf16>) outs(%d : tensor<32x64x56x56xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %zero : bf16
    linalg.yield %m : bf16
  } -> tensor<32x64x56x56xbf16>
  return %r : tensor<32x64x56x56xbf16>
}

// A sequence from outside, whose steps of two a view divides: a copy of it would turn nothing.
// CHECK-LABEL: @sequence
// CHECK-NOT: transpose
// CHECK: return
func.func @sequence(%x: tensor<1024x65536xbf16>, %w: tensor<1024x9x1024xbf16>) -> tensor<1024x32764xbf16> {
  %zero = arith.constant 0.0 : bf16
  %b = tensor.expand_shape %x [[0], [1, 2]] output_shape [1024, 32768, 2] : tensor<1024x65536xbf16> into tensor<1024x32768x2xbf16>
  %ey = tensor.empty() : tensor<1024x32764xbf16>
  %fy = linalg.fill ins(%zero : bf16) outs(%ey : tensor<1024x32764xbf16>) -> tensor<1024x32764xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(o, i, c, k) -> (c, i + k floordiv 2, k mod 2)>, affine_map<(o, i, c, k) -> (c, k, o)>, affine_map<(o, i, c, k) -> (o, i)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%b, %w : tensor<1024x32768x2xbf16>, tensor<1024x9x1024xbf16>) outs(%fy : tensor<1024x32764xbf16>) attrs = {mlopt.op = "conv1d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %t = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %t : bf16
    linalg.yield %s : bf16
  } -> tensor<1024x32764xbf16>
  return %c : tensor<1024x32764xbf16>
}
