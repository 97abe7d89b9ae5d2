// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-padded-reads)' | FileCheck %s

// A read from 0 on, at a place that is not known, or beyond the end stays as it is.
// CHECK-LABEL: func.func @main(
// CHECK: vector.transfer_read {{.*}} {in_bounds = [true]}
// CHECK: vector.transfer_read {{.*}} {in_bounds = [true]}
// CHECK: vector.transfer_read {{.*}} : memref<13xf32>, vector<16xf32>
func.func @main(%x: memref<13xf32>, %i: index) -> (vector<13xf32>, vector<4xf32>, vector<16xf32>) {
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant 0 : index
  %below = arith.constant -3 : index
  %a = vector.transfer_read %x[%zero], %pad {in_bounds = [true]} : memref<13xf32>, vector<13xf32>
  %b = vector.transfer_read %x[%i], %pad {in_bounds = [true]} : memref<13xf32>, vector<4xf32>
  %c = vector.transfer_read %x[%below], %pad {in_bounds = [false]} : memref<13xf32>, vector<16xf32>
  return %a, %b, %c : vector<13xf32>, vector<4xf32>, vector<16xf32>
}
