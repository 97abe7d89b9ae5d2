// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stage-tiles,canonicalize,cse)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stage-tiles,mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s --check-prefix=STRIPS

// The scores of one row are sums: they wait in memory, what is added up does not.
// CHECK-LABEL: @one_row
// CHECK-NOT: memref<1x64x16xf32>
// CHECK-DAG: %[[SCORES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x64xf32>
// CHECK-DAG: %[[ACC:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x16xf32>
// CHECK:   scf.for %{{.*}} = %c0 to %c128 step %c64 {
// CHECK:     %[[S:.*]] = vector.multi_reduction <add>
// CHECK:     vector.transfer_write %[[S]], %[[SCORES]]
// CHECK:     vector.multi_reduction <maximumf>
// CHECK:     %[[P:.*]] = math.exp
// CHECK:     vector.transfer_write %[[P]], %[[SCORES]]
// CHECK:     %[[NEXT:.*]] = vector.contract
// CHECK:     vector.transfer_write %[[NEXT]], %[[ACC]]

// Lanes run along a key for its score, then along the keys, then along a value.
// STRIPS-LABEL: @one_row
// STRIPS: scf.for %{{.*}} = %c0 to %c128 step %c64 {
// STRIPS:   arith.mulf {{.*}} : vector<16xf32>
// STRIPS:   memref.store
// STRIPS:   arith.maximumf {{.*}} : vector<32xf32>
// STRIPS:   math.exp {{.*}} : vector<64xf32>
// STRIPS:   vector.fma {{.*}} : vector<8xf32>
#weights = affine_map<(h, d, n) -> (h, n)>
#values = affine_map<(h, d, n) -> (h, n, d)>
#sums = affine_map<(h, d, n) -> (h, d)>
func.func private @one_row(%q: memref<12x16xf32>, %k: memref<12x128x16xf32>, %v: memref<12x128x8xf32>, %o: memref<12x8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1xf32>
  %none = arith.constant dense<0.0> : vector<1x64xf32>
  %start = arith.constant dense<0.0> : vector<1x8xf32>
  scf.forall (%h) = (0) to (12) step (1) {
    %r:2 = scf.for %j = %c0 to %c128 step %c64 iter_args(%top = %low, %acc = %start) -> (vector<1xf32>, vector<1x8xf32>) {
      %a = vector.transfer_read %q[%h, %c0], %pad {in_bounds = [true, true]} : memref<12x16xf32>, vector<1x16xf32>
      %b = vector.transfer_read %k[%h, %j, %c0], %pad {in_bounds = [true, true, true]} : memref<12x128x16xf32>, vector<1x64x16xf32>
      %a1 = vector.shape_cast %a : vector<1x16xf32> to vector<1x1x16xf32>
      %a2 = vector.broadcast %a1 : vector<1x1x16xf32> to vector<1x64x16xf32>
      %m = arith.mulf %a2, %b : vector<1x64x16xf32>
      %s = vector.multi_reduction <add>, %m, %none [2] : vector<1x64x16xf32> to vector<1x64xf32>
      %new = vector.multi_reduction <maximumf>, %s, %top [1] : vector<1x64xf32> to vector<1xf32>
      %c = vector.shape_cast %new : vector<1xf32> to vector<1x1xf32>
      %w = vector.broadcast %c : vector<1x1xf32> to vector<1x64xf32>
      %d = arith.subf %s, %w : vector<1x64xf32>
      %p = math.exp %d : vector<1x64xf32>
      %y = vector.transfer_read %v[%h, %j, %c0], %pad {in_bounds = [true, true, true]} : memref<12x128x8xf32>, vector<1x64x8xf32>
      %next = vector.contract {indexing_maps = [#weights, #values, #sums], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %y, %acc : vector<1x64xf32>, vector<1x64x8xf32> into vector<1x8xf32>
      scf.yield %new, %next : vector<1xf32>, vector<1x8xf32>
    }
    vector.transfer_write %r#1, %o[%h, %c0] {in_bounds = [true, true]} : vector<1x8xf32>, memref<12x8xf32>
  }
  return
}
