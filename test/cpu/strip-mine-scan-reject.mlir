// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-cpu-strip-mine)'

// What is summed would be scanned in a loop of its own, which carries no totals.
func.func private @summed(%x: memref<8x37xf64>, %out: memref<8xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  %zero = arith.constant dense<0.0> : vector<8xf64>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x37xf64>, vector<8x37xf64>
    // expected-error @+1 {{what is made of scans has no dim along the rows of all of them}}
    %s, %all = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 1 : i64} : vector<8x37xf64>, vector<8xf64>
    %r = vector.multi_reduction <add>, %s, %zero [1] : vector<8x37xf64> to vector<8xf64>
    vector.transfer_write %r, %out[%c0] {in_bounds = [true]} : vector<8xf64>, memref<8xf64>
  }
  return
}

// -----

// Totals of whole rows.
func.func private @whole(%x: memref<8x37xf64>, %out: memref<8xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  %zero = arith.constant dense<0.0> : vector<8xf64>
  scf.forall (%i) in (1) {
    %v = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x37xf64>, vector<8x37xf64>
    // expected-error @+1 {{what is made of scans has no dim along the rows of all of them}}
    %s, %all = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 1 : i64} : vector<8x37xf64>, vector<8xf64>
    vector.transfer_write %all, %out[%c0] {in_bounds = [true]} : vector<8xf64>, memref<8xf64>
  }
  return
}
