// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-dot-bf16)' | FileCheck %s
// CHECK-NOT: vdpbf16ps

// f16 has no such instruction.
// CHECK-LABEL: func.func @half
// CHECK-COUNT-2: vector.fma
func.func @half(%x: vector<16xf32>, %a: f16, %b: vector<16xf16>, %out: memref<16xbf16>, %c0: index) -> vector<16xf32> {
  %f = arith.extf %a : f16 to f32
  %w = arith.extf %b : vector<16xf16> to vector<16xf32>
  %s = vector.broadcast %f : f32 to vector<16xf32>
  %one = vector.fma %s, %w, %x : vector<16xf32>
  %two = vector.fma %s, %w, %one : vector<16xf32>
  %round = arith.truncf %two : vector<16xf32> to vector<16xbf16>
  vector.store %round, %out[%c0] : memref<16xbf16>, vector<16xbf16>
  return %two : vector<16xf32>
}

// The sum between is read by something else.
// CHECK-LABEL: func.func @both_sums
// CHECK-COUNT-2: vector.fma
func.func @both_sums(
    %x: vector<16xf32>, %a: bf16, %b: vector<16xbf16>, %out: memref<16xbf16>, %c0: index
) -> (vector<16xf32>, vector<16xf32>) {
  %f = arith.extf %a : bf16 to f32
  %w = arith.extf %b : vector<16xbf16> to vector<16xf32>
  %s = vector.broadcast %f : f32 to vector<16xf32>
  %one = vector.fma %s, %w, %x : vector<16xf32>
  %two = vector.fma %s, %w, %one : vector<16xf32>
  %round = arith.truncf %one : vector<16xf32> to vector<16xbf16>
  vector.store %round, %out[%c0] : memref<16xbf16>, vector<16xbf16>
  return %one, %two : vector<16xf32>, vector<16xf32>
}

// No whole registers.
// CHECK-LABEL: func.func @narrow
// CHECK-COUNT-2: vector.fma
func.func @narrow(
    %x: vector<8xf32>, %a: bf16, %b: vector<8xbf16>, %out: memref<16xbf16>, %c0: index
) -> vector<8xf32> {
  %f = arith.extf %a : bf16 to f32
  %w = arith.extf %b : vector<8xbf16> to vector<8xf32>
  %s = vector.broadcast %f : f32 to vector<8xf32>
  %one = vector.fma %s, %w, %x : vector<8xf32>
  %two = vector.fma %s, %w, %one : vector<8xf32>
  %round = arith.truncf %two : vector<8xf32> to vector<8xbf16>
  vector.store %round, %out[%c0] : memref<16xbf16>, vector<8xbf16>
  return %two : vector<8xf32>
}

// One factor is f32.
// CHECK-LABEL: func.func @mixed
// CHECK-COUNT-2: vector.fma
func.func @mixed(
    %x: vector<16xf32>, %s: vector<16xf32>, %b: vector<16xbf16>, %out: memref<16xbf16>, %c0: index
) -> vector<16xf32> {
  %w = arith.extf %b : vector<16xbf16> to vector<16xf32>
  %one = vector.fma %s, %w, %x : vector<16xf32>
  %two = vector.fma %s, %w, %one : vector<16xf32>
  %round = arith.truncf %two : vector<16xf32> to vector<16xbf16>
  vector.store %round, %out[%c0] : memref<16xbf16>, vector<16xbf16>
  return %two : vector<16xf32>
}

// A product of f32, which eager does not flush.
// CHECK-LABEL: func.func @rounds_nothing
// CHECK-COUNT-2: vector.fma
func.func @rounds_nothing(%x: vector<16xf32>, %a: bf16, %b: vector<16xbf16>) -> vector<16xf32> {
  %f = arith.extf %a : bf16 to f32
  %w = arith.extf %b : vector<16xbf16> to vector<16xf32>
  %s = vector.broadcast %f : f32 to vector<16xf32>
  %one = vector.fma %s, %w, %x : vector<16xf32>
  %two = vector.fma %s, %w, %one : vector<16xf32>
  return %two : vector<16xf32>
}
