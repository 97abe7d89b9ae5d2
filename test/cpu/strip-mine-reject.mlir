// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-cpu-strip-mine)'

func.func private @tensors(%x: tensor<8xf32>, %out: memref<8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  // expected-error @+1 {{a transfer on a tensor; bufferize first}}
  %v = vector.transfer_read %x[%c0], %pad : tensor<8xf32>, vector<8xf32>
  vector.transfer_write %v, %out[%c0] : vector<8xf32>, memref<8xf32>
  return
}

// -----

func.func private @no_rule(%x: memref<8xf32>, %out: memref<8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0], %pad : memref<8xf32>, vector<8xf32>
  // expected-error @+1 {{no rule for 'vector.shuffle' on tiles; the kernel belongs on the slow path}}
  %s = vector.shuffle %v, %v [7, 6, 5, 4, 3, 2, 1, 0] : vector<8xf32>, vector<8xf32>
  vector.transfer_write %s, %out[%c0] : vector<8xf32>, memref<8xf32>
  return
}

// -----

func.func private @table(%out: memref<4xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{a tile constant must be a splat}}
  %v = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
  vector.transfer_write %v, %out[%c0] : vector<4xf32>, memref<4xf32>
  return
}

// -----

func.func private @reshape(%x: memref<8x4xf32>, %out: memref<32xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %pad : memref<8x4xf32>, vector<8x4xf32>
  // expected-error @+1 {{a shape_cast may only add or drop unit dims}}
  %s = vector.shape_cast %v : vector<8x4xf32> to vector<32xf32>
  vector.transfer_write %s, %out[%c0] : vector<32xf32>, memref<32xf32>
  return
}

// -----

func.func private @masked(%x: memref<8xf32>, %out: memref<8xf32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %m = vector.create_mask %n : vector<8xi1>
  // expected-error @+1 {{a masked transfer; tile IR has none}}
  %v = vector.transfer_read %x[%c0], %pad, %m : memref<8xf32>, vector<8xf32>
  vector.transfer_write %v, %out[%c0] : vector<8xf32>, memref<8xf32>
  return
}

// -----

func.func private @strided(%x: memref<8xf32, strided<[2]>>, %out: memref<8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  // expected-error @+1 {{memory must be contiguous along its innermost dim}}
  %v = vector.transfer_read %x[%c0], %pad : memref<8xf32, strided<[2]>>, vector<8xf32>
  vector.transfer_write %v, %out[%c0] : vector<8xf32>, memref<8xf32>
  return
}

// -----

// The carried tile is asked for at the whole row by the sum, but is carried strip by strip.
func.func private @sum_of_carried(%x: memref<8x64xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %v = vector.transfer_read %x[%c0, %c0], %pad : memref<8x64xf32>, vector<8x64xf32>
  // expected-error @+1 {{a loop-carried tile is used at other positions than it is carried at}}
  %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%t = %v) -> (vector<8x64xf32>) {
    %s = vector.multi_reduction <add>, %t, %zero [1] : vector<8x64xf32> to vector<8xf32>
    %c = vector.shape_cast %s : vector<8xf32> to vector<8x1xf32>
    %b = vector.broadcast %c : vector<8x1xf32> to vector<8x64xf32>
    %d = arith.divf %t, %b : vector<8x64xf32>
    scf.yield %d : vector<8x64xf32>
  }
  vector.transfer_write %r, %out[%c0, %c0] : vector<8x64xf32>, memref<8x64xf32>
  return
}

// -----

func.func private @carried_over_writes(%x: memref<8x16xf32>, %out: memref<8x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x16xf32>
  // expected-error @+1 {{a loop that writes tiles cannot carry values}}
  %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%acc = %zero) -> (vector<4x16xf32>) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<8x16xf32>, vector<4x16xf32>
    %s = arith.addf %acc, %v : vector<4x16xf32>
    vector.transfer_write %s, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x16xf32>, memref<8x16xf32>
    scf.yield %s : vector<4x16xf32>
  }
  return
}

// -----

func.func private @element(%x: memref<16xf32>, %i: index, %out: memref<16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<16xf32>, vector<16xf32>
  // expected-error @+1 {{vector.extract needs constant positions}}
  %e = vector.extract %v[%i] : f32 from vector<16xf32>
  %b = vector.broadcast %e : f32 to vector<16xf32>
  vector.transfer_write %b, %out[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
  return
}
