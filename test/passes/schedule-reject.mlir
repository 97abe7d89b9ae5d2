// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule)' | FileCheck %s
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=tpu})' 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{choices="relu:1"})' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{choices=5})' 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{choices="calls:x"})' 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda choices="calls:1"})' 2>&1 | FileCheck %s --check-prefix=CUDA

// NAME: error: schedule: no kernel 'relu'; there are: calls, branches
// NUMBER: error: schedule: no candidate '5' for @calls; a kernel has 5 of them on a CPU, from 0, and one on a GPU
// WORD: error: schedule: no candidate 'x' for @calls;
// CUDA: error: schedule: no candidate '1' for @calls;

// TARGET: error: schedule: no target 'tpu'; use one of cpu, cuda

// What no rule takes is marked with the reason, and gets no schedule.

// CHECK-LABEL: @calls
// CHECK-SAME: mlopt.slow = "no tile rule takes tensor.pad"
// CHECK-NOT: mlopt.schedule
func.func private @calls(%x: tensor<4xf32>, %out: tensor<6xf32>) -> tensor<6xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %r = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %r : tensor<6xf32>
}

// CHECK-LABEL: @branches
// CHECK-SAME: mlopt.slow = "scf.if in the body"
func.func private @branches(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %y = scf.if %c -> f32 {
      scf.yield %a : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// A row of unknown length cannot be owned by one task.
// CHECK-LABEL: @dynamic_row
// CHECK-SAME: mlopt.slow = "a task would need a whole row, whose length is not known"
func.func private @dynamic_row(%x: tensor<4x?xf32>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x?xf32>, tensor<4xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// Raised, it would be a window of pairs, whose tiles step by one.
// CHECK-LABEL: @windowed_value
// CHECK-SAME: mlopt.slow = "how much a task would compute ahead of its window is not known"
func.func private @windowed_value(%x: tensor<9xf32>, %w: tensor<3xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%q, %w : tensor<9xf32>, tensor<3xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// What it moves and computes is counted all the same: 5 of 25 elements are read, an op of a branch counts once.
// CHECK-LABEL: @diagonal
// CHECK-SAME: mlopt.bytes = 40 : i64, mlopt.flops = 10 : i64
// CHECK-SAME: mlopt.slow = "scf.if in the body"
func.func private @diagonal(%x: tensor<5x5xf32>, %out: tensor<5xf32>) -> tensor<5xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<5x5xf32>) outs(%out : tensor<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %y = scf.if %c -> f32 {
      %n = arith.negf %a : f32
      scf.yield %n : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %y : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}
