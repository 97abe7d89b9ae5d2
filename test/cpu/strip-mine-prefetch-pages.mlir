// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s --check-prefix=WIDE

// With 16 registers rows of 4096 bytes are not asked for ahead: L1 has them on the same lines.
// CHECK-LABEL: @pages
// CHECK-NOT: memref.prefetch %arg0[{{.*}}, read
// CHECK-LABEL: @others
// CHECK: memref.prefetch %arg0[{{.*}}], read, locality<2>, data : memref<1024x1016xf32>

// With 32, of 512 bits, they are.
// WIDE-LABEL: @pages
// WIDE: memref.prefetch %arg0[{{.*}}], read, locality<2>, data : memref<1024x1024xf32>
// WIDE-LABEL: @others
// WIDE: memref.prefetch %arg0[{{.*}}], read, locality<2>, data : memref<1024x1016xf32>
func.func @pages(%x: memref<1024x1024xf32>, %w: memref<1024x256xf32>, %out: memref<1024x256xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1024x64xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c1024 = arith.constant 1024 : index
  scf.forall (%n) = (0) to (256) step (64) {
    %r = scf.for %k = %c0 to %c1024 step %c8 iter_args(%a = %none) -> (vector<1024x64xf32>) {
      %p = vector.transfer_read %x[%c0, %k], %zero {in_bounds = [true, true]} : memref<1024x1024xf32>, vector<1024x8xf32>
      %f = vector.transfer_read %w[%k, %n], %zero {in_bounds = [true, true]} : memref<1024x256xf32>, vector<8x64xf32>
      %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %f, %a : vector<1024x8xf32>, vector<8x64xf32> into vector<1024x64xf32>
      scf.yield %s : vector<1024x64xf32>
    }
    vector.transfer_write %r, %out[%c0, %n] {in_bounds = [true, true]} : vector<1024x64xf32>, memref<1024x256xf32>
  }
  return
}

func.func @others(%x: memref<1024x1016xf32>, %w: memref<1016x256xf32>, %out: memref<1024x256xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<1024x64xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c1016 = arith.constant 1016 : index
  scf.forall (%n) = (0) to (256) step (64) {
    %r = scf.for %k = %c0 to %c1016 step %c8 iter_args(%a = %none) -> (vector<1024x64xf32>) {
      %p = vector.transfer_read %x[%c0, %k], %zero {in_bounds = [true, true]} : memref<1024x1016xf32>, vector<1024x8xf32>
      %f = vector.transfer_read %w[%k, %n], %zero {in_bounds = [true, true]} : memref<1016x256xf32>, vector<8x64xf32>
      %s = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %p, %f, %a : vector<1024x8xf32>, vector<8x64xf32> into vector<1024x64xf32>
      scf.yield %s : vector<1024x64xf32>
    }
    vector.transfer_write %r, %out[%c0, %n] {in_bounds = [true, true]} : vector<1024x64xf32>, memref<1024x256xf32>
  }
  return
}
