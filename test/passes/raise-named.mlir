// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse,mlopt-fuse,mlopt-raise-named)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse,mlopt-fuse,mlopt-raise-named,mlopt-outline)' --split-input-file | FileCheck %s --check-prefix=KERNEL

// The generics that are a softmax say so, and which one it is; its kernel is called by it, and keeps no remark.
// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-5: mlopt.part_of = {number = 0 : i64, op = "softmax"}
// CHECK: mlopt.op = "neg"}
// KERNEL-LABEL: func.func private @kernel_0_softmax_neg
// KERNEL-SAME: mlopt.ops = ["softmax", "neg"]}
// KERNEL-NOT: mlopt.part_of
func.func @softmax(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %least = arith.constant dense<0xFF800000> : tensor<8xf32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %m = linalg.reduce {arith.maximumf} ins(%x : tensor<8x64xf32>) outs(%least : tensor<8xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %d = arith.subf %x, %mb : tensor<8x64xf32>
  %p = math.exp %d : tensor<8x64xf32>
  %s = linalg.reduce {arith.addf} ins(%p : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %sb = linalg.broadcast ins(%s : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.divf %p, %sb : tensor<8x64xf32>
  %n = arith.negf %y : tensor<8x64xf32>
  return %n : tensor<8x64xf32>
}

// -----

// By the reciprocal of the sum, along columns, of half floats: the casts, which nothing else reads, are part of it.
// KERNEL-LABEL: func.func private @kernel_0_softmax(
// KERNEL-SAME: mlopt.ops = ["softmax"]}
func.func @halves(%h: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %least = arith.constant dense<0xFF800000> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %x = arith.extf %h : tensor<8x64xbf16> to tensor<8x64xf32>
  %m = linalg.reduce {arith.maximumf} ins(%x : tensor<8x64xf32>) outs(%least : tensor<64xf32>) dimensions = [0]
  %mb = linalg.broadcast ins(%m : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %d = arith.subf %x, %mb : tensor<8x64xf32>
  %p = math.exp %d : tensor<8x64xf32>
  %s = linalg.reduce {arith.addf} ins(%p : tensor<8x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [0]
  %i = arith.divf %one, %s : tensor<64xf32>
  %ib = linalg.broadcast ins(%i : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %y = arith.mulf %ib, %p : tensor<8x64xf32>
  %r = arith.truncf %y : tensor<8x64xf32> to tensor<8x64xbf16>
  return %r : tensor<8x64xbf16>
}

// -----

// A norm with a weight and a bias, and one of its result that is divided by a root; a single number is no weight.
// CHECK-LABEL: func.func @norms
// CHECK-COUNT-11: op = "layer_norm"}
// CHECK-COUNT-6: op = "rms_norm"}
// KERNEL-LABEL: func.func private @kernel_0_layer_norm_rms_norm
// KERNEL-SAME: mlopt.ops = ["layer_norm", "rms_norm", "mul"]}
func.func @norms(%x: tensor<8x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>, %a: tensor<f32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %size = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %s = linalg.reduce {arith.addf} ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %s, %size : tensor<8xf32>
  %mb = linalg.broadcast ins(%m : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %mb : tensor<8x64xf32>
  %q = arith.mulf %c, %c : tensor<8x64xf32>
  %t = linalg.reduce {arith.addf} ins(%q : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %t, %size : tensor<8xf32>
  %ve = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %ve : tensor<8xf32>
  %rb = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %n = arith.mulf %rb, %c : tensor<8x64xf32>
  %wb = linalg.broadcast ins(%w : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %nw = arith.mulf %n, %wb : tensor<8x64xf32>
  %bb = linalg.broadcast ins(%b : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %y = arith.addf %nw, %bb : tensor<8x64xf32>
  %q2 = arith.mulf %y, %y : tensor<8x64xf32>
  %t2 = linalg.reduce {arith.addf} ins(%q2 : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v2 = arith.divf %t2, %size : tensor<8xf32>
  %ve2 = arith.addf %v2, %eps : tensor<8xf32>
  %r2 = math.sqrt %ve2 : tensor<8xf32>
  %rb2 = linalg.broadcast ins(%r2 : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %z = arith.divf %y, %rb2 : tensor<8x64xf32>
  %ab = linalg.broadcast ins(%a : tensor<f32>) outs(%e : tensor<8x64xf32>) dimensions = [0, 1]
  %za = arith.mulf %z, %ab : tensor<8x64xf32>
  return %za : tensor<8x64xf32>
}

// -----

// x / 2 * (1 + erf(x / sqrt(2))), x * (0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))), x / (1 + exp(-x)).
// KERNEL-LABEL: func.func private @kernel_0_gelu_silu
// KERNEL-SAME: mlopt.ops = ["gelu", "gelu", "silu"]}
func.func @activations(%x: tensor<64xf32>) -> tensor<64xf32> {
  %half = arith.constant dense<0.5> : tensor<64xf32>
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %root = arith.constant dense<0.707106781> : tensor<64xf32>
  %third = arith.constant dense<0.044715> : tensor<64xf32>
  %pi = arith.constant dense<0.797884561> : tensor<64xf32>
  %a0 = arith.mulf %x, %half : tensor<64xf32>
  %a1 = arith.mulf %x, %root : tensor<64xf32>
  %a2 = math.erf %a1 : tensor<64xf32>
  %a3 = arith.addf %a2, %one : tensor<64xf32>
  %a = arith.mulf %a0, %a3 : tensor<64xf32>
  %b0 = arith.mulf %a, %a : tensor<64xf32>
  %b1 = arith.mulf %a, %b0 : tensor<64xf32>
  %b2 = arith.mulf %third, %b1 : tensor<64xf32>
  %b3 = arith.addf %b2, %a : tensor<64xf32>
  %b4 = arith.mulf %b3, %pi : tensor<64xf32>
  %b5 = math.tanh %b4 : tensor<64xf32>
  %b6 = arith.addf %one, %b5 : tensor<64xf32>
  %b7 = arith.mulf %half, %b6 : tensor<64xf32>
  %b = arith.mulf %a, %b7 : tensor<64xf32>
  %c0 = arith.negf %b : tensor<64xf32>
  %c1 = math.exp %c0 : tensor<64xf32>
  %c2 = arith.addf %c1, %one : tensor<64xf32>
  %c = arith.divf %b, %c2 : tensor<64xf32>
  return %c : tensor<64xf32>
}

// -----

// Of one element of each row.
#rows = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @loss
// CHECK-COUNT-6: mlopt.part_of = {number = 0 : i64, op = "log_softmax"}
// KERNEL-LABEL: func.func private @kernel_0_log_softmax
func.func @loss(%x: tensor<8x64xf32>, %i: tensor<8xindex>) -> tensor<8xf32> {
  %least = arith.constant dense<0xFF800000> : tensor<8xf32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %n = tensor.empty() : tensor<8xf32>
  %m = linalg.reduce {arith.maximumf} ins(%x : tensor<8x64xf32>) outs(%least : tensor<8xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %d = arith.subf %x, %mb : tensor<8x64xf32>
  %p = math.exp %d : tensor<8x64xf32>
  %s = linalg.reduce {arith.addf} ins(%p : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %l = math.log %s : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#rows, #rows, #rows, #rows], iterator_types = ["parallel"]}
      ins(%i, %m, %l : tensor<8xindex>, tensor<8xf32>, tensor<8xf32>) outs(%n : tensor<8xf32>) {
  ^bb0(%at: index, %most: f32, %log: f32, %out: f32):
    %row = linalg.index 0 : index
    %0 = tensor.extract %x[%row, %at] : tensor<8x64xf32>
    %1 = arith.subf %0, %most : f32
    %2 = arith.subf %1, %log : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}
