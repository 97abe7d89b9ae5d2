// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-gpu-distribute)'

// Two lanes stand at one place of the row.
func.func private @overlapping(%x: memref<1x34xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true], mlopt.layout = "reg 3:(0,1) lane 32:(0,2) warp"} : memref<1x34xf32>, vector<1x34xf32>
    // expected-error @+1 {{has no digits along dim 1, which a scan needs}}
    %s, %all = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 1 : i64, mlopt.layout = ["reg 3:(0,1) lane 32:(0,2) warp", "reg lane 32:(0) warp"]} : vector<1x34xf32>, vector<1xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 1>}}
  return
}
