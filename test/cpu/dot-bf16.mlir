// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-dot-bf16,canonicalize,cse)' | FileCheck %s

// Three multiply-adds of two rows: the first two of each row are one dot product a register; the rows share the
// pairs of columns. The third stays.
// CHECK-LABEL: func.func @two_rows
// CHECK-SAME: %[[ACC0:[^:]*]]: vector<32xf32>, %[[ACC1:[^:]*]]: vector<32xf32>
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : i32
// CHECK: %[[LOW:.*]] = arith.extui %{{.*}} : i16 to i32
// CHECK: %[[HIGH:.*]] = arith.extui %{{.*}} : i16 to i32
// CHECK: %[[SHIFTED:.*]] = arith.shli %[[HIGH]], %[[C16]]
// CHECK: %[[PAIR:.*]] = arith.ori %[[LOW]], %[[SHIFTED]]
// CHECK: %[[A:.*]] = vector.broadcast %[[PAIR]] : i32 to vector<16xi32>
// CHECK: vector.interleave %{{.*}}, %{{.*}} : vector<32xi16> -> vector<64xi16>
// CHECK: %[[B:.*]] = vector.bitcast %{{.*}} : vector<64xi16> to vector<32xi32>
// CHECK-DAG: %[[OWN:.*]] = vector.extract_strided_slice %[[ACC0]] {offsets = [0], sizes = [16], strides = [1]}
// CHECK-DAG: %[[B0:.*]] = vector.extract_strided_slice %[[B]] {offsets = [0], sizes = [16], strides = [1]}
// CHECK: llvm.inline_asm "vdpbf16ps $3, $2, $0", "=v,0,v,v" %[[OWN]], %[[A]], %[[B0]]
// CHECK: llvm.inline_asm "vdpbf16ps
// CHECK: %[[SUM:.*]] = vector.insert_strided_slice
// CHECK-NOT: vector.interleave
// CHECK: llvm.inline_asm "vdpbf16ps
// CHECK: llvm.inline_asm "vdpbf16ps
// CHECK: vector.fma %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK: vector.fma
// CHECK-NOT: vector.fma
func.func @two_rows(
    %x: vector<32xf32>, %y: vector<32xf32>, %a: memref<2x3xbf16>, %b: memref<3x32xbf16>
) -> (vector<32xbf16>, vector<32xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a00 = memref.load %a[%c0, %c0] : memref<2x3xbf16>
  %a01 = memref.load %a[%c0, %c1] : memref<2x3xbf16>
  %a02 = memref.load %a[%c0, %c2] : memref<2x3xbf16>
  %a10 = memref.load %a[%c1, %c0] : memref<2x3xbf16>
  %a11 = memref.load %a[%c1, %c1] : memref<2x3xbf16>
  %a12 = memref.load %a[%c1, %c2] : memref<2x3xbf16>
  %b0 = vector.load %b[%c0, %c0] : memref<3x32xbf16>, vector<32xbf16>
  %b1 = vector.load %b[%c1, %c0] : memref<3x32xbf16>, vector<32xbf16>
  %b2 = vector.load %b[%c2, %c0] : memref<3x32xbf16>, vector<32xbf16>
  %f00 = arith.extf %a00 : bf16 to f32
  %f01 = arith.extf %a01 : bf16 to f32
  %f02 = arith.extf %a02 : bf16 to f32
  %f10 = arith.extf %a10 : bf16 to f32
  %f11 = arith.extf %a11 : bf16 to f32
  %f12 = arith.extf %a12 : bf16 to f32
  %w0 = arith.extf %b0 : vector<32xbf16> to vector<32xf32>
  %w1 = arith.extf %b1 : vector<32xbf16> to vector<32xf32>
  %w2 = arith.extf %b2 : vector<32xbf16> to vector<32xf32>
  %s00 = vector.broadcast %f00 : f32 to vector<32xf32>
  %s01 = vector.broadcast %f01 : f32 to vector<32xf32>
  %s02 = vector.broadcast %f02 : f32 to vector<32xf32>
  %s10 = vector.broadcast %f10 : f32 to vector<32xf32>
  %s11 = vector.broadcast %f11 : f32 to vector<32xf32>
  %s12 = vector.broadcast %f12 : f32 to vector<32xf32>
  %x0 = vector.fma %s00, %w0, %x : vector<32xf32>
  %y0 = vector.fma %w0, %s10, %y : vector<32xf32>
  %x1 = vector.fma %s01, %w1, %x0 : vector<32xf32>
  %y1 = vector.fma %w1, %s11, %y0 : vector<32xf32>
  %x2 = vector.fma %s02, %w2, %x1 : vector<32xf32>
  %y2 = vector.fma %w2, %s12, %y1 : vector<32xf32>
  %xr = arith.truncf %x2 : vector<32xf32> to vector<32xbf16>
  %yr = arith.truncf %y2 : vector<32xf32> to vector<32xbf16>
  return %xr, %yr : vector<32xbf16>, vector<32xbf16>
}
