// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-narrow-sums)' | FileCheck %s

// A thousand bytes: each is widened to 32 bits, their sum to 64.
// CHECK-LABEL: @signed
// CHECK-NOT: vector<1x1024xi64>
// CHECK: %[[W:.*]] = arith.extsi %{{.*}} : vector<1x1024xi8> to vector<1x1024xi32>
// CHECK: %[[N:.*]] = vector.multi_reduction <add>, %[[W]], %{{.*}} [1] : vector<1x1024xi32> to vector<1xi32>
// CHECK: %[[S:.*]] = arith.extsi %[[N]] : vector<1xi32> to vector<1xi64>
// CHECK: vector.transfer_write %[[S]]
func.func private @signed(%x: memref<128x1024xi8>, %out: memref<128xi64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %zero = arith.constant dense<0> : vector<1xi64>
  scf.forall (%i) in (128) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<128x1024xi8>, vector<1x1024xi8>
    %w = arith.extsi %v : vector<1x1024xi8> to vector<1x1024xi64>
    %s = vector.multi_reduction <add>, %w, %zero [1] : vector<1x1024xi64> to vector<1xi64>
    vector.transfer_write %s, %out[%i] {in_bounds = [true]} : vector<1xi64>, memref<128xi64>
  }
  return
}

// Bools are counted without a sign; what else reads them in 64 bits still does.
// CHECK-LABEL: @unsigned
// CHECK: %[[L:.*]] = arith.extui %{{.*}} : vector<64x32xi1> to vector<64x32xi64>
// CHECK: %[[W:.*]] = arith.extui %{{.*}} : vector<64x32xi1> to vector<64x32xi32>
// CHECK: %[[N:.*]] = vector.multi_reduction <add>, %[[W]], %{{.*}} [0] : vector<64x32xi32> to vector<32xi32>
// CHECK: arith.extui %[[N]] : vector<32xi32> to vector<32xi64>
// CHECK: vector.transfer_write %[[L]]
func.func private @unsigned(%x: memref<64x32xi1>, %out: memref<32xi64>, %all: memref<64x32xi64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant false
  %zero = arith.constant dense<0> : vector<32xi64>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x32xi1>, vector<64x32xi1>
    %w = arith.extui %v : vector<64x32xi1> to vector<64x32xi64>
    %s = vector.multi_reduction <add>, %w, %zero [0] : vector<64x32xi64> to vector<32xi64>
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<32xi64>, memref<32xi64>
    vector.transfer_write %w, %all[%c0, %c0] {in_bounds = [true, true]} : vector<64x32xi64>, memref<64x32xi64>
  }
  return
}
