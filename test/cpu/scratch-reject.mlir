// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-scratch)' --verify-diagnostics

func.func private @dynamic(%n: index) attributes {mlopt.kernel} {
  scf.forall (%i) = (0) to (8) step (1) {
    // expected-error @+1 {{mlopt-cpu-scratch: a task's scratch must have a constant size}}
    %0 = memref.alloca(%n) : memref<?xf32>
  }
  return
}
