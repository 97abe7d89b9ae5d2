// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-entry)' --split-input-file --verify-diagnostics

// expected-error @+1 {{@main returns values, an entry point cannot; mlopt-outline makes them arguments}}
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

// expected-error @+1 {{argument 0 of @main is memref<4xf32, strided<[2]>>; entry points take contiguous buffers}}
func.func @main(%x: memref<4xf32, strided<[2]>>) {
  return
}

// -----

// expected-error @+1 {{argument 0 of @main has no rank: memref<*xf32>}}
func.func @main(%x: memref<*xf32>) {
  return
}
