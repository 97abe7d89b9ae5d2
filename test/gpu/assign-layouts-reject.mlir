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

// -----

func.func private @unknown_instruction(%a: vector<64x32xbf16>, %b: vector<32x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    // expected-error @+1 {{mlopt.mma is 'm16n8k4.tf32'; known are m16n8k16.bf16, m16n8k16.f16, m16n8k32.s8}}
    %d = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                           affine_map<(m, n, k) -> (m, n)>],
                          iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m16n8k4.tf32"}
        %a, %b, %zero : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}
