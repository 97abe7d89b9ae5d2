// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-join-sums)' | FileCheck %s

// What reads the sums needs whole rows of them: those of other blocks.
// CHECK: module attributes {mlopt.fusion = ["matmul -> sum: the last block of each tile cannot add up its parts: what reads its sums needs those of other blocks"]}
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 0, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %g = tensor.empty() : tensor<128xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<128xf32>) -> tensor<128xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<128x768xf32>) outs(%h : tensor<128xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %w : tensor<128x768xf32>, tensor<128xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// A block of 128 x 256 alone would take longer with its four parts than all multiprocessors, and a launch.
// CHECK: module attributes {mlopt.fusion = ["matmul -> sum: the last block of each tile would add up its 4 parts in {{.*}}s, a kernel of its own takes {{.*}}s"]}
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 128, 256, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// No tile rule takes what reads the parts.
// CHECK-NOT: mlopt.fusion
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.slow = "why"} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// The program returns the parts, too: somebody else reads them.
// CHECK-NOT: mlopt.fusion
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> (tensor<128x768xf32>, tensor<4x128x768xf32>) {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r, %p : tensor<128x768xf32>, tensor<4x128x768xf32>
}

// -----

// No tile rule takes what makes the parts.
// CHECK-NOT: mlopt.fusion
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.slow = "why"} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// They are no product.
// CHECK-NOT: mlopt.fusion
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.addf %xw, %yw : f32
    %t = arith.maximumf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// They are read twice.
// CHECK-NOT: mlopt.fusion
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p, %p : tensor<4x128x768xf32>, tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %again: f32, %o: f32):
    %both = arith.addf %x, %again : f32
    %t = arith.addf %both, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// A block makes two of them.
// CHECK-NOT: mlopt.fusion
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 2, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// Any number of rows.
// CHECK-NOT: mlopt.fusion
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<?x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x?x768xf32>) -> tensor<4x?x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x?x768xf32>) -> tensor<4x?x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<?x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x?x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x?x768xf32>
  return %r : tensor<4x?x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x?x768xf32>, %bias: tensor<768xf32>, %out: tensor<?x768xf32>) -> tensor<?x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %p, %c1 : tensor<4x?x768xf32>
  %e = tensor.empty(%rows) : tensor<?x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x768xf32>) -> tensor<?x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x?x768xf32>) outs(%f : tensor<?x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<?x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<?x768xf32>, tensor<768xf32>) outs(%out : tensor<?x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<?x768xf32>
  return %r : tensor<?x768xf32>
}

func.func @main(%a: tensor<?x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<?x768xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %a, %c0 : tensor<?x4x768xbf16>
  %e = tensor.empty(%rows) : tensor<4x?x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<?x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x?x768xf32>) -> tensor<4x?x768xf32>
  %f = tensor.empty(%rows) : tensor<?x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x?x768xf32>, tensor<768xf32>, tensor<?x768xf32>) -> tensor<?x768xf32>
  return %r : tensor<?x768xf32>
}

// -----

// The sums begin at the second row.
// CHECK: module attributes {mlopt.fusion = ["matmul -> sum: the last block of each tile cannot add up its parts: its parts are not read in their places"]}
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<129x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x129x768xf32>) -> tensor<4x129x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x129x768xf32>) -> tensor<4x129x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<129x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x129x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x129x768xf32>
  return %r : tensor<4x129x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x129x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m + 1, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x129x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<129x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x129x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<129x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x129x768xf32>) -> tensor<4x129x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x129x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// The last row comes first.
// CHECK: module attributes {mlopt.fusion = ["matmul -> sum: the last block of each tile cannot add up its parts: its parts are not read in their places"]}
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, 127 - m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// Parts of 768 x 768 are read along their diagonal.
// CHECK: module attributes {mlopt.fusion = ["matmul -> sum: the last block of each tile cannot add up its parts: its parts are read along a diagonal"]}
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<768x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x768x768xf32>) -> tensor<4x768x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x768x768xf32>) -> tensor<4x768x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<768x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x768x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x768x768xf32>
  return %r : tensor<4x768x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x768x768xf32>, %out: tensor<768xf32>) -> tensor<768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<768xf32>) -> tensor<768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m) -> (s, m, m)>, affine_map<(s, m) -> (m)>], iterator_types = ["reduction", "parallel"]}
      ins(%p : tensor<4x768x768xf32>) outs(%f : tensor<768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<768xf32>
  return %s : tensor<768xf32>
}

func.func @main(%a: tensor<768x4x768xbf16>, %b: tensor<4x768x768xbf16>) -> tensor<768xf32> {
  %e = tensor.empty() : tensor<4x768x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<768x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x768x768xf32>) -> tensor<4x768x768xf32>
  %f = tensor.empty() : tensor<768xf32>
  %r = call @kernel_1_sum_add(%p, %f) : (tensor<4x768x768xf32>, tensor<768xf32>) -> tensor<768xf32>
  return %r : tensor<768xf32>
}

// -----

// Somebody who is no kernel makes them.
// CHECK-NOT: mlopt.fusion
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// Columns are read along both dims: rows of the sums are alike.
// CHECK: module attributes {mlopt.fusion = ["matmul -> sum: the last block of each tile cannot add up its parts: what reads its sums runs along other dims, too"]}
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<768x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x768x768xf32>) -> tensor<4x768x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x768x768xf32>) -> tensor<4x768x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<768x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x768x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x768x768xf32>
  return %r : tensor<4x768x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x768x768xf32>, %bias: tensor<768xf32>, %out: tensor<128x768xf32>) -> tensor<128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 1, 512, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, n, n)>, affine_map<(s, m, n) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p : tensor<4x768x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %bias : tensor<128x768xf32>, tensor<768xf32>) outs(%out : tensor<128x768xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

func.func @main(%a: tensor<768x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %e = tensor.empty() : tensor<4x768x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<768x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x768x768xf32>) -> tensor<4x768x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x768x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  return %r : tensor<128x768xf32>
}

// -----

// Rows are added up, too.
// CHECK-NOT: mlopt.fusion
// CHECK: call @kernel_0_matmul(
// CHECK: call @kernel_1_sum_add(
func.func private @kernel_0_matmul(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %p: tensor<4x128x768xf32>) -> tensor<4x128x768xf32> attributes {mlopt.kernel, mlopt.ops = ["matmul"], mlopt.bytes = 7077888 : i64, mlopt.flops = 603979776 : i64, mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%p : tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(s, m, n, k) -> (m, s, k)>, affine_map<(s, m, n, k) -> (s, k, n)>, affine_map<(s, m, n, k) -> (s, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x4x768xbf16>, tensor<4x768x768xbf16>) outs(%f : tensor<4x128x768xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %m = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x128x768xf32>
  return %r : tensor<4x128x768xf32>
}

func.func private @kernel_1_sum_add(%p: tensor<4x128x768xf32>, %out: tensor<768xf32>) -> tensor<768xf32> attributes {mlopt.kernel, mlopt.ops = ["sum", "add"], mlopt.bytes = 1969152 : i64, mlopt.flops = 983040 : i64, mlopt.schedule = {min_blocks = array<i64: 16>, tile = array<i64: 512, 0, 0>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<768xf32>) -> tensor<768xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(s, m, n) -> (s, m, n)>, affine_map<(s, m, n) -> (n)>], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%p : tensor<4x128x768xf32>) outs(%f : tensor<768xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<768xf32>
  return %s : tensor<768xf32>
}

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>) -> tensor<768xf32> {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<768xf32>
  %r = call @kernel_1_sum_add(%p, %f) : (tensor<4x128x768xf32>, tensor<768xf32>) -> tensor<768xf32>
  return %r : tensor<768xf32>
}
