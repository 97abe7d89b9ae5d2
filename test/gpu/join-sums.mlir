// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-join-sums)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-join-sums,mlopt-tile,mlopt-verify)' | FileCheck %s --check-prefix=TILE

// The product alone stays for who reads its parts elsewhere.
// CHECK: func.func private @kernel_0_matmul(
// CHECK-NOT: @kernel_1_sum_add(

// One kernel does what both do: inputs, then what it makes, parts first. Sums are made 16 rows of 64 at a time: 4 x 8
// elements a thread.
// CHECK-LABEL: func.func private @kernel_0_matmul_sum_add(
// CHECK-SAME: %[[A:.*]]: tensor<128x4x768xbf16>, %[[B:.*]]: tensor<4x768x768xbf16>, %[[BIAS:.*]]: tensor<768xf32>, %[[P:.*]]: tensor<4x128x768xf32>, %[[OUT:.*]]: tensor<128x768xf32>)
// CHECK-SAME: -> (tensor<4x128x768xf32>, tensor<128x768xf32>)
// CHECK-SAME: mlopt.bytes = 9047040 : i64
// CHECK-SAME: mlopt.flops = 604962816 : i64
// CHECK-SAME: mlopt.last_blocks = "the last block of each tile adds up its 4 parts: {{.*}}s, a kernel of its own {{.*}}s"
// CHECK-SAME: mlopt.ops = ["matmul", "sum", "add"]
// CHECK-SAME: mlopt.schedule = {min_blocks = array<i64: 1>, stages = array<i64: 8>, tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}
// CHECK-SAME: mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}
// CHECK: %[[PARTS:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[B]]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[PARTS]]
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %[[BIAS]] {{.*}} outs(%[[OUT]]
// CHECK: return %[[PARTS]], %[[R]]

// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4x128x768xf32>
// CHECK: %[[F:.*]] = tensor.empty() : tensor<128x768xf32>
// CHECK: %[[C:.*]]:2 = call @kernel_0_matmul_sum_add(%{{.*}}, %{{.*}}, %{{.*}}, %[[E]], %[[F]])
// CHECK: %[[D:.*]]:2 = call @kernel_0_matmul_sum_add(
// CHECK: %[[Q:.*]] = call @kernel_0_matmul(
// CHECK: return %[[C]]#1, %[[D]]#1, %[[Q]]

// mlopt-tile writes the tasks of both.
// TILE-LABEL: @kernel_0_matmul_sum_add
// TILE: %[[PARTS:.*]] = scf.forall {{.*}} to (4, 128, 768) step (1, 64, 64) shared_outs(%{{.*}} = %arg3)
// TILE: vector.contract
// TILE: } {mlopt.schedule = {min_blocks = array<i64: 1>
// TILE: %[[R:.*]] = scf.forall (%[[I:.*]], %[[N:.*]]) = (0, 0) to (128, 768) step (16, 64) shared_outs(%{{.*}} = %arg4)
// TILE: vector.transfer_read %[[PARTS]][%{{.*}}, %[[I]], %[[N]]], {{.*}} vector<4x16x64xf32>
// TILE: } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
// TILE: return %[[PARTS]], %[[R]]

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

func.func @main(%a: tensor<128x4x768xbf16>, %b: tensor<4x768x768xbf16>, %bias: tensor<768xf32>) -> (tensor<128x768xf32>, tensor<128x768xf32>, tensor<4x128x768xf32>) {
  %e = tensor.empty() : tensor<4x128x768xf32>
  %p = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %f = tensor.empty() : tensor<128x768xf32>
  %r = call @kernel_1_sum_add(%p, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  %q = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  %t = call @kernel_1_sum_add(%q, %bias, %f) : (tensor<4x128x768xf32>, tensor<768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  %u = call @kernel_0_matmul(%a, %b, %e) : (tensor<128x4x768xbf16>, tensor<4x768x768xbf16>, tensor<4x128x768xf32>) -> tensor<4x128x768xf32>
  return %r, %t, %u : tensor<128x768xf32>, tensor<128x768xf32>, tensor<4x128x768xf32>
}
