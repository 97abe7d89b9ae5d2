// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stage-tiles)' | FileCheck %s --implicit-check-not=memref.alloca

// One contraction, whose accumulator the loop carries: its nest keeps that in registers.
// CHECK-LABEL: @matmul
// CHECK: scf.for {{.*}} iter_args
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @matmul(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %o: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<16x64xf32>
  scf.forall (%i) = (0) to (64) step (16) {
    %r = scf.for %k = %c0 to %c64 step %c8 iter_args(%acc = %zero) -> (vector<16x64xf32>) {
      %p = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<16x8xf32>
      %q = vector.transfer_read %y[%k, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<8x64xf32>
      %s = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %q, %acc : vector<16x8xf32>, vector<8x64xf32> into vector<16x64xf32>
      scf.yield %s : vector<16x64xf32>
    }
    vector.transfer_write %r, %o[%i, %c0] {in_bounds = [true, true]} : vector<16x64xf32>, memref<64x64xf32>
  }
  return
}
