// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-keep-rows)' | FileCheck %s

// Rows of 15,000, three steps and a ragged one: 64 KB. Of four blocks of a multiprocessor two have room for them.
// CHECK-LABEL: @centre
// CHECK: scf.forall (%[[I:.*]]) in (100)
// CHECK:   %[[ROW:.*]] = memref.alloca() : memref<1x16384xf32, #gpu.address_space<workgroup>>
// CHECK:   scf.for %[[K:.*]] = %c0{{.*}} to %c15000{{.*}} step %c4096
// CHECK:     %[[AT:.*]] = arith.addi %c0{{.*}}, %[[K]]
// CHECK:     %[[V:.*]] = vector.transfer_read %arg0[%[[I]], %[[AT]]]
// CHECK:     vector.transfer_write %[[V]], %[[ROW]][%c0{{.*}}, %[[K]]] {in_bounds = [true, true]} : vector<1x4096xf32>
// CHECK:     arith.maximumf
// CHECK:   gpu.barrier
// CHECK:   scf.for %[[K:.*]] = %c0{{.*}} to %c15000{{.*}} step %c4096
// CHECK:     %[[W:.*]] = vector.transfer_read %[[ROW]][%c0{{.*}}, %[[K]]], %{{.*}} {in_bounds = [true, true]}
// CHECK:     arith.subf %[[W]]
// CHECK-NOT: transfer_read %arg0
// CHECK:   min_blocks = array<i64: 2>
func.func private @centre(%x: memref<100x15000xf32>, %out: memref<100x15000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %c15000 = arith.constant 15000 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x4096xf32>
  scf.forall (%i) = (0) to (100) step (1) {
    %m = scf.for %k = %c0 to %c15000 step %c4096 iter_args(%a = %low) -> (vector<1x4096xf32>) {
      %at = arith.addi %c0, %k : index
      %v = vector.transfer_read %x[%i, %at], %pad {in_bounds = [true, false]} : memref<100x15000xf32>, vector<1x4096xf32>
      %n = arith.maximumf %a, %v : vector<1x4096xf32>
      scf.yield %n : vector<1x4096xf32>
    }
    scf.for %k = %c0 to %c15000 step %c4096 {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<100x15000xf32>, vector<1x4096xf32>
      %s = arith.subf %v, %m : vector<1x4096xf32>
      vector.transfer_write %s, %out[%i, %k] {in_bounds = [true, false]} : vector<1x4096xf32>, memref<100x15000xf32>
    }
  } {mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 1, 0>, warps = array<i64: 16>}}
  return
}

// Two steps at once, after the last one, as mlopt-gpu-online-sums writes them; %w, read once, stays where it is.
// CHECK-LABEL: @together
// CHECK:   %[[ROW:.*]] = memref.alloca() : memref<640xf16, #gpu.address_space<workgroup>>
// CHECK:   %[[LAST:.*]] = vector.transfer_read %arg0[%c512{{.*}}]
// CHECK:   vector.transfer_write %[[LAST]], %[[ROW]][%c512{{.*}}]
// CHECK:   scf.for %[[K:.*]] = %c0{{.*}} to %c512{{.*}} step %c256
// CHECK:     vector.transfer_write %{{.*}}, %[[ROW]][%[[K]]]
// CHECK:     %[[NEXT:.*]] = arith.addi %[[K]], %c128
// CHECK:     vector.transfer_write %{{.*}}, %[[ROW]][%[[NEXT]]]
// CHECK:   gpu.barrier
// CHECK:   scf.for %[[K:.*]] =
// CHECK:     vector.transfer_read %[[ROW]][%[[K]]]
// CHECK:     vector.transfer_read %arg1[%[[K]]]
// CHECK:   min_blocks = array<i64: 4>
func.func private @together(%x: memref<600xf16>, %w: memref<600xf16>, %out: memref<600xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %c600 = arith.constant 600 : index
  %pad = arith.constant 0.0 : f16
  scf.forall (%i) = (0) to (1) step (1) {
    %last = vector.transfer_read %x[%c512], %pad {in_bounds = [false]} : memref<600xf16>, vector<128xf16>
    %m = scf.for %k = %c0 to %c512 step %c256 iter_args(%a = %last) -> (vector<128xf16>) {
      %next = arith.addi %k, %c128 : index
      %v = vector.transfer_read %x[%k], %pad {in_bounds = [true]} : memref<600xf16>, vector<128xf16>
      %u = vector.transfer_read %x[%next], %pad {in_bounds = [true]} : memref<600xf16>, vector<128xf16>
      %n = arith.maximumf %a, %v : vector<128xf16>
      %o = arith.maximumf %n, %u : vector<128xf16>
      scf.yield %o : vector<128xf16>
    }
    scf.for %k = %c0 to %c600 step %c128 {
      %v = vector.transfer_read %x[%k], %pad {in_bounds = [false]} : memref<600xf16>, vector<128xf16>
      %u = vector.transfer_read %w[%k], %pad {in_bounds = [false]} : memref<600xf16>, vector<128xf16>
      %s = arith.subf %v, %m : vector<128xf16>
      %t = arith.mulf %s, %u : vector<128xf16>
      vector.transfer_write %t, %out[%k] {in_bounds = [false]} : vector<128xf16>, memref<600xf16>
    }
  } {mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}
