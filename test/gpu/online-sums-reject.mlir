// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-online-sums)' | FileCheck %s

// The exponentials are of other values than the maximum.
// CHECK-LABEL: @other_values
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
func.func private @other_values(%x: memref<10x1024xf32>, %y: memref<10x1024xf32>, %out: memref<10xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x128xf32>
  %zero = arith.constant dense<-0.0> : vector<1x128xf32>
  %lowest = arith.constant dense<0xFF800000> : vector<1xf32>
  %nothing = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %most = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %low) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %m = arith.maximumf %a, %v : vector<1x128xf32>
      scf.yield %m : vector<1x128xf32>
    }
    %max = vector.multi_reduction <maximumf>, %most, %lowest [1] : vector<1x128xf32> to vector<1xf32>
    %sums = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %zero) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %y[%i, %k], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %b = vector.broadcast %max : vector<1xf32> to vector<1x128xf32>
      %d = arith.subf %v, %b : vector<1x128xf32>
      %e = math.exp %d : vector<1x128xf32>
      %s = arith.addf %a, %e : vector<1x128xf32>
      scf.yield %s : vector<1x128xf32>
    }
    %sum = vector.multi_reduction <add>, %sums, %nothing [1] : vector<1x128xf32> to vector<1xf32>
    vector.transfer_write %sum, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<10xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 128>, warps = array<i64: 4>}}
  return
}

// The same row, read elsewhere.
// CHECK-LABEL: @other_place
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
func.func private @other_place(%x: memref<10x1024xf32>, %y: memref<10x1024xf32>, %out: memref<10xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x128xf32>
  %zero = arith.constant dense<-0.0> : vector<1x128xf32>
  %lowest = arith.constant dense<0xFF800000> : vector<1xf32>
  %nothing = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %most = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %low) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %m = arith.maximumf %a, %v : vector<1x128xf32>
      scf.yield %m : vector<1x128xf32>
    }
    %max = vector.multi_reduction <maximumf>, %most, %lowest [1] : vector<1x128xf32> to vector<1xf32>
    %sums = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %zero) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %b = vector.broadcast %max : vector<1xf32> to vector<1x128xf32>
      %d = arith.subf %v, %b : vector<1x128xf32>
      %e = math.exp %d : vector<1x128xf32>
      %s = arith.addf %a, %e : vector<1x128xf32>
      scf.yield %s : vector<1x128xf32>
    }
    %sum = vector.multi_reduction <add>, %sums, %nothing [1] : vector<1x128xf32> to vector<1xf32>
    vector.transfer_write %sum, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<10xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 128>, warps = array<i64: 4>}}
  return
}

// What is read was written in between.
// CHECK-LABEL: @written
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
func.func private @written(%x: memref<10x1024xf32>, %y: memref<10x1024xf32>, %out: memref<10xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x128xf32>
  %zero = arith.constant dense<-0.0> : vector<1x128xf32>
  %lowest = arith.constant dense<0xFF800000> : vector<1xf32>
  %nothing = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %most = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %low) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %m = arith.maximumf %a, %v : vector<1x128xf32>
      scf.yield %m : vector<1x128xf32>
    }
    %max = vector.multi_reduction <maximumf>, %most, %lowest [1] : vector<1x128xf32> to vector<1xf32>
    vector.transfer_write %max, %x[%i, %c0] {in_bounds = [true]} : vector<1xf32>, memref<10x1024xf32>
    %sums = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %zero) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %b = vector.broadcast %max : vector<1xf32> to vector<1x128xf32>
      %d = arith.subf %v, %b : vector<1x128xf32>
      %e = math.exp %d : vector<1x128xf32>
      %s = arith.addf %a, %e : vector<1x128xf32>
      scf.yield %s : vector<1x128xf32>
    }
    %sum = vector.multi_reduction <add>, %sums, %nothing [1] : vector<1x128xf32> to vector<1xf32>
    vector.transfer_write %sum, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<10xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 128>, warps = array<i64: 4>}}
  return
}

// What they are relative to differs along the row.
// CHECK-LABEL: @along
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
func.func private @along(%x: memref<10x1024xf32>, %y: memref<10x1024xf32>, %out: memref<10xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x128xf32>
  %zero = arith.constant dense<-0.0> : vector<1x128xf32>
  %lowest = arith.constant dense<0xFF800000> : vector<1xf32>
  %nothing = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %most = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %low) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %m = arith.maximumf %a, %v : vector<1x128xf32>
      scf.yield %m : vector<1x128xf32>
    }
    %max = vector.multi_reduction <maximumf>, %most, %lowest [1] : vector<1x128xf32> to vector<1xf32>
    %y0 = vector.transfer_read %y[%i, %c0], %pad {in_bounds = [true]} : memref<10x1024xf32>, vector<128xf32>
    %sums = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %zero) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %b = vector.broadcast %y0 : vector<128xf32> to vector<1x128xf32>
      %d = arith.subf %v, %b : vector<1x128xf32>
      %e = math.exp %d : vector<1x128xf32>
      %s = arith.addf %a, %e : vector<1x128xf32>
      scf.yield %s : vector<1x128xf32>
    }
    %sum = vector.multi_reduction <add>, %sums, %nothing [1] : vector<1x128xf32> to vector<1xf32>
    vector.transfer_write %sum, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<10xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 128>, warps = array<i64: 4>}}
  return
}

// And here from step to step.
// CHECK-LABEL: @of_a_step
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
// CHECK: scf.for {{.*}} -> (vector<1x128xf32>)
func.func private @of_a_step(%x: memref<10x1024xf32>, %y: memref<10x1024xf32>, %out: memref<10xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<1x128xf32>
  %zero = arith.constant dense<-0.0> : vector<1x128xf32>
  %lowest = arith.constant dense<0xFF800000> : vector<1xf32>
  %nothing = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %most = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %low) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %m = arith.maximumf %a, %v : vector<1x128xf32>
      scf.yield %m : vector<1x128xf32>
    }
    %max = vector.multi_reduction <maximumf>, %most, %lowest [1] : vector<1x128xf32> to vector<1xf32>
    %sums = scf.for %k = %c0 to %c1024 step %c128 iter_args(%a = %zero) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, true]} : memref<10x1024xf32>, vector<1x128xf32>
      %n = vector.transfer_read %y[%i, %k], %pad {in_bounds = [true]} : memref<10x1024xf32>, vector<1xf32>
      %b = vector.broadcast %n : vector<1xf32> to vector<1x128xf32>
      %d = arith.subf %v, %b : vector<1x128xf32>
      %e = math.exp %d : vector<1x128xf32>
      %s = arith.addf %a, %e : vector<1x128xf32>
      scf.yield %s : vector<1x128xf32>
    }
    %sum = vector.multi_reduction <add>, %sums, %nothing [1] : vector<1x128xf32> to vector<1xf32>
    vector.transfer_write %sum, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<10xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 128>, warps = array<i64: 4>}}
  return
}
