// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-hooks)' --verify-diagnostics --split-input-file

func.func private @inner(%x: memref<4xf32>) attributes {mlopt.kernel} {
  return
}
// expected-error @below {{kernels do not call kernels: @outer}}
func.func private @outer(%x: memref<4xf32>) attributes {mlopt.kernel} {
  call @inner(%x) : (memref<4xf32>) -> ()
  return
}
func.func @main(%x: memref<4xf32>) {
  call @outer(%x) : (memref<4xf32>) -> ()
  return
}

// -----

// expected-error @below {{@branches has several blocks; run mlopt-hooks on structured loops}}
func.func private @branches(%x: memref<4xf32>, %some: i1) attributes {mlopt.kernel} {
  cf.cond_br %some, ^work, ^end
^work:
  cf.br ^end
^end:
  return
}
func.func @main(%x: memref<4xf32>, %some: i1) {
  call @branches(%x, %some) : (memref<4xf32>, i1) -> ()
  return
}
