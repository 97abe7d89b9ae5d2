// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREAD
#a = affine_map<(m, n, k) -> (m, k)>
#t = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Four slots, of which one is read by what still runs, and one by what begins: two steps are on their way.
// CHECK-DAG: #[[SLOT:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 64) mod 4)>
// CHECK-DAG: #[[FREE:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 64 + 2) mod 4)>
// CHECK-DAG: #[[LATER:[a-z0-9]+]] = affine_map<(d0) -> (d0 + 128)>
// CHECK-LABEL: @product
// CHECK-DAG: %[[A:[a-z0-9_]+]] = "mlopt.shared_ring"() : () -> memref<4x64x64xbf16
// CHECK-DAG: %[[B:[a-z0-9_]+]] = "mlopt.shared_ring"() : () -> memref<4x64x128xbf16
// CHECK-COUNT-2: "mlopt.async_commit"
// CHECK: %[[D:[a-z0-9_]+]] = scf.for %[[K:[a-z0-9_]+]] = {{.*}} iter_args(%[[S:[a-z0-9_]+]] =
// CHECK-NEXT: "mlopt.async_wait"() {pending = 1 : i64, proxy = 1 : i64}
// CHECK-NEXT: %[[FREE0:[0-9]+]] = affine.apply #[[FREE]](%[[K]])
// CHECK-NEXT: %[[LATER0:[0-9]+]] = affine.apply #[[LATER]](%[[K]])
// CHECK-NEXT: %[[X:[0-9]+]] = vector.transfer_read %arg0[%c0{{.*}}, %[[LATER0]]]
// CHECK-NEXT: "mlopt.async_copy"(%[[X]], %[[A]], %[[FREE0]], %[[LATER0]], %c512
// CHECK: "mlopt.async_commit"
// CHECK-NEXT: %[[SLOT0:[0-9]+]] = affine.apply #[[SLOT]](%[[K]])
// CHECK-NEXT: %[[R:[0-9]+]] = "mlopt.warpgroup_mma"(%[[A]], %[[SLOT0]], %[[B]], %[[SLOT0]], %[[S]])
// CHECK-SAME: instruction = "m64n128k16.bf16", left = array<i64: 0, 1, 1>
// CHECK-SAME: result = array<i64: 0, 1>, right = array<i64: 1, 0, 1>
// CHECK-NEXT: "mlopt.warpgroup_wait"() {pending = 1 : i64}
// CHECK-NEXT: scf.yield %[[R]]
// CHECK: %[[E:[0-9]+]] = "mlopt.warpgroup_result"(%[[D]])
// CHECK: "mlopt.release"(%[[A]])
// CHECK: "mlopt.release"(%[[B]])
// CHECK: vector.transfer_write %[[E]]

// Rows of 128 bytes: along the depth for the first factor, 32 bytes of which are a step of an instruction; along
// the columns for the second one, whose second 64 columns lie behind the depth. One text for all of a step.
// THREAD: llvm.mlir.global external @dyn() {{.*}}alignment = 1024
// THREAD-LABEL: llvm.func @product(
// THREAD-DAG: %[[LEFT:[a-z0-9_]+]] = arith.constant 4611686293305360384 : i64
// THREAD-DAG: %[[RIGHT:[a-z0-9_]+]] = arith.constant 4611686293338849280 : i64
// THREAD: scf.for
// THREAD-NEXT: nvvm.cp.async.wait.group 1
// THREAD-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// THREAD-NEXT: nvvm.barrier0
// THREAD: nvvm.cp.async.shared.global
// THREAD: nvvm.cp.async.commit.group
// THREAD: arith.ori %{{.*}}, %[[LEFT]]
// THREAD: arith.ori %{{.*}}, %[[RIGHT]]
// THREAD: llvm.inline_asm has_side_effects "{ .reg .b64 a, b; .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.fence.sync.aligned;
// THREAD-SAME: add.s64 a, $64, 0; add.s64 b, $65, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0, {{[^a-z]*}} $63}, a, b, p, 1, 1, 0, 1;
// THREAD-SAME: add.s64 a, $64, 2; add.s64 b, $65, 128; wgmma
// THREAD-SAME: add.s64 a, $64, 4; add.s64 b, $65, 256; wgmma
// THREAD-SAME: add.s64 a, $64, 6; add.s64 b, $65, 384; wgmma
// THREAD-NEXT: llvm.extractvalue
// THREAD: "wgmma.commit_group.sync.aligned;"
// THREAD-NEXT: llvm.inline_asm {{.*}} "wgmma.wait_group.sync.aligned 1;"
// THREAD: scf.yield
// THREAD: llvm.inline_asm {{.*}} "wgmma.wait_group.sync.aligned 0;", "=f,{{.*}},63"
// THREAD-LABEL: llvm.func @product_unaligned
// THREAD-NOT: nvvm.cp.async.shared
// THREAD-LABEL: llvm.func @two_stages(
func.func private @product(%a: memref<64x512xbf16>, %b: memref<512x128xbf16>, %out: memref<64x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x128xbf16>, vector<64x128xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x128xbf16> into vector<64x128xf32>
      scf.yield %t : vector<64x128xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x128xf32>, memref<64x128xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// Two slots: a step waits for its product, so that the next one may write to what it has read.
// CHECK-LABEL: @two_stages
// CHECK-COUNT-1: "mlopt.async_commit"
// CHECK: "mlopt.async_wait"() {pending = 0
// CHECK: "mlopt.async_commit"
// CHECK: %[[R:[0-9]+]] = "mlopt.warpgroup_mma"
// CHECK-NEXT: %[[E:[0-9]+]] = "mlopt.warpgroup_result"(%[[R]])
// CHECK-NEXT: scf.yield %[[E]]
func.func private @two_stages(%a: memref<512x64xf16>, %b: memref<64x512xf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xf16>, vector<32x64xf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf16>, vector<64x32xf16>
      %t = vector.contract {indexing_maps = [#t, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<32x64xf16>, vector<64x32xf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 2>}}
  return
}

// Sums of 8-bit floats keep few bits: each step's begins at zero, and threads add it up. No product runs on, so that
// one more step is on its way.
// CHECK-LABEL: @float8
// CHECK-COUNT-2: "mlopt.async_commit"
// CHECK: scf.for {{.*}} iter_args(%[[S:[a-z0-9_]+]] =
// CHECK-NEXT: "mlopt.async_wait"() {pending = 1
// CHECK: %[[ZERO:.*]] = arith.constant {{.*}}dense<0.000000e+00> : vector<64x64xf32>
// CHECK: %[[R:[0-9]+]] = "mlopt.warpgroup_mma"(%{{.*}}, %[[ZERO]]) {{.*}}"m64n64k32.e4m3"
// CHECK-NEXT: %[[E:[0-9]+]] = "mlopt.warpgroup_result"(%[[R]])
// CHECK-NEXT: %[[T:[0-9]+]] = arith.addf %[[S]], %[[E]]
// CHECK-NEXT: scf.yield %[[T]]
// THREAD-LABEL: llvm.func @float8(
// THREAD: llvm.inline_asm has_side_effects "{ .reg .pred q; setp.ne.u32 q, 0, 0; .reg .b64 a, b;
// THREAD-SAME: wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {$0, {{[^a-z]*}} $31}, a, b, q, 1, 1;
// THREAD-SAME: add.s64 a, $32, 2; add.s64 b, $33, 2; wgmma{{[^}]*}}}, a, b, p, 1, 1; {{.*}} "=f,{{[=f,]*}}l,l"
func.func private @float8(%a: memref<64x512xi8>, %b: memref<64x512xi8>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0 : i8
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c128 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xi8>, vector<64x128xi8>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xi8>, vector<64x128xi8>
      %v = arith.bitcast %x : vector<64x128xi8> to vector<64x128xf8E4M3FN>
      %w = arith.bitcast %y : vector<64x128xi8> to vector<64x128xf8E4M3FN>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %v, %w, %s : vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 3>}}
  return
}

// A tile that is too large to be read ahead stays behind what takes the loop's sums, which has them all.
// CHECK-LABEL: @rounded_before_a_read
// CHECK: %[[D:[a-z0-9_]+]] = scf.for
// CHECK: %[[E:[0-9]+]] = "mlopt.warpgroup_result"(%[[D]])
// CHECK: arith.truncf %[[E]]
// CHECK: vector.transfer_read %arg2
func.func private @rounded_before_a_read(%a: memref<128x512xbf16>, %b: memref<512x256xbf16>, %c: memref<128x256xbf16>, %out: memref<128x256xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x512xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x256xbf16>, vector<64x256xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xbf16>, vector<64x256xbf16> into vector<128x256xf32>
      scf.yield %t : vector<128x256xf32>
    }
    %h = arith.truncf %d : vector<128x256xf32> to vector<128x256xbf16>
    %q = vector.transfer_read %c[%c0, %c0], %pad {in_bounds = [true, true]} : memref<128x256xbf16>, vector<128x256xbf16>
    %r = arith.addf %h, %q : vector<128x256xbf16>
    vector.transfer_write %r, %out[%c0, %c0] : vector<128x256xbf16>, memref<128x256xbf16>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 3>}}
  return
}
