// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fp8-storage)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fp8-storage{products=true})' | FileCheck %s --check-prefix=KEPT

#id = affine_map<(d0) -> (d0)>

// The upper half of an f16.
// CHECK-LABEL: func.func @widen
// CHECK-SAME: (%{{.*}}: tensor<6xi8> {mlopt.float8 = "f8e5m2"}) -> tensor<6xf32>
// CHECK: linalg.generic {{.*}} attrs = {mlopt.op = "cast"}
// CHECK-NEXT: ^bb0(%[[IN:.*]]: i8, %{{.*}}: f32):
// CHECK-NEXT:   %[[WIDE:.*]] = arith.extui %[[IN]] : i8 to i16
// CHECK-NEXT:   %[[EIGHT:.*]] = arith.constant 8 : i16
// CHECK-NEXT:   %[[BITS:.*]] = arith.shli %[[WIDE]], %[[EIGHT]] : i16
// CHECK-NEXT:   %[[HALF:.*]] = arith.bitcast %[[BITS]] : i16 to f16
// CHECK-NEXT:   %[[OUT:.*]] = arith.extf %[[HALF]] : f16 to f32
// CHECK-NEXT:   linalg.yield %[[OUT]] : f32
func.func @widen(%x: tensor<6xf8E5M2>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<6xf8E5M2>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f8E5M2, %o: f32):
    %b = arith.extf %a : f8E5M2 to f32
    linalg.yield %b : f32
  } -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// To nearest even, 448 (0x43E00000) and what is larger to 0x7E, NaN to 0x7F; f64 by way of f32.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: -> (tensor<6xi8> {mlopt.float8 = "f8e4m3fn"})
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<6xi8>
// CHECK: ^bb0(%[[IN:.*]]: f64, %{{.*}}: i8):
// CHECK:   %[[F32:.*]] = arith.truncf %[[IN]] : f64 to f32
// CHECK:   %[[BITS:.*]] = arith.bitcast %[[F32]] : f32 to i32
// CHECK:   arith.constant 4.480000e+02 : f32
// CHECK:   arith.minui
// CHECK:   arith.cmpi ugt
// CHECK:   %[[OUT:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK:   linalg.yield %[[OUT]] : i8
func.func @narrow(%x: tensor<6xf64>) -> tensor<6xf8E4M3FN> {
  %e = tensor.empty() : tensor<6xf8E4M3FN>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<6xf64>) outs(%e : tensor<6xf8E4M3FN>) {
  ^bb0(%a: f64, %o: f8E4M3FN):
    %b = arith.truncf %a : f64 to f8E4M3FN
    linalg.yield %b : f8E4M3FN
  } -> tensor<6xf8E4M3FN>
  return %y : tensor<6xf8E4M3FN>
}

// What moves, moves bytes; constants are their bits: -1.75 = 0xBE, 448 = 0x7E, -0 = 0x80, NaN, infinity, and the
// smallest: 2^-16 = 0x01.
// CHECK-LABEL: func.func @moves
// CHECK-DAG: arith.constant -66 : i8
// CHECK-DAG: arith.constant dense<126> : tensor<3xi8>
// CHECK-DAG: arith.constant -128 : i8
// CHECK-DAG: arith.constant 127 : i8
// CHECK-DAG: arith.constant 124 : i8
// CHECK-DAG: arith.constant 1 : i8
// CHECK: linalg.fill ins(%{{.*}} : i8) outs(%{{.*}} : tensor<3xi8>)
// CHECK: linalg.transpose ins(%{{.*}} : tensor<2x3xi8>) outs(%{{.*}} : tensor<3x2xi8>)
func.func @moves(%x: tensor<2x3xf8E4M3FN>) -> (tensor<3xf8E4M3FN>, tensor<3x2xf8E4M3FN>, tensor<3xf8E4M3FN>, tensor<4xf8E5M2>) {
  %c = arith.constant -1.75 : f8E4M3FN
  %d = arith.constant dense<448.0> : tensor<3xf8E4M3FN>
  %z = arith.constant -0.0 : f8E5M2
  %n = arith.constant 0x7E : f8E5M2
  %i = arith.constant 0x7C : f8E5M2
  %s = arith.constant 0x01 : f8E5M2
  %r = tensor.from_elements %z, %n, %i, %s : tensor<4xf8E5M2>
  %e = tensor.empty() : tensor<3xf8E4M3FN>
  %f = linalg.fill ins(%c : f8E4M3FN) outs(%e : tensor<3xf8E4M3FN>) -> tensor<3xf8E4M3FN>
  %o = tensor.empty() : tensor<3x2xf8E4M3FN>
  %t = linalg.transpose ins(%x : tensor<2x3xf8E4M3FN>) outs(%o : tensor<3x2xf8E4M3FN>) permutation = [1, 0]
  return %f, %t, %d, %r : tensor<3xf8E4M3FN>, tensor<3x2xf8E4M3FN>, tensor<3xf8E4M3FN>, tensor<4xf8E5M2>
}

// One is read twice, and asked about as an f32.
// CHECK-LABEL: func.func @asks
// CHECK: ^bb0(%[[IN:.*]]: i8, %{{.*}}: i1):
// CHECK:   math.isnan %{{.*}} : f32
// CHECK:   arith.fptosi %{{.*}} : f32 to i32
func.func @asks(%x: tensor<6xf8E4M3FN>) -> tensor<6xi1> {
  %e = tensor.empty() : tensor<6xi1>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<6xf8E4M3FN>) outs(%e : tensor<6xi1>) {
  ^bb0(%a: f8E4M3FN, %o: i1):
    %c0 = arith.constant 0 : i32
    %b = math.isnan %a : f8E4M3FN
    %i = arith.fptosi %a : f8E4M3FN to i32
    %c = arith.cmpi eq, %i, %c0 : i32
    %d = arith.ori %b, %c : i1
    linalg.yield %d : i1
  } -> tensor<6xi1>
  return %y : tensor<6xi1>
}

// The absolute value is a mask of the bits.
// CHECK-LABEL: func.func @absolute
// CHECK: ^bb0(%[[A:.*]]: i8, %{{.*}}: i8):
// CHECK: %[[REST:.*]] = arith.constant 127 : i8
// CHECK: %[[B:.*]] = arith.andi %[[A]], %[[REST]] : i8
// CHECK: linalg.yield %[[B]] : i8
func.func @absolute(%x: tensor<6xf8E4M3FN>) -> tensor<6xf8E4M3FN> {
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<6xf8E4M3FN>) outs(%x : tensor<6xf8E4M3FN>) {
  ^bb0(%a: f8E4M3FN, %o: f8E4M3FN):
    %b = math.absf %a : f8E4M3FN
    linalg.yield %b : f8E4M3FN
  } -> tensor<6xf8E4M3FN>
  return %y : tensor<6xf8E4M3FN>
}

// Other bytes stay.
// CHECK-LABEL: func.func @bytes(%{{.*}}: tensor<6xi8>) -> tensor<6xi8> {
func.func @bytes(%x: tensor<6xi8>) -> tensor<6xi8> {
  return %x : tensor<6xi8>
}

// Products are of f16, which has all numbers; or, of one format, of bits that say what they are.
// CHECK-LABEL: func.func @product
// CHECK-COUNT-2: linalg.generic {{.*}}ins(%{{.*}} : tensor<{{[48]}}x8xi8>) outs(%{{.*}} : tensor<{{[48]}}x8xf16>) attrs = {mlopt.op = "cast"}
// CHECK: linalg.matmul ins(%{{.*}} : tensor<4x8xf16>, tensor<8x8xf16>) outs(%{{.*}} : tensor<4x8xf32>)
// KEPT-LABEL: func.func @product
// KEPT: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}} : tensor<4x8xi8>, tensor<8x8xi8>)
// KEPT-NEXT: ^bb0(%[[A:.*]]: i8, %[[B:.*]]: i8, %[[S:.*]]: f32):
// KEPT-NEXT: %[[V:.*]] = arith.bitcast %[[A]] : i8 to f8E4M3FN
// KEPT-NEXT: arith.extf %[[V]] : f8E4M3FN to f32
// KEPT-NEXT: %[[W:.*]] = arith.bitcast %[[B]] : i8 to f8E4M3FN
// KEPT-NEXT: arith.extf %[[W]] : f8E4M3FN to f32
// KEPT: arith.addf %[[S]]
func.func @product(%x: tensor<4x8xf8E4M3FN>, %y: tensor<8x8xf8E4M3FN>, %s: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = linalg.matmul ins(%x, %y : tensor<4x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>) outs(%s : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// KEPT-LABEL: func.func @two_formats
// KEPT: linalg.matmul ins(%{{.*}} : tensor<4x8xf16>, tensor<8x8xf16>)
func.func @two_formats(%x: tensor<4x8xf8E4M3FN>, %y: tensor<8x8xf8E5M2>, %s: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = linalg.matmul ins(%x, %y : tensor<4x8xf8E4M3FN>, tensor<8x8xf8E5M2>) outs(%s : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}
