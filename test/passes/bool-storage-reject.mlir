// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-bool-storage)' --split-input-file --verify-diagnostics

func.func @whole_tensors(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
  // expected-error @+1 {{arith.andi computes on a whole tensor of bools, which are stored as bytes; run convert-elementwise-to-linalg before mlopt-bool-storage}}
  %r = arith.andi %a, %b : tensor<4xi1>
  return %r : tensor<4xi1>
}
