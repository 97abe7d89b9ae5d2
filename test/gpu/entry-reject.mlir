// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-entry)' --split-input-file --verify-diagnostics

func.func @main(%x: memref<4xf32>, %out: memref<4xf32>) {
  // expected-error @+1 {{'memref.copy' in the host function @main: buffers are in the device's memory, only kernels can use them}}
  memref.copy %x, %out : memref<4xf32> to memref<4xf32>
  return
}

// -----

// The constant is in the host's memory.
memref.global "private" constant @table : memref<4xf32> = dense<1.0>
func.func @main(%out: memref<4xf32>) {
  // expected-error @+1 {{'memref.get_global' in the host function @main}}
  %x = memref.get_global @table : memref<4xf32>
  return
}

// -----

// expected-error @+1 {{@main returns values, an entry point cannot; mlopt-outline makes them arguments}}
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @plain() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
func.func @main(%stream: !llvm.ptr) {
  %one = arith.constant 1 : i64
  // expected-error @+1 {{the launch has a stream already; mlopt-gpu-entry runs once}}
  gpu.launch_func <%stream : !llvm.ptr> @kernels::@plain blocks in (%one, %one, %one) threads in (%one, %one, %one) : i64
  return
}
}
