// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-warpgroup-attention,mlopt-gpu-assign-layouts,mlopt-gpu-attention-loads,mlopt-gpu-tma-loads,mlopt-gpu-warp-roles)' | FileCheck %s
#q = affine_map<(m, n, k) -> (m, k)>
#k = affine_map<(m, n, k) -> (n, k)>
#v = affine_map<(m, n, k) -> (k, n)>
#s = affine_map<(m, n, k) -> (m, n)>

// A ninth warp copies the queries, then the steps of both loops; the others wait for data alone, and free a slot
// when its values have been multiplied.
// CHECK-DAG: #[[SLOT:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 64) mod 3)>
// CHECK-DAG: #[[BEFORE:[a-z0-9]+]] = affine_map<(d0) -> ((d0 floordiv 192 + 1) mod 2)>
// CHECK-LABEL: @attention
// CHECK: %[[BAR:[0-9]+]]:2 = "mlopt.tma_barriers"() {arrivals = array<i64: 2, 8>} : () -> (memref<3xi64{{.*}}, memref<3xi64
// CHECK: %[[ONCE:[0-9]+]] = "mlopt.tma_barriers"() {arrivals = array<i64: 1>} : () -> memref<1xi64
// CHECK: %[[ROLE:[0-9]+]]:3 = "mlopt.warp_roles"()
// CHECK-NEXT: scf.if %[[ROLE]]#0 {
// CHECK-NEXT: scf.if %[[ROLE]]#1 {
// CHECK: "mlopt.tma_load"({{.*}}, %[[ONCE]]) {alone}
// CHECK-NEXT: scf.for %[[N:[a-z0-9]+]] = %c0{{.*}} to %c512{{[_0-9]*}} step
// CHECK-NEXT: %[[SLOT0:[0-9]+]] = affine.apply #[[SLOT]](%[[N]])
// CHECK-NEXT: %[[ROUND0:[0-9]+]] = affine.apply #[[BEFORE]](%[[N]])
// CHECK-NEXT: "mlopt.tma_wait"(%[[BAR]]#1, %[[SLOT0]], %[[ROUND0]])
// CHECK-COUNT-2: "mlopt.tma_load"({{.*}}, %[[N]], %{{.*}}, %[[BAR]]#0) {alone}
// CHECK: } else {
// CHECK: scf.if %[[ROLE]]#2 {
// CHECK: "mlopt.tma_load"({{.*}}, %[[ONCE]])
// CHECK: "mlopt.tma_wait"(%[[ONCE]]
// CHECK: scf.for %[[N:[a-z0-9]+]] =
// CHECK: scf.if %[[ROLE]]#2 {
// CHECK-NEXT: "mlopt.tma_turn"
// CHECK: "mlopt.tma_wait"(%[[BAR]]#0
// CHECK: "mlopt.warpgroup_mma_held"
// CHECK-NEXT: "mlopt.warpgroup_result"
// CHECK-NEXT: %[[SLOT0:[0-9]+]] = affine.apply #[[SLOT]](%[[N]])
// CHECK-NEXT: "mlopt.tma_free"(%[[BAR]]#1, %[[SLOT0]], %[[N]], %{{.*}})
// CHECK: scf.for %[[N:[a-z0-9]+]] =
// CHECK: scf.if %[[ROLE]]#2 {
// CHECK-NEXT: "mlopt.tma_turn"
// CHECK: "mlopt.tma_wait"(%[[BAR]]#0
// CHECK: "mlopt.warpgroup_mma_held"
// CHECK-NEXT: "mlopt.warpgroup_result"
// CHECK-NEXT: %[[SLOT0:[0-9]+]] = affine.apply #[[SLOT]](%[[N]])
// CHECK-NEXT: "mlopt.tma_free"(%[[BAR]]#1, %[[SLOT0]], %[[N]], %{{.*}})
// CHECK: roles = array<i64: 1, 1>
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
