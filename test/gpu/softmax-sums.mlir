// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-softmax-sums)' | FileCheck %s

// The sum begins from -0, and what is divided by it says so.
// CHECK-LABEL: @softmax
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[NONE:.*]] = arith.constant dense<-0.000000e+00> : vector<64xf32>
// CHECK: vector.multi_reduction <add>, %[[E]], %[[NONE]] [1]
// CHECK: arith.divf %[[E]], %{{.*}} {mlopt.by_softmax_sum}
func.func private @softmax(%x: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<64xf32>
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
  } {mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 64, 0>, warps = array<i64: 8>}}
  return
}

// Whatever is divided.
// CHECK-LABEL: @others
// CHECK: arith.divf %{{.*}}, %{{.*}} {mlopt.by_softmax_sum}
func.func private @others(%x: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<64xf32>
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
    %y = arith.divf %v, %b : vector<64x64xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 4>, tile = array<i64: 64, 0>, warps = array<i64: 8>}}
  return
}
