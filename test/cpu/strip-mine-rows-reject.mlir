// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s --implicit-check-not=memref.prefetch

// Rows of which the next one is not asked for while one is stored.

// 4 MB, which are stored through the caches.
// CHECK-LABEL: @in_the_cache
// CHECK: vector.store
func.func private @in_the_cache(%x: memref<1024x1024xf32>, %out: memref<1024x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) = (0) to (1024) step (4) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<1024x1024xf32>, vector<4x1024xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<4x1024xf32> to vector<4xf32>
    %2 = vector.shape_cast %1 : vector<4xf32> to vector<4x1xf32>
    %3 = vector.broadcast %2 : vector<4x1xf32> to vector<4x1024xf32>
    %4 = arith.divf %0, %3 : vector<4x1024xf32>
    vector.transfer_write %4, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x1024xf32>, memref<1024x1024xf32>
  }
  return
}

// Four rows are in a page, within which hardware looks ahead.
// CHECK-LABEL: @in_a_page
// CHECK: vector.store
func.func private @in_a_page(%x: memref<16384x256xf32>, %out: memref<16384x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) = (0) to (16384) step (4) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<16384x256xf32>, vector<4x256xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<4x256xf32> to vector<4xf32>
    %2 = vector.shape_cast %1 : vector<4xf32> to vector<4x1xf32>
    %3 = vector.broadcast %2 : vector<4x1xf32> to vector<4x256xf32>
    %4 = arith.divf %0, %3 : vector<4x256xf32>
    vector.transfer_write %4, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x256xf32>, memref<16384x256xf32>
  }
  return
}

// L1 does not hold two rows.
// CHECK-LABEL: @longer_than_l1
// CHECK: vector.store
func.func private @longer_than_l1(%x: memref<1024x8192xf32>, %out: memref<1024x8192xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) = (0) to (1024) step (4) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<1024x8192xf32>, vector<4x8192xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<4x8192xf32> to vector<4xf32>
    %2 = vector.shape_cast %1 : vector<4xf32> to vector<4x1xf32>
    %3 = vector.broadcast %2 : vector<4x1xf32> to vector<4x8192xf32>
    %4 = arith.divf %0, %3 : vector<4x8192xf32>
    vector.transfer_write %4, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x8192xf32>, memref<1024x8192xf32>
  }
  return
}

// Rows that do not start on a line are stored through the caches.
// CHECK-LABEL: @parts_of_lines
// CHECK: vector.store
func.func private @parts_of_lines(%x: memref<4196x1000xf32>, %out: memref<4196x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) = (0) to (4196) step (4) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<4196x1000xf32>, vector<4x1000xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<4x1000xf32> to vector<4xf32>
    %2 = vector.shape_cast %1 : vector<4xf32> to vector<4x1xf32>
    %3 = vector.broadcast %2 : vector<4x1xf32> to vector<4x1000xf32>
    %4 = arith.divf %0, %3 : vector<4x1000xf32>
    vector.transfer_write %4, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x1000xf32>, memref<4196x1000xf32>
  }
  return
}

// Two bytes an element: what is done with them takes longer than memory.
// CHECK-LABEL: @narrow
// CHECK: vector.store
func.func private @narrow(%x: memref<8192x1024xf16>, %out: memref<8192x1024xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<4xf16>
  scf.forall (%i) = (0) to (8192) step (4) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<8192x1024xf16>, vector<4x1024xf16>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<4x1024xf16> to vector<4xf16>
    %2 = vector.shape_cast %1 : vector<4xf16> to vector<4x1xf16>
    %3 = vector.broadcast %2 : vector<4x1xf16> to vector<4x1024xf16>
    %4 = arith.divf %0, %3 : vector<4x1024xf16>
    vector.transfer_write %4, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x1024xf16>, memref<8192x1024xf16>
  }
  return
}

// Nothing is reduced: each row is read while it is stored, and memory never waits.
// CHECK-LABEL: @chain
// CHECK: vector.store
func.func private @chain(%x: memref<4096x1024xf32>, %out: memref<4096x1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (4096) step (4) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<4096x1024xf32>, vector<4x1024xf32>
    %1 = arith.addf %0, %0 : vector<4x1024xf32>
    vector.transfer_write %1, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x1024xf32>, memref<4096x1024xf32>
  }
  return
}

// What is stored is the sums alone: reading never stops.
// CHECK-LABEL: @sums
// CHECK: memref.store
func.func private @sums(%x: memref<4096x1024xf32>, %out: memref<4096xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) = (0) to (4096) step (4) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<4096x1024xf32>, vector<4x1024xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<4x1024xf32> to vector<4xf32>
    vector.transfer_write %1, %out[%i] {in_bounds = [true]} : vector<4xf32>, memref<4096xf32>
  }
  return
}

// A size that is known at the call only.
// CHECK-LABEL: @dynamic
// CHECK: vector.store
func.func private @dynamic(%x: memref<?x1024xf32>, %out: memref<?x1024xf32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) = (0) to (%n) step (4) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [false, true]} : memref<?x1024xf32>, vector<4x1024xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<4x1024xf32> to vector<4xf32>
    %2 = vector.shape_cast %1 : vector<4xf32> to vector<4x1xf32>
    %3 = vector.broadcast %2 : vector<4x1xf32> to vector<4x1024xf32>
    %4 = arith.divf %0, %3 : vector<4x1024xf32>
    vector.transfer_write %4, %out[%i, %c0] {in_bounds = [false, true]} : vector<4x1024xf32>, memref<?x1024xf32>
  }
  return
}

// Rows of 4 KB that are only reduced: hardware looks ahead from one to the next.
// CHECK-LABEL: @short_reduced
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func private @short_reduced(%x: memref<4096x1024xf32>, %out: memref<4096xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %ninf = arith.constant dense<0xFF800000> : vector<1xf32>
  scf.forall (%i) in (4096) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<4096x1024xf32>, vector<1x1024xf32>
    %1 = vector.multi_reduction <maximumf>, %0, %ninf [1] : vector<1x1024xf32> to vector<1xf32>
    %2 = vector.shape_cast %1 : vector<1xf32> to vector<1x1xf32>
    %3 = vector.broadcast %2 : vector<1x1xf32> to vector<1x1024xf32>
    %4 = arith.subf %0, %3 : vector<1x1024xf32>
    %5 = vector.multi_reduction <add>, %4, %zero [1] : vector<1x1024xf32> to vector<1xf32>
    vector.transfer_write %5, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<4096xf32>
  }
  return
}

// One reduction waits for nothing but memory.
// CHECK-LABEL: @once
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func private @once(%x: memref<512x8192xf32>, %out: memref<512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) in (512) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x8192xf32>, vector<1x8192xf32>
    %1 = vector.multi_reduction <add>, %0, %zero [1] : vector<1x8192xf32> to vector<1xf32>
    vector.transfer_write %1, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<512xf32>
  }
  return
}
