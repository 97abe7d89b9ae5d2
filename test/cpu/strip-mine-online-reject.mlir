// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-softmax-sums,mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s --implicit-check-not=scf.if

// Rows whose maximum has a loop of its own.

// The maximum of a short row rises too often.
// CHECK-LABEL: @short
// CHECK-COUNT-2: iter_args
// CHECK: return
func.func private @short(%x: memref<512x8192xf32>, %sum: memref<512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %least = arith.constant dense<0xFF800000> : vector<1xf32>
  scf.forall (%i) in (512) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x8192xf32>, vector<1x8192xf32>
    %1 = vector.multi_reduction <maximumf>, %0, %least [1] : vector<1x8192xf32> to vector<1xf32>
    %2 = vector.shape_cast %1 : vector<1xf32> to vector<1x1xf32>
    %3 = vector.broadcast %2 : vector<1x1xf32> to vector<1x8192xf32>
    %4 = arith.subf %0, %3 : vector<1x8192xf32>
    %5 = math.exp %4 : vector<1x8192xf32>
    %6 = vector.multi_reduction <add>, %5, %zero [1] : vector<1x8192xf32> to vector<1xf32>
    vector.transfer_write %6, %sum[%i] {in_bounds = [true]} : vector<1xf32>, memref<512xf32>
  }
  return
}

// The exponentials are stored, relative to the row's maximum.
// CHECK-LABEL: @stored
// CHECK-COUNT-2: iter_args
// CHECK: return
func.func private @stored(%x: memref<512x16384xf32>, %out: memref<512x16384xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %least = arith.constant dense<0xFF800000> : vector<1xf32>
  scf.forall (%i) in (512) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x16384xf32>, vector<1x16384xf32>
    %1 = vector.multi_reduction <maximumf>, %0, %least [1] : vector<1x16384xf32> to vector<1xf32>
    %2 = vector.shape_cast %1 : vector<1xf32> to vector<1x1xf32>
    %3 = vector.broadcast %2 : vector<1x1xf32> to vector<1x16384xf32>
    %4 = arith.subf %0, %3 : vector<1x16384xf32>
    %5 = math.exp %4 : vector<1x16384xf32>
    %6 = vector.multi_reduction <add>, %5, %zero [1] : vector<1x16384xf32> to vector<1xf32>
    %7 = vector.shape_cast %6 : vector<1xf32> to vector<1x1xf32>
    %8 = vector.broadcast %7 : vector<1x1xf32> to vector<1x16384xf32>
    %9 = arith.divf %5, %8 : vector<1x16384xf32>
    vector.transfer_write %9, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x16384xf32>, memref<512x16384xf32>
  }
  return
}

// What the exponentials are made of is added up, too.
// CHECK-LABEL: @differences
// CHECK-COUNT-3: iter_args
// CHECK: return
func.func private @differences(%x: memref<512x16384xf32>, %sum: memref<512xf32>, %all: memref<512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %least = arith.constant dense<0xFF800000> : vector<1xf32>
  scf.forall (%i) in (512) {
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<512x16384xf32>, vector<1x16384xf32>
    %1 = vector.multi_reduction <maximumf>, %0, %least [1] : vector<1x16384xf32> to vector<1xf32>
    %2 = vector.shape_cast %1 : vector<1xf32> to vector<1x1xf32>
    %3 = vector.broadcast %2 : vector<1x1xf32> to vector<1x16384xf32>
    %4 = arith.subf %0, %3 : vector<1x16384xf32>
    %5 = math.exp %4 : vector<1x16384xf32>
    %6 = vector.multi_reduction <add>, %5, %zero [1] : vector<1x16384xf32> to vector<1xf32>
    %7 = vector.multi_reduction <add>, %4, %zero [1] : vector<1x16384xf32> to vector<1xf32>
    vector.transfer_write %6, %sum[%i] {in_bounds = [true]} : vector<1xf32>, memref<512xf32>
    vector.transfer_write %7, %all[%i] {in_bounds = [true]} : vector<1xf32>, memref<512xf32>
  }
  return
}
