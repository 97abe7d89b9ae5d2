// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-parallel)' --split-input-file --verify-diagnostics

func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{scf.forall has results; mlopt-cpu-parallel runs after bufferization}}
  %r = scf.forall (%i) in (4) shared_outs(%o = %x) -> (tensor<4xf32>) {
    scf.forall.in_parallel {
    }
  }
  return %r : tensor<4xf32>
}

// -----

func.func @shared_scratch(%n: index, %threads: index {mlopt.threads}) attributes {mlopt.bytes = 10000000 : i64} {
  %cst = arith.constant 1.0 : f32
  // expected-error @+1 {{all tasks would share this scratch buffer; allocate it inside the loop}}
  %scratch = memref.alloca(%n) : memref<?xf32>
  scf.forall (%i) in (64) {
    memref.store %cst, %scratch[%i] : memref<?xf32>
  }
  return
}
