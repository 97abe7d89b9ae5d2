// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-stream-stores)' | FileCheck %s

// A result of 16 MiB: whole lines go past the caches, and a task ends with a fence. What is left over at the
// end of a row does not.
// CHECK-LABEL: func.func private @chain
// CHECK: scf.forall
// CHECK:   vector.store %{{.*}}, %arg1[%{{.*}}] {alignment = 64 : i64, nontemporal = true}
// CHECK:   vector.maskedstore %arg1
// CHECK:   llvm.call_intrinsic "llvm.x86.sse.sfence"()
func.func private @chain(%x: memref<4194304xf32>, %out: memref<4194304xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c8192 = arith.constant 8192 : index
  %some = vector.constant_mask [3] : vector<16xi1>
  scf.forall (%i) = (0) to (4194304) step (8192) {
    scf.for %j = %c0 to %c8192 step %c64 {
      %at = arith.addi %i, %j : index
      %v = vector.load %x[%at] : memref<4194304xf32>, vector<64xf32>
      vector.store %v, %out[%at] : memref<4194304xf32>, vector<64xf32>
    }
    %w = vector.load %x[%i] : memref<4194304xf32>, vector<16xf32>
    vector.maskedstore %out[%i], %some, %w : memref<4194304xf32>, vector<16xi1>, vector<16xf32>
  }
  return
}

// Rows of whole lines in two dims; half of a line at a time stays.
// CHECK-LABEL: func.func private @rows
// CHECK: vector.store %{{.*}}, %arg1[%{{.*}}, %c0] {alignment = 64 : i64, nontemporal = true}
// CHECK: vector.store %{{.*}}, %arg1[%{{.*}}, %c0] : memref<4096x2048xbf16>, vector<16xbf16>
func.func private @rows(%x: memref<4096x2048xbf16>, %out: memref<4096x2048xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (4096) {
    %v = vector.load %x[%i, %c0] : memref<4096x2048xbf16>, vector<32xbf16>
    vector.store %v, %out[%i, %c0] : memref<4096x2048xbf16>, vector<32xbf16>
    %h = vector.load %x[%i, %c0] : memref<4096x2048xbf16>, vector<16xbf16>
    vector.store %h, %out[%i, %c0] : memref<4096x2048xbf16>, vector<16xbf16>
  }
  return
}

func.func @main(%x: memref<2048x2048xf32>, %y: memref<4096x2048xbf16>, %a: memref<2048x2048xf32> {mlopt.result = 0 : i64},
                %b: memref<4096x2048xbf16> {mlopt.result = 1 : i64}) {
  %flat = memref.collapse_shape %x [[0, 1]] : memref<2048x2048xf32> into memref<4194304xf32>
  %out = memref.collapse_shape %a [[0, 1]] : memref<2048x2048xf32> into memref<4194304xf32>
  func.call @chain(%flat, %out) : (memref<4194304xf32>, memref<4194304xf32>) -> ()
  func.call @rows(%y, %b) : (memref<4096x2048xbf16>, memref<4096x2048xbf16>) -> ()
  return
}
