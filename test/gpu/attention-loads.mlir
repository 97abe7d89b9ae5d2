// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-warpgroup-attention,mlopt-gpu-assign-layouts,mlopt-gpu-attention-loads)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-warpgroup-attention,mlopt-gpu-assign-layouts,mlopt-gpu-attention-loads,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREAD
#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>

// Queries are copied once, with the first of two steps that are on their way; the second loop reads on in the
// rings where the first one has ended, and copies as far as its own end.
// CHECK-DAG: #[[FREE:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 64 + 2) mod 3)>
// CHECK-DAG: #[[SLOT:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 64) mod 3)>
// CHECK-LABEL: @attention
// CHECK: %[[Q:[0-9]+]] = "mlopt.shared_ring"() : () -> memref<1x128x64xbf16
// CHECK: %[[K:[0-9]+]] = "mlopt.shared_ring"() : () -> memref<3x64x64xbf16
// CHECK: %[[V:[0-9]+]] = "mlopt.shared_ring"() : () -> memref<3x64x64xbf16
// CHECK: "mlopt.async_copy"({{.*}}, %[[Q]],
// CHECK-COUNT-2: "mlopt.async_commit"
// CHECK: %[[P:[0-9]+]] = scf.for %[[N:[a-z0-9]+]] =
// CHECK-NEXT: "mlopt.async_wait"() {pending = 1 : i64, proxy = 1 : i64}
// CHECK-NEXT: %[[FREE0:[0-9]+]] = affine.apply #[[FREE]](%[[N]])
// CHECK: "mlopt.async_copy"({{.*}}, %[[K]], %[[FREE0]], {{.*}}, %c512)
// CHECK: "mlopt.async_copy"({{.*}}, %[[V]], %[[FREE0]], {{.*}}, %c512)
// CHECK: "mlopt.async_commit"
// CHECK: %[[SLOT0:[0-9]+]] = affine.apply #[[SLOT]](%[[N]])
// CHECK: %[[S:[0-9]+]] = "mlopt.warpgroup_mma"(%[[Q]], %{{.*}}, %[[K]], %[[SLOT0]], %{{.*}}) {instruction = "m64n64k16.bf16", left = array<i64: 0, 1, 1>
// CHECK-NEXT: %[[T:[0-9]+]] = "mlopt.warpgroup_result"(%[[S]])
// CHECK: %[[W:[0-9]+]] = arith.truncf
// CHECK-NEXT: %[[O:[0-9]+]] = "mlopt.warpgroup_mma_held"(%[[W]], %[[V]], %[[SLOT0]], %{{.*}}) {instruction = "m64n64k16.bf16", left = array<i64: 0, 1, 1>{{.*}}right = array<i64: 1, 0, 1>
// CHECK-NEXT: %[[U:[0-9]+]] = "mlopt.warpgroup_result"(%[[O]])
// CHECK-NEXT: scf.yield %[[U]]
// CHECK: scf.for %[[M:[a-z0-9]+]] = {{.*}} iter_args({{.*}} = %[[P]])
// CHECK: affine.apply #[[SLOT]](%[[M]])
// CHECK: "mlopt.warpgroup_mma"(%[[Q]], {{.*}}, %[[K]],
// CHECK: "mlopt.warpgroup_mma_held"({{.*}}, %[[V]],
// CHECK: "mlopt.async_wait"() {pending = 0 : i64}
// CHECK-COUNT-3: "mlopt.release"

// Scores are made anew in their first step along the depth (q is false). The weights are two in a register, four
// registers an instruction: two rows, and eight keys further.
// THREAD-LABEL: llvm.func @attention(
// THREAD: scf.for
// THREAD: nvvm.cp.async.wait.group 1
// THREAD: llvm.inline_asm has_side_effects "{ .reg .pred q; setp.ne.u32 q, 0, 0; .reg .b64 a, b; .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.fence.sync.aligned;
// THREAD-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, {{[^a-z]*}} $31}, a, b, q, 1, 1, 0, 0;
// THREAD-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, {{[^a-z]*}} $31}, a, b, p, 1, 1, 0, 0;
// THREAD: "wgmma.wait_group.sync.aligned 0;"
// THREAD: llvm.inline_asm has_side_effects "{ .reg .b64 a, b; .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.fence.sync.aligned; add.s64 b, $48, 0;
// THREAD-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, {{[^a-z]*}} $31}, {$32, $40, $33, $41}, b, p, 1, 1, 1; add.s64 b, $48, 128;
// THREAD: "wgmma.wait_group.sync.aligned 0;"
// THREAD: scf.yield
func.func private @attention(%q: memref<512x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %o: memref<512x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %nothing = arith.constant dense<0.0> : vector<128x64xf32>
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  scf.forall (%i) = (0) to (512) step (128) {
    %x = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<128x64xbf16>
    %whole = arith.minsi %i, %end : index
    %p = scf.for %n = %c0 to %whole step %step iter_args(%acc = %zero) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    %r = scf.for %n = %whole to %end step %step iter_args(%acc = %p) -> (vector<128x64xf32>) {
      %y = vector.transfer_read %k[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %nothing : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      %e = math.exp2 %d : vector<128x64xf32>
      %w = arith.truncf %e : vector<128x64xf32> to vector<128x64xbf16>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#q, #v, #s], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %w, %z, %acc : vector<128x64xbf16>, vector<64x64xbf16> into vector<128x64xf32>
      scf.yield %t : vector<128x64xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<128x64xf32>, memref<512x64xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 8>}}
  return
}
