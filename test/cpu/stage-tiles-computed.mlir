// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stage-tiles,canonicalize,cse)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stage-tiles,mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s --check-prefix=STRIPS

// Queries are scaled once, before the loop over keys, where they are turned: in lanes, not number by number.
// CHECK-DAG: #[[TURN:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: @scaled_queries
// CHECK-DAG: %[[QUERIES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x16xf32>
// CHECK:   %[[Q:.*]] = vector.transfer_read %arg0
// CHECK:   %[[SCALED:.*]] = arith.mulf %[[Q]], %{{.*}} : vector<16x16xf32>
// CHECK:   vector.transfer_write %[[SCALED]], %{{.*}}permutation_map = #[[TURN]]
// CHECK:   scf.for %{{.*}} = %c0 to %c128 step %c64 {
// CHECK-NOT: arith.mulf
// CHECK:     vector.contract
// CHECK-NOT: arith.mulf
// CHECK: return
// STRIPS-LABEL: @scaled_queries
// STRIPS: arith.mulf {{.*}} : vector<16xf32>
// STRIPS: scf.for %{{.*}} = %c0 to %c128 step %c64 {
// STRIPS-NOT: arith.mulf
// STRIPS: return
#rows = affine_map<(m, n, d) -> (m, d)>
#keys = affine_map<(m, n, d) -> (n, d)>
#out = affine_map<(m, n, d) -> (m, n)>
#weights = affine_map<(m, d, n) -> (m, n)>
#values = affine_map<(m, d, n) -> (n, d)>
#sums = affine_map<(m, d, n) -> (m, d)>
func.func private @scaled_queries(%q: memref<80x16xf32>, %k: memref<128x16xf32>, %v: memref<128x8xf32>, %o: memref<80x8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : f32
  %scale = arith.constant dense<0.5> : vector<16x16xf32>
  %low = arith.constant dense<0xFF800000> : vector<16xf32>
  %none = arith.constant dense<0.0> : vector<16x64xf32>
  %start = arith.constant dense<0.0> : vector<16x8xf32>
  scf.forall (%i) = (0) to (80) step (16) {
    %r:2 = scf.for %j = %c0 to %c128 step %c64 iter_args(%top = %low, %acc = %start) -> (vector<16xf32>, vector<16x8xf32>) {
      %a = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<80x16xf32>, vector<16x16xf32>
      %e = arith.mulf %a, %scale : vector<16x16xf32>
      %b = vector.transfer_read %k[%j, %c0], %pad {in_bounds = [true, true]} : memref<128x16xf32>, vector<64x16xf32>
      %s = vector.contract {indexing_maps = [#rows, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %e, %b, %none : vector<16x16xf32>, vector<64x16xf32> into vector<16x64xf32>
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

// Keys are others in each step: what is computed of them stays beside the product.
// CHECK-LABEL: @scaled_keys
// CHECK:   scf.for %{{.*}} = %c0 to %c128 step %c64 {
// CHECK:     %[[K:.*]] = arith.mulf
// CHECK:     vector.contract {{.*}} %[[K]],
// CHECK: return
func.func private @scaled_keys(%q: memref<80x16xf32>, %k: memref<128x16xf32>, %v: memref<128x8xf32>, %o: memref<80x8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : f32
  %scale = arith.constant dense<0.5> : vector<64x16xf32>
  %low = arith.constant dense<0xFF800000> : vector<16xf32>
  %none = arith.constant dense<0.0> : vector<16x64xf32>
  %start = arith.constant dense<0.0> : vector<16x8xf32>
  scf.forall (%i) = (0) to (80) step (16) {
    %r:2 = scf.for %j = %c0 to %c128 step %c64 iter_args(%top = %low, %acc = %start) -> (vector<16xf32>, vector<16x8xf32>) {
      %a = vector.transfer_read %q[%i, %c0], %pad {in_bounds = [true, true]} : memref<80x16xf32>, vector<16x16xf32>
      %b = vector.transfer_read %k[%j, %c0], %pad {in_bounds = [true, true]} : memref<128x16xf32>, vector<64x16xf32>
      %e = arith.mulf %b, %scale : vector<64x16xf32>
      %s = vector.contract {indexing_maps = [#rows, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %e, %none : vector<16x16xf32>, vector<64x16xf32> into vector<16x64xf32>
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

// What is computed of two tensors is left where it is.
// CHECK-LABEL: @of_two_tensors
// CHECK:   scf.for %{{.*}} = %c0 to %c128 step %c64 {
// CHECK:     %[[E:.*]] = arith.mulf
// CHECK:     vector.contract {{.*}} %[[E]],
// CHECK: return
func.func private @of_two_tensors(%q: memref<80x16xf32>, %t: memref<80x16xf32>, %k: memref<128x16xf32>, %v: memref<128x8xf32>, %o: memref<80x8xf32>) attributes {mlopt.kernel} {
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
      %g = vector.transfer_read %t[%i, %c0], %pad {in_bounds = [true, true]} : memref<80x16xf32>, vector<16x16xf32>
      %e = arith.mulf %a, %g : vector<16x16xf32>
      %b = vector.transfer_read %k[%j, %c0], %pad {in_bounds = [true, true]} : memref<128x16xf32>, vector<64x16xf32>
      %s = vector.contract {indexing_maps = [#rows, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %e, %b, %none : vector<16x16xf32>, vector<64x16xf32> into vector<16x64xf32>
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
