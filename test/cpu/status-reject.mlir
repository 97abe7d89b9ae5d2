// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-status)' --split-input-file --verify-diagnostics

func.func @no_cell(%ok: i1) {
  // expected-error @+1 {{this function has no status cell; run mlopt-cpu-entry before}}
  cf.assert %ok, "IndexError: a"
  return
}

// -----

// expected-error @+1 {{a function that may fail cannot have results}}
func.func @results(%ok: i1, %status: memref<i32> {mlopt.status}) -> i1 {
  cf.assert %ok, "IndexError: a"
  return %ok : i1
}
