// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-plain-maxima)' | FileCheck %s
// CHECK-NOT: mlopt.drops_nan

// The sum of row i divides column i: other rows than that of the NaN.
// CHECK-LABEL: func.func private @other_rows
func.func private @other_rows(%x: memref<16x16xf32>, %out: memref<16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<16x16xf32> to vector<16xf32>
    %ms = vector.shape_cast %m : vector<16xf32> to vector<16x1xf32>
    %mb = vector.broadcast %ms : vector<16x1xf32> to vector<16x16xf32>
    %d = arith.subf %v, %mb : vector<16x16xf32>
    %e = math.exp %d : vector<16x16xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<16x16xf32> to vector<16xf32>
    %ss = vector.shape_cast %s : vector<16xf32> to vector<1x16xf32>
    %sb = vector.broadcast %ss : vector<1x16xf32> to vector<16x16xf32>
    %y = arith.divf %e, %sb : vector<16x16xf32>
    vector.transfer_write %y, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
  }
  return
}

// The sums of columns say nothing about rows.
// CHECK-LABEL: func.func private @columns
func.func private @columns(%x: memref<16x16xf32>, %out: memref<16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<16x16xf32> to vector<16xf32>
    %ms = vector.shape_cast %m : vector<16xf32> to vector<16x1xf32>
    %mb = vector.broadcast %ms : vector<16x1xf32> to vector<16x16xf32>
    %d = arith.subf %v, %mb : vector<16x16xf32>
    %e = math.exp %d : vector<16x16xf32>
    %s = vector.multi_reduction <add>, %e, %zero [0] : vector<16x16xf32> to vector<16xf32>
    %ss = vector.shape_cast %s : vector<16xf32> to vector<1x16xf32>
    %sb = vector.broadcast %ss : vector<1x16xf32> to vector<16x16xf32>
    %y = arith.divf %e, %sb : vector<16x16xf32>
    vector.transfer_write %y, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
  }
  return
}

// What is stored is not divided by the sum.
// CHECK-LABEL: func.func private @stored
func.func private @stored(%x: memref<16x16xf32>, %out: memref<16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<16x16xf32> to vector<16xf32>
    %ms = vector.shape_cast %m : vector<16xf32> to vector<16x1xf32>
    %mb = vector.broadcast %ms : vector<16x1xf32> to vector<16x16xf32>
    %d = arith.subf %v, %mb : vector<16x16xf32>
    %e = math.exp %d : vector<16x16xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<16x16xf32> to vector<16xf32>
    %ss = vector.shape_cast %s : vector<16xf32> to vector<16x1xf32>
    %sb = vector.broadcast %ss : vector<16x1xf32> to vector<16x16xf32>
    %y = arith.divf %e, %sb : vector<16x16xf32>
    vector.transfer_write %e, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
  }
  return
}

// The maximum starts from NaN.
// CHECK-LABEL: func.func private @starts_from_nan
func.func private @starts_from_nan(%x: memref<16x16xf32>, %out: memref<16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0x7FC00000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<16x16xf32> to vector<16xf32>
    %ms = vector.shape_cast %m : vector<16xf32> to vector<16x1xf32>
    %mb = vector.broadcast %ms : vector<16x1xf32> to vector<16x16xf32>
    %d = arith.subf %v, %mb : vector<16x16xf32>
    %e = math.exp %d : vector<16x16xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<16x16xf32> to vector<16xf32>
    %ss = vector.shape_cast %s : vector<16xf32> to vector<16x1xf32>
    %sb = vector.broadcast %ss : vector<16x1xf32> to vector<16x16xf32>
    %y = arith.divf %e, %sb : vector<16x16xf32>
    vector.transfer_write %y, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
  }
  return
}

// The maximum is stored itself.
// CHECK-LABEL: func.func private @stored_itself
func.func private @stored_itself(%x: memref<16x16xf32>, %out: memref<16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<16x16xf32> to vector<16xf32>
    %ms = vector.shape_cast %m : vector<16xf32> to vector<16x1xf32>
    %mb = vector.broadcast %ms : vector<16x1xf32> to vector<16x16xf32>
    %d = arith.subf %v, %mb : vector<16x16xf32>
    %e = math.exp %d : vector<16x16xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<16x16xf32> to vector<16xf32>
    %ss = vector.shape_cast %s : vector<16xf32> to vector<16x1xf32>
    %sb = vector.broadcast %ss : vector<16x1xf32> to vector<16x16xf32>
    %y = arith.divf %e, %sb : vector<16x16xf32>
    vector.transfer_write %y, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
    vector.transfer_write %m, %out[%c0, %c0] {in_bounds = [true]} : vector<16xf32>, memref<16x16xf32>
  }
  return
}

// A minimum, and a maximum that nothing sums.
// CHECK-LABEL: func.func private @plain
func.func private @plain(%x: memref<16x16xf32>, %out: memref<16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<16x16xf32> to vector<16xf32>
    %n = vector.multi_reduction <minimumf>, %v, %least [1] : vector<16x16xf32> to vector<16xf32>
    %y = arith.subf %m, %n : vector<16xf32>
    vector.transfer_write %y, %out[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
  }
  return
}
