// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-gpu-distribute)'

func.func private @bare(%x: memref<8xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (8) step (4) {
    // expected-error @+1 {{a tile without mlopt.layout; run mlopt-gpu-assign-layouts}}
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [true]} : memref<8xf32>, vector<4xf32>
  }
  return
}

// -----

func.func private @unknown(%x: memref<8xf32>) attributes {mlopt.kernel} {
  scf.forall (%i) = (0) to (8) step (4) {
    %c = arith.constant dense<0.0> : vector<4xf32>
    // expected-error @+1 {{no rule for 'vector.reduction'}}
    %v = vector.reduction <add>, %c : vector<4xf32> into f32
  }
  return
}

// -----

func.func private @other_warps(%x: memref<8xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (8) step (4) {
    // expected-error @+1 {{a layout for 1 warps, not 4}}
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [true], mlopt.layout = "reg lane 32:(1) warp 1:(0)"} : memref<8xf32>, vector<4xf32>
  }
  return
}
