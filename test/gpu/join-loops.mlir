// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-join-loops)' | FileCheck %s

// The columns of a window and the channels are one loop; places are computed of its number.
// CHECK-DAG: #[[L:.*]] = affine_map<(d0) -> (d0 floordiv 128)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0) -> (d0 mod 128)>
// CHECK-LABEL: @window
// CHECK: scf.forall
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c384{{.*}} step %c64{{.*}} iter_args(%[[S:.*]] = %
// CHECK: %[[AT:.*]] = affine.apply #[[L]](%[[I]])
// CHECK: %[[CH:.*]] = affine.apply #[[C]](%[[I]])
// CHECK: %[[PLACE:.*]] = affine.apply {{.*}}(%{{.*}}, %[[AT]])
// CHECK: vector.transfer_read %arg0[%[[PLACE]], %[[CH]]]
// CHECK: vector.transfer_read %arg1[%[[CH]], %[[AT]], %{{.*}}]
// CHECK: vector.contract {{.*}}, %[[S]]
// CHECK-NOT: scf.for
// CHECK: vector.transfer_write
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @window(%x: memref<64x128xbf16>, %w: memref<128x3x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %r = scf.for %l = %c0 to %c3 step %c1 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %p = affine.apply affine_map<(d0, d1) -> (d0 + d1 - 1)>(%i, %l)
      %t = scf.for %c = %c0 to %c128 step %c64 iter_args(%u = %s) -> (vector<64x64xf32>) {
        %f = vector.transfer_read %x[%p, %c], %pad {in_bounds = [false, true]} : memref<64x128xbf16>, vector<64x64xbf16>
        %g = vector.transfer_read %w[%c, %l, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1, d2) -> (d0, d2)>} : memref<128x3x64xbf16>, vector<64x64xbf16>
        %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
            %f, %g, %u : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
        scf.yield %d : vector<64x64xf32>
      }
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 1, 64>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}
