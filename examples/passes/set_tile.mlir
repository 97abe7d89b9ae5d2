// RUN: mlopt-opt %s --mlopt-cpu --to=kernels | mlopt-opt --load-pass-plugin=%S/set_tile.py --pass-pipeline='builtin.module(mlopt-schedule,set-tile{tile=16,32})' | FileCheck %s
// RUN: mlopt-opt %s --mlopt-cpu --to=kernels | mlopt-opt --load-pass-plugin=%S/set_tile.py --pass-pipeline='builtin.module(mlopt-schedule,set-tile{kernel=softmax tile=16})' | FileCheck %s --check-prefix=OTHER

// CHECK: mlopt.schedule = {tile = array<i64: 16, 32, {{[0-9]+}}>}
// OTHER-NOT: array<i64: 16,
func.func @main(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.matmul ins(%x, %y : tensor<512x512xf32>, tensor<512x512xf32>)
      outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}
