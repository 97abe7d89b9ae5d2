// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-hooks)' --verify-diagnostics

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
