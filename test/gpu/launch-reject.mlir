// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-launch)' --split-input-file --verify-diagnostics

module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @plain() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
func.func @main() {
  %one = arith.constant 1 : i64
  // expected-error @+1 {{the launch has no stream; run mlopt-gpu-entry before}}
  gpu.launch_func @kernels::@plain blocks in (%one, %one, %one) threads in (%one, %one, %one) : i64
  return
}
}

// -----

module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @plain(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
func.func @main(%x: memref<4xf32>, %stream: !llvm.ptr) {
  %one = arith.constant 1 : i64
  // expected-error @+1 {{a kernel cannot take a memref<4xf32>; pass buffers as !llvm.ptr}}
  gpu.launch_func <%stream : !llvm.ptr> @kernels::@plain blocks in (%one, %one, %one) threads in (%one, %one, %one) : i64 args(%x : memref<4xf32>)
  return
}
}

// -----

module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @plain() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
func.func @main() {
  %one = arith.constant 1 : index
  // expected-error @+1 {{launches with async tokens are not lowered; launch on a stream}}
  %token = gpu.launch_func async @kernels::@plain blocks in (%one, %one, %one) threads in (%one, %one, %one)
  return
}
}
