// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-check-sizes)' --split-input-file | FileCheck %s

// Static sizes, and dynamic ones that come from one place, need no check; so does a slice of the whole.
// CHECK-LABEL: func.func @known
// CHECK-NOT: cf.assert
// CHECK: return
func.func @known(%x: tensor<?x4xf32>, %y: tensor<4x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %m = linalg.matmul ins(%x, %y : tensor<?x4xf32>, tensor<4x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  %k = tensor.dim %m, %c0 : tensor<?x4xf32>
  %g = tensor.empty(%k) : tensor<?x4xf32>
  %r = linalg.add ins(%m, %x : tensor<?x4xf32>, tensor<?x4xf32>) outs(%g : tensor<?x4xf32>) -> tensor<?x4xf32>
  %s = tensor.extract_slice %r[0, 0] [%n, 4] [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
  return %r, %s : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A front end that has shown it says so; the mark goes.
// CHECK-NOT: mlopt.sizes_agree
// CHECK-LABEL: func.func @shown
// CHECK-NOT: cf.assert
// CHECK: return
module attributes {mlopt.sizes_agree} {
  func.func @shown(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
    %r = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
    return %r : tensor<?xf32>
  }
}
