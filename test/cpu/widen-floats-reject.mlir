// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-widen-floats)' | FileCheck %s

// Wide floats and integers compute as they are.
// CHECK-LABEL: func.func @wide
// CHECK-NEXT: arith.addf %arg0, %arg0 : f32
// CHECK-NEXT: arith.addf %arg1, %arg1 : f64
// CHECK-NEXT: arith.addi %arg2, %arg2 : i16
// CHECK-NEXT: return
func.func @wide(%x: f32, %y: f64, %i: i16) -> (f32, f64, i16) {
  %a = arith.addf %x, %x : f32
  %b = arith.addf %y, %y : f64
  %c = arith.addi %i, %i : i16
  return %a, %b, %c : f32, f64, i16
}

// What only moves half floats leaves them half.
// CHECK-LABEL: func.func @moved
// CHECK-NOT: arith.extf
// CHECK: return
func.func @moved(%a: memref<16xbf16>, %b: memref<16xbf16>, %x: bf16) -> vector<16xbf16> {
  %c0 = arith.constant 0 : index
  %v = vector.load %a[%c0] : memref<16xbf16>, vector<16xbf16>
  vector.store %v, %b[%c0] : memref<16xbf16>, vector<16xbf16>
  %s = vector.broadcast %x : bf16 to vector<16xbf16>
  return %s : vector<16xbf16>
}

// Bits are those of the rounded number; constants whose lanes differ are converted, not made anew.
// CHECK-LABEL: func.func @bits
// CHECK: %[[C:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00]> : vector<2xf16>
// CHECK: arith.extf %[[C]] : vector<2xf16> to vector<2xf32>
// CHECK: %[[S:.*]] = arith.addf %{{.*}} : vector<2xf32>
// CHECK: %[[R:.*]] = arith.truncf %[[S]] : vector<2xf32> to vector<2xf16>
// CHECK: arith.bitcast %[[R]] : vector<2xf16> to vector<2xi16>
func.func @bits(%x: vector<2xf16>) -> vector<2xi16> {
  %c = arith.constant dense<[1.0, 2.0]> : vector<2xf16>
  %s = arith.addf %x, %c : vector<2xf16>
  %b = arith.bitcast %s : vector<2xf16> to vector<2xi16>
  return %b : vector<2xi16>
}

// Tensors are loops by now: their ops stay.
// CHECK-LABEL: func.func @tensors
// CHECK: arith.addf %arg0, %arg0 : tensor<4xbf16>
func.func @tensors(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %s = arith.addf %x, %x : tensor<4xbf16>
  return %s : tensor<4xbf16>
}

// Control flow that is not structured hands on half floats.
// CHECK-LABEL: func.func @branch
// CHECK: %[[S:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: cf.br ^bb1(%[[S]] : f16)
// CHECK: ^bb1(%{{.*}}: f16)
func.func @branch(%x: f16) -> f16 {
  %s = arith.addf %x, %x : f16
  cf.br ^next(%s : f16)
^next(%y: f16):
  return %y : f16
}
