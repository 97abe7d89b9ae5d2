// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-narrow-sums)' | FileCheck %s

// 65536 numbers of -32768 are -2^31, and of 65535 more than 32 bits have.
// CHECK-LABEL: @too_many
// CHECK: vector.multi_reduction <add>, %{{.*}} : vector<1x65536xi64> to vector<1xi64>
// CHECK: vector.multi_reduction <add>, %{{.*}} : vector<1x65536xi64> to vector<1xi64>
func.func private @too_many(%x: memref<8x65536xi16>, %a: memref<8xi64>, %b: memref<8xi64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i16
  %zero = arith.constant dense<0> : vector<1xi64>
  scf.forall (%i) in (8) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<8x65536xi16>, vector<1x65536xi16>
    %w = arith.extsi %v : vector<1x65536xi16> to vector<1x65536xi64>
    %s = vector.multi_reduction <add>, %w, %zero [1] : vector<1x65536xi64> to vector<1xi64>
    %u = arith.extui %v : vector<1x65536xi16> to vector<1x65536xi64>
    %t = vector.multi_reduction <add>, %u, %zero [1] : vector<1x65536xi64> to vector<1xi64>
    vector.transfer_write %s, %a[%i] {in_bounds = [true]} : vector<1xi64>, memref<8xi64>
    vector.transfer_write %t, %b[%i] {in_bounds = [true]} : vector<1xi64>, memref<8xi64>
  }
  return
}

// A sum that begins from more than nothing, the largest of some numbers, and numbers that are 32 bits long.
// CHECK-LABEL: @others
// CHECK: vector.multi_reduction <add>, %{{.*}} : vector<1x64xi64> to vector<1xi64>
// CHECK: vector.multi_reduction <maxsi>, %{{.*}} : vector<1x64xi64> to vector<1xi64>
// CHECK: vector.multi_reduction <add>, %{{.*}} : vector<1x64xi64> to vector<1xi64>
func.func private @others(%x: memref<8x64xi8>, %y: memref<8x64xi32>, %a: memref<8xi64>, %b: memref<8xi64>, %c: memref<8xi64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %pad32 = arith.constant 0 : i32
  %zero = arith.constant dense<0> : vector<1xi64>
  %one = arith.constant dense<1> : vector<1xi64>
  scf.forall (%i) in (8) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<8x64xi8>, vector<1x64xi8>
    %w = arith.extsi %v : vector<1x64xi8> to vector<1x64xi64>
    %s = vector.multi_reduction <add>, %w, %one [1] : vector<1x64xi64> to vector<1xi64>
    %m = vector.multi_reduction <maxsi>, %w, %zero [1] : vector<1x64xi64> to vector<1xi64>
    %l = vector.transfer_read %y[%i, %c0], %pad32 {in_bounds = [true, true]} : memref<8x64xi32>, vector<1x64xi32>
    %u = arith.extsi %l : vector<1x64xi32> to vector<1x64xi64>
    %t = vector.multi_reduction <add>, %u, %zero [1] : vector<1x64xi64> to vector<1xi64>
    vector.transfer_write %s, %a[%i] {in_bounds = [true]} : vector<1xi64>, memref<8xi64>
    vector.transfer_write %m, %b[%i] {in_bounds = [true]} : vector<1xi64>, memref<8xi64>
    vector.transfer_write %t, %c[%i] {in_bounds = [true]} : vector<1xi64>, memref<8xi64>
  }
  return
}
