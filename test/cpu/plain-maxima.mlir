// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-plain-maxima)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-plain-maxima,mlopt-cpu-strip-mine)' | FileCheck %s --check-prefix=STRIPS

// CHECK-LABEL: func.func private @softmax
// CHECK: vector.multi_reduction <maximumf>, {{.*}} {mlopt.drops_nan}
// CHECK: vector.multi_reduction <add>
// CHECK-NOT: mlopt.drops_nan
// STRIPS-LABEL: func.func private @softmax
// STRIPS: %[[LARGER:.*]] = arith.cmpf ogt, %[[X:.*]], %[[MOST:.*]] : vector<16xf32>
// STRIPS-NEXT: arith.select %[[LARGER]], %[[X]], %[[MOST]]
// STRIPS-NOT: arith.maximumf {{.*}} : vector<16xf32>
// STRIPS: math.exp
func.func private @softmax(%x: memref<4x16xf32>, %out: memref<4x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<1xf32>
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) in (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<4x16xf32>, vector<1x16xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<1x16xf32> to vector<1xf32>
    %ms = vector.shape_cast %m : vector<1xf32> to vector<1x1xf32>
    %mb = vector.broadcast %ms : vector<1x1xf32> to vector<1x16xf32>
    %d = arith.subf %v, %mb : vector<1x16xf32>
    %e = math.exp %d : vector<1x16xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<1x16xf32> to vector<1xf32>
    %ss = vector.shape_cast %s : vector<1xf32> to vector<1x1xf32>
    %sb = vector.broadcast %ss : vector<1x1xf32> to vector<1x16xf32>
    %y = arith.divf %e, %sb : vector<1x16xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x16xf32>, memref<4x16xf32>
  }
  return
}

// What is read for one class: its logarithm has the sum in it.
// CHECK-LABEL: func.func private @nll
// CHECK: vector.multi_reduction <maximumf>, {{.*}} {mlopt.drops_nan}
func.func private @nll(%x: memref<4x16xf32>, %out: memref<4xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<1xf32>
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) in (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<4x16xf32>, vector<1x16xf32>
    %one = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : memref<4x16xf32>, vector<1xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<1x16xf32> to vector<1xf32>
    %ms = vector.shape_cast %m : vector<1xf32> to vector<1x1xf32>
    %mb = vector.broadcast %ms : vector<1x1xf32> to vector<1x16xf32>
    %d = arith.subf %v, %mb : vector<1x16xf32>
    %e = math.exp %d : vector<1x16xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<1x16xf32> to vector<1xf32>
    %l = math.log %s : vector<1xf32>
    %p = arith.subf %one, %m : vector<1xf32>
    %y = arith.subf %p, %l : vector<1xf32>
    vector.transfer_write %y, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<4xf32>
  }
  return
}
