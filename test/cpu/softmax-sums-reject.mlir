// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-softmax-sums)' | FileCheck %s
// CHECK-NOT: mlopt.not_positive
// CHECK-NOT: math.fma

// The minimum: all exponentials may be huge.
func.func private @least(%x: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0x7F800000> : vector<64xf32>
  %zero = arith.constant dense<0.0> : vector<64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<64x64xf32>
    %m = vector.multi_reduction <minimumf>, %v, %least [1] : vector<64x64xf32> to vector<64xf32>
    %n = vector.shape_cast %m : vector<64xf32> to vector<64x1xf32>
    %a = vector.broadcast %n : vector<64x1xf32> to vector<64x64xf32>
    %d = arith.subf %v, %a : vector<64x64xf32>
    %e = math.exp %d : vector<64x64xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<64x64xf32> to vector<64xf32>
    %t = vector.shape_cast %s : vector<64xf32> to vector<64x1xf32>
    %b = vector.broadcast %t : vector<64x1xf32> to vector<64x64xf32>
    %y = arith.divf %e, %b : vector<64x64xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// The maximum of another row: rows and columns are as long.
func.func private @turned(%x: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<64xf32>
  %zero = arith.constant dense<0.0> : vector<64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<64x64xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<64x64xf32> to vector<64xf32>
    %n = vector.shape_cast %m : vector<64xf32> to vector<1x64xf32>
    %a = vector.broadcast %n : vector<1x64xf32> to vector<64x64xf32>
    %d = arith.subf %v, %a : vector<64x64xf32>
    %e = math.exp %d : vector<64x64xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<64x64xf32> to vector<64xf32>
    %t = vector.shape_cast %s : vector<64xf32> to vector<64x1xf32>
    %b = vector.broadcast %t : vector<64x1xf32> to vector<64x64xf32>
    %y = arith.divf %e, %b : vector<64x64xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// A maximum that is 0 at least: of negative numbers no exponential is 1.
func.func private @bounded(%x: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0.0> : vector<64xf32>
  %zero = arith.constant dense<0.0> : vector<64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<64x64xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<64x64xf32> to vector<64xf32>
    %n = vector.shape_cast %m : vector<64xf32> to vector<64x1xf32>
    %a = vector.broadcast %n : vector<64x1xf32> to vector<64x64xf32>
    %d = arith.subf %v, %a : vector<64x64xf32>
    %e = math.exp %d : vector<64x64xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<64x64xf32> to vector<64xf32>
    %t = vector.shape_cast %s : vector<64xf32> to vector<64x1xf32>
    %b = vector.broadcast %t : vector<64x1xf32> to vector<64x64xf32>
    %y = arith.divf %e, %b : vector<64x64xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// A sum that begins from another number, which may be negative.
func.func private @begun(%x: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<64xf32>
  %zero = arith.constant dense<-1.0> : vector<64xf32>
  scf.forall (%i) = (0) to (64) step (64) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<64x64xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<64x64xf32> to vector<64xf32>
    %n = vector.shape_cast %m : vector<64xf32> to vector<64x1xf32>
    %a = vector.broadcast %n : vector<64x1xf32> to vector<64x64xf32>
    %d = arith.subf %v, %a : vector<64x64xf32>
    %e = math.exp %d : vector<64x64xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<64x64xf32> to vector<64xf32>
    %t = vector.shape_cast %s : vector<64xf32> to vector<64x1xf32>
    %b = vector.broadcast %t : vector<64x1xf32> to vector<64x64xf32>
    %y = arith.divf %e, %b : vector<64x64xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// Exponentials and quotients of f64 are the C library's and the processor's.
func.func private @f64(%x: memref<64x64xf64>, %out: memref<64x64xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  %least = arith.constant dense<0xFFF0000000000000> : vector<64xf64>
  %zero = arith.constant dense<0.0> : vector<64xf64>
  scf.forall (%i) = (0) to (64) step (64) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf64>, vector<64x64xf64>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<64x64xf64> to vector<64xf64>
    %n = vector.shape_cast %m : vector<64xf64> to vector<64x1xf64>
    %a = vector.broadcast %n : vector<64x1xf64> to vector<64x64xf64>
    %d = arith.subf %v, %a : vector<64x64xf64>
    %e = math.exp %d : vector<64x64xf64>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<64x64xf64> to vector<64xf64>
    %t = vector.shape_cast %s : vector<64xf64> to vector<64x1xf64>
    %b = vector.broadcast %t : vector<64x1xf64> to vector<64x64xf64>
    %y = arith.divf %e, %b : vector<64x64xf64>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf64>, memref<64x64xf64>
  }
  return
}
