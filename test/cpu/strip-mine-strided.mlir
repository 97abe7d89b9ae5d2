// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

// A transpose: 16 rows are loaded, turned by four rounds of shuffles, and stored.
// CHECK-LABEL: @transpose
// CHECK-COUNT-16: vector.load %{{.*}} : memref<64x32xf32>, vector<16xf32>
// CHECK-COUNT-64: vector.shuffle %{{.*}} : vector<16xf32>, vector<16xf32>
// CHECK-COUNT-16: vector.store %{{.*}} : memref<32x64xf32>, vector<16xf32>
// CHECK-NOT: vector.gather
func.func private @transpose(%x: memref<64x32xf32>, %out: memref<32x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x32xf32>, vector<64x32xf32>
  %t = vector.transpose %v, [1, 0] : vector<64x32xf32> to vector<32x64xf32>
  vector.transfer_write %t, %out[%c0, %c0] {in_bounds = [true, true]} : vector<32x64xf32>, memref<32x64xf32>
  return
}

// Every other element: two loads and a shuffle.
// CHECK-LABEL: @stride_two
// CHECK: %[[LOW:.*]] = vector.load
// CHECK: %[[HIGH:.*]] = vector.maskedload
// CHECK: vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4,
func.func private @stride_two(%x: memref<8x64x2xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0, %c1], %pad {in_bounds = [true, true, true]} : memref<8x64x2xf32>, vector<8x64x1xf32>
  %s = vector.shape_cast %v : vector<8x64x1xf32> to vector<8x64xf32>
  vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x64xf32>, memref<8x64xf32>
  return
}

// Every other element of what a tile reads: two vectors, of which the last element may lie outside, and a shuffle.
// CHECK-LABEL: @every_other
// CHECK: %[[LOW:.*]] = vector.load %{{.*}} : memref<8x131xf32>, vector<64xf32>
// CHECK: %[[HIGH:.*]] = vector.maskedload %{{.*}} : memref<8x131xf32>
// CHECK: vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4,
// CHECK: vector.store
func.func private @every_other(%x: memref<8x131xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c2], %pad {in_bounds = [true, false]} : memref<8x131xf32>, vector<8x128xf32>
  %s, %t = vector.deinterleave %v : vector<8x128xf32> -> vector<8x64xf32>
  vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x64xf32>, memref<8x64xf32>
  return
}

// Through padding in front of a row: what lies in memory as a whole is loaded without a mask.
// CHECK-LABEL: @padded_row
// CHECK: %[[BEGINS:.*]] = arith.cmpi sge, %[[FIRST:.*]], %c0
// CHECK: %[[ENDS:.*]] = arith.cmpi sle, %{{.*}}, %c131
// CHECK: %[[INSIDE:.*]] = arith.andi %[[BEGINS]], %[[ENDS]]
// CHECK: scf.if %[[INSIDE]] -> (vector<64xf32>) {
// CHECK-NEXT: vector.load
// CHECK: } else {
// CHECK-NEXT: vector.maskedload
// CHECK: vector.store
func.func private @padded_row(%x: memref<8x131xf32>, %out: memref<8x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %before = arith.constant -1 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %before], %pad {in_bounds = [true, false]} : memref<8x131xf32>, vector<8x128xf32>
  vector.transfer_write %v, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x128xf32>, memref<8x128xf32>
  return
}

// Lanes along another dim: the elements that are kept are read where they are, no others.
// CHECK-LABEL: @every_other_row
// CHECK: %[[TWICE:.*]] = arith.muli
// CHECK: vector.gather
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func private @every_other_row(%x: memref<64x8xf32>, %out: memref<4x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, false]} : memref<64x8xf32>, vector<64x8xf32>
  %s, %t = vector.deinterleave %v : vector<64x8xf32> -> vector<64x4xf32>
  %u = vector.transpose %t, [1, 0] : vector<64x4xf32> to vector<4x64xf32>
  vector.transfer_write %u, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4x64xf32>, memref<4x64xf32>
  return
}

// Lanes far apart are gathered, one register at a time.
// CHECK-LABEL: @far_apart
// CHECK: vector.gather %{{.*}}[%{{.*}}] [%{{.*}}], %{{.*}}, %{{.*}} : memref<64x100xf32>, vector<16xi32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
func.func private @far_apart(%x: memref<64x100xf32>, %out: memref<64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c3], %pad {in_bounds = [true, true]} : memref<64x100xf32>, vector<64x1xf32>
  %s = vector.shape_cast %v : vector<64x1xf32> to vector<64xf32>
  vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<64xf32>, memref<64xf32>
  return
}

// So far apart as is not known: each step has 64 bits, of which a register holds eight.
// CHECK-LABEL: @unknown_apart
// CHECK: %[[LOW:.*]] = vector.gather %[[X:.*]][%[[I:.*]], %{{.*}}] [%[[STEPS:.*]]], {{.*}} : memref<64x?xi8>, vector<8xindex>, vector<8xi1>, vector<8xi8> into vector<8xi8>
// CHECK: vector.insert_strided_slice %[[LOW]], %{{.*}} {offsets = [0], strides = [1]} : vector<8xi8> into vector<64xi8>
// CHECK: vector.gather %[[X]]{{.*}} vector<8xi8>
// CHECK: vector.insert_strided_slice %{{.*}} {offsets = [8], strides = [1]} : vector<8xi8> into vector<64xi8>
// CHECK-COUNT-8: vector.scatter %{{.*}} : memref<64x?xi8>, vector<8xindex>, vector<8xi1>, vector<8xi8>
func.func private @unknown_apart(%x: memref<64x?xi8>, %out: memref<64x?xi8>, %at: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %v = vector.transfer_read %x[%c0, %at], %pad {in_bounds = [true, true]} : memref<64x?xi8>, vector<64x1xi8>
  vector.transfer_write %v, %out[%c0, %at] {in_bounds = [true, true]} : vector<64x1xi8>, memref<64x?xi8>
  return
}

// Bytes a known stride apart: a step has 32 bits, of which four of the narrowest registers hold sixteen.
// CHECK-LABEL: @bytes_apart
// CHECK: vector.scatter %{{.*}} : memref<320x5xi8>, vector<16xi32>, vector<16xi1>, vector<16xi8>
// CHECK-NOT: vector<{{32|64|128|256}}xi32>
func.func private @bytes_apart(%x: memref<320xi8>, %out: memref<320x5xi8>, %at: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<320xi8>, vector<320xi8>
  %s = vector.shape_cast %v : vector<320xi8> to vector<320x1xi8>
  vector.transfer_write %s, %out[%c0, %at] {in_bounds = [true, true]} : vector<320x1xi8>, memref<320x5xi8>
  return
}

// A product that is stored turned: each row of the result if it is there.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: @turned_rest
// CHECK: vector.shuffle %{{.*}} : vector<64xbf16>, vector<64xbf16>
// CHECK: scf.if
// CHECK-NEXT: vector.store %{{.*}} : memref<70x8xbf16>, vector<4xbf16>
// CHECK-NOT: vector.maskedstore
func.func private @turned_rest(%x: memref<8x4xbf16>, %y: memref<4x70xbf16>, %out: memref<70x8xbf16>)
    attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<8x64xf32>
  scf.forall (%i) = (0) to (70) step (64) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x4xbf16>, vector<8x4xbf16>
    %w = vector.transfer_read %y[%c0, %i], %pad {in_bounds = [true, false]} : memref<4x70xbf16>, vector<4x64xbf16>
    %m = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"],
                          kind = #vector.kind<add>} %v, %w, %zero
        : vector<8x4xbf16>, vector<4x64xbf16> into vector<8x64xf32>
    %h = arith.truncf %m : vector<8x64xf32> to vector<8x64xbf16>
    %t = vector.transpose %h, [1, 0] : vector<8x64xbf16> to vector<64x8xbf16>
    vector.transfer_write %t, %out[%i, %c0] {in_bounds = [false, true]} : vector<64x8xbf16>, memref<70x8xbf16>
  }
  return
}
