// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-window-rows)' | FileCheck %s
#x = affine_map<(n, o, i, j, c, k, l) -> (n, c, i + k, j + l)>
#p = affine_map<(n, o, i, j, c, k, l) -> (n, c, i + k floordiv 4, k mod 4, j + l floordiv 4, l mod 4)>
#g = affine_map<(n, o, i, j, c, k, l) -> (n, o, c, i + k, j + l)>
#w = affine_map<(n, o, i, j, c, k, l) -> (c, k, l, o)>
#y = affine_map<(n, o, i, j, c, k, l) -> (n, o, i, j)>

// Channels are whole pieces of 16 bytes: mlopt-gpu-channels-last turns the image.
// CHECK-LABEL: func.func @pieces
// CHECK-NOT: "rows"
// CHECK: return
func.func @pieces(%x: tensor<32x16x56x56xbf16>, %w: tensor<16x3x3x64xbf16>) -> tensor<32x64x54x54xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<32x64x54x54xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64x54x54xbf16>) -> tensor<32x64x54x54xbf16>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x16x56x56xbf16>, tensor<16x3x3x64xbf16>) outs(%f : tensor<32x64x54x54xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x54x54xbf16>
  return %c : tensor<32x64x54x54xbf16>
}

// Exact f32 is not for tensor cores.
// CHECK-LABEL: func.func @exact
// CHECK-NOT: "rows"
// CHECK: return
func.func @exact(%x: tensor<32x3x56x56xf32>, %w: tensor<3x3x3x64xf32>) -> tensor<32x64x54x54xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x64x54x54xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x64x54x54xf32>) -> tensor<32x64x54x54xf32>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x3x56x56xf32>, tensor<3x3x3x64xf32>) outs(%f : tensor<32x64x54x54xf32>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: f32, %u: f32, %o: f32):
    %m = arith.mulf %a, %u : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<32x64x54x54xf32>
  return %c : tensor<32x64x54x54xf32>
}

// The window has one column.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: "rows"
// CHECK: return
func.func @narrow(%x: tensor<32x3x56x56xbf16>, %w: tensor<3x3x1x64xbf16>) -> tensor<32x64x54x56xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<32x64x54x56xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64x54x56xbf16>) -> tensor<32x64x54x56xbf16>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x3x56x56xbf16>, tensor<3x3x1x64xbf16>) outs(%f : tensor<32x64x54x56xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x54x56xbf16>
  return %c : tensor<32x64x54x56xbf16>
}

// Patches, which do not overlap, are no windows with rows in common.
// CHECK-LABEL: func.func @patches
// CHECK-NOT: "rows"
// CHECK: return
func.func @patches(%x: tensor<32x3x14x4x14x4xbf16>, %w: tensor<3x4x4x64xbf16>) -> tensor<32x64x14x14xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<32x64x14x14xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64x14x14xbf16>) -> tensor<32x64x14x14xbf16>
  %c = linalg.generic {indexing_maps = [#p, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x3x14x4x14x4xbf16>, tensor<3x4x4x64xbf16>) outs(%f : tensor<32x64x14x14xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x14x14xbf16>
  return %c : tensor<32x64x14x14xbf16>
}

// Each result has channels of its own.
// CHECK-LABEL: func.func @groups
// CHECK-NOT: "rows"
// CHECK: return
func.func @groups(%x: tensor<32x64x3x56x56xbf16>, %w: tensor<3x3x3x64xbf16>) -> tensor<32x64x54x54xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<32x64x54x54xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64x54x54xbf16>) -> tensor<32x64x54x54xbf16>
  %c = linalg.generic {indexing_maps = [#g, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x64x3x56x56xbf16>, tensor<3x3x3x64xbf16>) outs(%f : tensor<32x64x54x54xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x54x54xbf16>
  return %c : tensor<32x64x54x54xbf16>
}

// A kernel that copies takes longer than two steps.
// CHECK-LABEL: func.func @small
// CHECK-NOT: "rows"
// CHECK: return
func.func @small(%x: tensor<1x3x8x8xbf16>, %w: tensor<3x1x2x8xbf16>) -> tensor<1x8x8x7xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<1x8x8x7xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<1x8x8x7xbf16>) -> tensor<1x8x8x7xbf16>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x3x8x8xbf16>, tensor<3x1x2x8xbf16>) outs(%f : tensor<1x8x8x7xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<1x8x8x7xbf16>
  return %c : tensor<1x8x8x7xbf16>
}

// The number of images is not known.
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: "rows"
// CHECK: return
func.func @dynamic(%x: tensor<?x3x56x56xbf16>, %w: tensor<3x3x3x64xbf16>, %out: tensor<?x64x54x54xbf16>) -> tensor<?x64x54x54xbf16> {
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<?x3x56x56xbf16>, tensor<3x3x3x64xbf16>) outs(%out : tensor<?x64x54x54xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<?x64x54x54xbf16>
  return %c : tensor<?x64x54x54xbf16>
}

// It is padded with something else than zeros.
// CHECK-LABEL: func.func @ones
// CHECK-NOT: "rows"
// CHECK: return
func.func @ones(%x: tensor<32x3x56x56xbf16>, %w: tensor<3x3x3x64xbf16>) -> tensor<32x64x56x56xbf16> {
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : bf16
  %ep = tensor.empty() : tensor<32x3x58x58xbf16>
  %fp = linalg.fill ins(%one : bf16) outs(%ep : tensor<32x3x58x58xbf16>) -> tensor<32x3x58x58xbf16>
  %p = tensor.insert_slice %x into %fp[0, 0, 1, 1] [32, 3, 56, 56] [1, 1, 1, 1] {mlopt.op = "pad"} : tensor<32x3x56x56xbf16> into tensor<32x3x58x58xbf16>
  %e = tensor.empty() : tensor<32x64x56x56xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<32x64x56x56xbf16>) -> tensor<32x64x56x56xbf16>
  %c = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %w : tensor<32x3x58x58xbf16>, tensor<3x3x3x64xbf16>) outs(%f : tensor<32x64x56x56xbf16>) attrs = {mlopt.op = "conv2d"} {
  ^bb0(%a: bf16, %u: bf16, %o: bf16):
    %m = arith.mulf %a, %u : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<32x64x56x56xbf16>
  return %c : tensor<32x64x56x56xbf16>
}
