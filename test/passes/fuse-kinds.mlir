// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fuse)' --split-input-file | FileCheck %s

// Two sums of everything, of unknown length, and one number made of both: one task makes all of it.
// CHECK: mlopt.fusion = []
// CHECK-LABEL: @two_totals
func.func @two_totals(%x: tensor<?x128xf32>, %y: tensor<?x16xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %2 = linalg.reduce {arith.addf} ins(%x : tensor<?x128xf32>) outs(%1 : tensor<f32>) dimensions = [0, 1]
  %3 = linalg.reduce {arith.addf} ins(%y : tensor<?x16xf32>) outs(%1 : tensor<f32>) dimensions = [0, 1]
  %4 = math.exp %2 : tensor<f32>
  %5 = arith.addf %4, %3 : tensor<f32>
  return %5 : tensor<f32>
}

// -----

// A sum of everything, of unknown length, and of one row: a task makes either, and what is made of both.
// CHECK: mlopt.fusion = []
// CHECK-LABEL: @total_and_row
// CHECK-NOT: mlopt.group = 1
func.func @total_and_row(%x: tensor<?x128xf32>, %y: tensor<16xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %2 = linalg.reduce {arith.addf} ins(%x : tensor<?x128xf32>) outs(%1 : tensor<f32>) dimensions = [0, 1]
  %3 = linalg.reduce {arith.addf} ins(%y : tensor<16xf32>) outs(%1 : tensor<f32>) dimensions = [0]
  %4 = math.exp %2 : tensor<f32>
  %5 = arith.addf %4, %3 : tensor<f32>
  return %5 : tensor<f32>
}
