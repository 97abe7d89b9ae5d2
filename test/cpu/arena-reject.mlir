// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-arena)' --verify-diagnostics

func.func @kernel(%x: memref<4xf32>) {
  scf.forall (%i) in (4) {
    // expected-error @+1 {{a buffer is allocated inside a parallel loop; kernels may not allocate}}
    %a = memref.alloc() : memref<4xf32>
    memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  }
  return
}
