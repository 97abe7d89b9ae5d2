// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts)'

func.func private @tensors(%x: tensor<8xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (8) step (4) {
    // expected-error @+1 {{a transfer on a tensor; bufferize first}}
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [true]} : tensor<8xf32>, vector<4xf32>
  }
  return
}

// -----

func.func private @warps(%x: memref<8xf32>) attributes {mlopt.kernel} {
  // expected-error @+1 {{a block has 1, 2, 4, … or 32 warps, not 3}}
  scf.forall (%i) = (0) to (8) step (4) {
  } {mlopt.schedule = {warps = array<i64: 3>}}
  return
}

// -----

func.func private @twice(%x: memref<8xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (8) step (4) {
    // expected-error @+1 {{this has a layout already}}
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [true], mlopt.layout = "reg lane 32:(1) warp 4:(0)"} : memref<8xf32>, vector<4xf32>
  }
  return
}
