// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stage-tiles,canonicalize,cse)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stage-tiles,mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s --check-prefix=STRIPS

// Queries are turned once, before the loop; what the loop carried is in memory; the weights take the scores' place.
// CHECK-DAG: #[[TURN:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: @attention
// CHECK: scf.forall (%[[I:.*]]) = (0) to (80) step (16)
// CHECK-DAG: %[[NEW:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK-DAG: %[[SCORES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x16xf32>
// CHECK-DAG: %[[ACC:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x16xf32>
// CHECK-DAG: %[[QUERIES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x16xf32>
// CHECK:   %[[Q:.*]] = vector.transfer_read %arg0[%[[I]], %c0]
// CHECK:   vector.transfer_write %[[Q]], %[[QUERIES]]{{.*}}permutation_map = #[[TURN]]
// CHECK:   scf.for %{{.*}} = %c0 to %c128 step %c64 {
// CHECK:     %[[R:.*]] = vector.transfer_read %[[QUERIES]]{{.*}}permutation_map = #[[TURN]]
// CHECK:     %[[S:.*]] = vector.contract {{.*}} %[[R]],
// CHECK:     vector.transfer_write %[[S]], %[[SCORES]]{{.*}}permutation_map = #[[TURN]]
// CHECK:     %[[M:.*]] = vector.multi_reduction <maximumf>
// CHECK:     vector.transfer_write %[[M]], %[[NEW]]
// CHECK:     %[[P:.*]] = math.exp
// CHECK:     vector.transfer_write %[[P]], %[[SCORES]]
// CHECK:     %[[W:.*]] = vector.transfer_read %[[SCORES]]
// CHECK:     %[[NEXT:.*]] = vector.contract {{.*}} %[[W]], %{{.*}}, %{{.*}}
// CHECK:     vector.transfer_write %[[NEXT]], %[[ACC]]
// CHECK:   }
// CHECK:   vector.transfer_read %[[ACC]]
// CHECK:   vector.transfer_write %{{.*}}, %arg3

// A nest for each write: scores of 16 rows in the lanes, maxima lane by lane, sums of 8 values in the lanes.
// STRIPS-LABEL: @attention
// STRIPS: scf.for %{{.*}} = %c0 to %c128 step %c64 {
// STRIPS:   vector.fma {{.*}} : vector<16xf32>
// STRIPS:   arith.maximumf {{.*}} : vector<16xf32>
// STRIPS-NOT: vector.reduction
// STRIPS:   math.exp {{.*}} : vector<16xf32>
// STRIPS:   vector.fma {{.*}} : vector<8xf32>
#rows = affine_map<(m, n, d) -> (m, d)>
#keys = affine_map<(m, n, d) -> (n, d)>
#out = affine_map<(m, n, d) -> (m, n)>
#weights = affine_map<(m, d, n) -> (m, n)>
#values = affine_map<(m, d, n) -> (n, d)>
#sums = affine_map<(m, d, n) -> (m, d)>
func.func private @attention(%q: memref<80x16xf32>, %k: memref<128x16xf32>, %v: memref<128x8xf32>, %o: memref<80x8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<16xf32>
  %none = arith.constant dense<0.0> : vector<16x64xf32>
  %start = arith.constant dense<0.0> : vector<16x8xf32>
  scf.forall (%i) = (0) to (80) step (16) {
    %r:2 = scf.for %j = %c0 to %c128 step %c64 iter_args(%top = %low, %acc = %start) -> (vector<16xf32>, vector<16x8xf32>) {
      %a = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<80x16xf32>, vector<16x16xf32>
      %b = vector.transfer_read %k[%j, %c0], %pad {in_bounds = [true, true]} : memref<128x16xf32>, vector<64x16xf32>
      %s = vector.contract {indexing_maps = [#rows, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %none : vector<16x16xf32>, vector<64x16xf32> into vector<16x64xf32>
      %new = vector.multi_reduction <maximumf>, %s, %top [1] : vector<16x64xf32> to vector<16xf32>
      %c = vector.shape_cast %new : vector<16xf32> to vector<16x1xf32>
      %w = vector.broadcast %c : vector<16x1xf32> to vector<16x64xf32>
      %d = arith.subf %s, %w : vector<16x64xf32>
      %p = math.exp %d : vector<16x64xf32>
      %y = vector.transfer_read %v[%j, %c0], %pad {in_bounds = [true, true]} : memref<128x8xf32>, vector<64x8xf32>
      %next = vector.contract {indexing_maps = [#weights, #values, #sums], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %y, %acc : vector<16x64xf32>, vector<64x8xf32> into vector<16x8xf32>
      scf.yield %new, %next : vector<16xf32>, vector<16x8xf32>
    }
    vector.transfer_write %r#1, %o[%i, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<80x8xf32>
  }
  return
}

// Queries of one head of three: their buffer's rows are queries, not the one head, in the strips too.
// CHECK-LABEL: @heads
// CHECK-DAG: %[[QUERIES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x16x16xf32>
// CHECK: vector.transfer_write %{{.*}}, %[[QUERIES]]
// STRIPS-LABEL: @heads
// STRIPS-NOT: vector.scatter
// STRIPS-NOT: vector.gather
// STRIPS: vector.fma {{.*}} : vector<16xf32>
// STRIPS: vector.fma {{.*}} : vector<8xf32>
#head_rows = affine_map<(h, m, n, d) -> (m, h, d)>
#head_keys = affine_map<(h, m, n, d) -> (n, d)>
#head_scores = affine_map<(h, m, n, d) -> (h, m, n)>
#head_weights = affine_map<(h, m, d, n) -> (h, m, n)>
#head_values = affine_map<(h, m, d, n) -> (n, d)>
#head_sums = affine_map<(h, m, d, n) -> (h, m, d)>
func.func private @heads(%q: memref<80x3x16xf32>, %k: memref<64x16xf32>, %v: memref<64x8xf32>, %o: memref<3x80x8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1x16x64xf32>
  %start = arith.constant dense<0.0> : vector<1x16x8xf32>
  scf.forall (%i, %h) = (0, 0) to (80, 3) step (16, 1) {
    %a = vector.transfer_read %q[%i, %h, %c0], %pad {in_bounds = [true, true, true]} : memref<80x3x16xf32>, vector<16x1x16xf32>
    %b = vector.transfer_read %k[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x16xf32>, vector<64x16xf32>
    %s = vector.contract {indexing_maps = [#head_rows, #head_keys, #head_scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %none : vector<16x1x16xf32>, vector<64x16xf32> into vector<1x16x64xf32>
    %p = math.exp %s : vector<1x16x64xf32>
    %y = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x8xf32>, vector<64x8xf32>
    %r = vector.contract {indexing_maps = [#head_weights, #head_values, #head_sums], iterator_types = ["parallel", "parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %y, %start : vector<1x16x64xf32>, vector<64x8xf32> into vector<1x16x8xf32>
    vector.transfer_write %r, %o[%h, %i, %c0] {in_bounds = [true, true, true]} : vector<1x16x8xf32>, memref<3x80x8xf32>
  }
  return
}
