// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-plain-loops)' --split-input-file --verify-diagnostics

func.func private @needs_memory(%out: memref<4xf32>) attributes {mlopt.kernel} {
  // expected-error @below {{a kernel on the slow path needs memory of its own, which a GPU's cannot have}}
  %m = memref.alloc() : memref<4xf32>
  return
}

// -----

func.func private @steps(%x: memref<8xf32>, %out: memref<8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{a parallel loop on the slow path runs from 0 in steps of 1}}
  scf.parallel (%i) = (%c0) to (%c8) step (%c2) {
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %out[%i] : memref<8xf32>
    scf.reduce
  }
  return
}
