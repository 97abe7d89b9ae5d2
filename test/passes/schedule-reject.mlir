// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule)' | FileCheck %s
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=tpu})' 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{choices="relu:1"})' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{choices=5})' 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{choices="calls:x"})' 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-schedule{target=cuda choices="calls:4"})' 2>&1 | FileCheck %s --check-prefix=CUDA

// NAME: error: schedule: no kernel 'relu'; there are: calls, branches
// NUMBER: error: schedule: no candidate '5' for @calls; a kernel has up to 5 of them for target=cpu, from 0
// WORD: error: schedule: no candidate 'x' for @calls;
// CUDA: error: schedule: no candidate '4' for @calls; a kernel has up to 4 of them for target=cuda, from 0

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

// Channels between two dims of unknown length: a task would run through memory in short pieces.
// CHECK-LABEL: @dynamic_channel
// CHECK-SAME: mlopt.slow = "a task would have short pieces of rows, whose number is not known"
func.func private @dynamic_channel(%x: tensor<?x4x?xf32>, %out: tensor<?x4x?xf32>) -> tensor<?x4x?xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j)>], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<?x4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %s : tensor<?x4x?xf32>, tensor<4xf32>) outs(%out : tensor<?x4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<?x4x?xf32>
  return %r : tensor<?x4x?xf32>
}

// A row of unknown length in whose steps an index is checked.
// CHECK-LABEL: @checked_row
// CHECK-SAME: mlopt.slow = "a check would be made again in each step along a row, whose length is not known"
func.func private @checked_row(%x: tensor<4x?xi64>, %out: tensor<4x?xi64>) -> tensor<4x?xi64> attributes {mlopt.kernel} {
  %zero = arith.constant 0 : i64
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<4x?xi64>
  %e = tensor.empty(%n) : tensor<4x?xi64>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x?xi64>) outs(%e : tensor<4x?xi64>) {
  ^bb0(%a: i64, %o: i64):
    %ok = arith.cmpi ne, %a, %zero : i64
    cf.assert %ok, "RuntimeError: ZeroDivisionError"
    linalg.yield %a : i64
  } -> tensor<4x?xi64>
  %m = tensor.empty() : tensor<4xi64>
  %f = linalg.fill ins(%zero : i64) outs(%m : tensor<4xi64>) -> tensor<4xi64>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%q : tensor<4x?xi64>) outs(%f : tensor<4xi64>) {
  ^bb0(%a: i64, %b: i64):
    %y = arith.addi %a, %b : i64
    linalg.yield %y : i64
  } -> tensor<4xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%q, %s : tensor<4x?xi64>, tensor<4xi64>) outs(%out : tensor<4x?xi64>) {
  ^bb0(%a: i64, %b: i64, %o: i64):
    %y = arith.subi %a, %b : i64
    linalg.yield %y : i64
  } -> tensor<4x?xi64>
  return %r : tensor<4x?xi64>
}

// A part of a buffer is not written in steps.
// CHECK-LABEL: @row_into_part
// CHECK-SAME: mlopt.slow = "insert_slice would need a whole row, whose length is not known"
func.func private @row_into_part(%x: tensor<4x?xf32>, %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c1 : tensor<4x?xf32>
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %q = tensor.empty(%d) : tensor<4x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x?xf32>, tensor<4xf32>) outs(%q : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4x?xf32>
  %t = tensor.insert_slice %r into %out[0, %n] [4, %d] [1, 1] : tensor<4x?xf32> into tensor<4x?xf32>
  return %t : tensor<4x?xf32>
}

// Every other element is taken of neighbours, which these are not.
// CHECK-LABEL: @every_other_of_a_column
// CHECK-SAME: mlopt.slow = "what a window keeps every other element of is not computed along its rows"
func.func private @every_other_of_a_column(%x: tensor<9x8xf32>, %w: tensor<3xf32>, %out: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x9xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<9x8xf32>) outs(%e : tensor<8x9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<8x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j * 2 + k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %w : tensor<8x9xf32>, tensor<3xf32>) outs(%f : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
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

// What a window reads belongs to it alone: a second window, or a result, would have to find it in memory.
// CHECK-LABEL: @read_twice
// CHECK-SAME: mlopt.slow = "what a window reads is needed elsewhere as well"
func.func private @read_twice(%x: tensor<66xf32>, %w: tensor<3xf32>, %out: tensor<64xf32>, %others: tensor<66xf32>) -> (tensor<64xf32>, tensor<66xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<66xf32>) outs(%others : tensor<66xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<66xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%q, %w : tensor<66xf32>, tensor<3xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r, %q : tensor<64xf32>, tensor<66xf32>
}

// A part of a row is written; what is around it is not made here.
// CHECK-LABEL: @a_part
// CHECK-SAME: mlopt.slow = "what is written ahead of a window has no loop for each dim"
func.func private @a_part(%x: tensor<60xf32>, %w: tensor<3xf32>, %row: tensor<66xf32>, %out: tensor<64xf32>) -> tensor<64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %q = tensor.insert_slice %x into %row[4] [60] [1] : tensor<60xf32> into tensor<66xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%q, %w : tensor<66xf32>, tensor<3xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: @every_second
// CHECK-SAME: mlopt.slow = "what a window reads is made one element at a time"
func.func private @every_second(%x: tensor<131xf32>, %w: tensor<3xf32>, %out: tensor<64xf32>) -> tensor<64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<66xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i * 2)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<131xf32>) outs(%e : tensor<66xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<66xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%q, %w : tensor<66xf32>, tensor<3xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// One row of the result needs all of 90000 elements.
// CHECK-LABEL: @far
// CHECK-SAME: mlopt.slow = "what a window reads would take 360064 bytes of a task's scratch, 262144 are allowed"
func.func private @far(%x: tensor<90001xf32>, %w: tensor<90000xf32>, %out: tensor<2xf32>) -> tensor<2xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<90001xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<90001xf32>) outs(%e : tensor<90001xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<90001xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<2xf32>) -> tensor<2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%q, %w : tensor<90001xf32>, tensor<90000xf32>) outs(%f : tensor<2xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// Rows of any length, with padding: where it begins is not known.
// CHECK-LABEL: @padded_row
// CHECK-SAME: mlopt.slow = "where the padding of what a window reads begins is not known"
func.func private @padded_row(%x: tensor<?xf32>, %w: tensor<3xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%size) : tensor<?xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %c2 = arith.constant 2 : index
  %wide = arith.addi %size, %c2 : index
  %ep = tensor.empty(%wide) : tensor<?xf32>
  %fp = linalg.fill ins(%zero : f32) outs(%ep : tensor<?xf32>) -> tensor<?xf32>
  %p = tensor.insert_slice %q into %fp[1] [%size] [1] : tensor<?xf32> into tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<?xf32>, tensor<3xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: @any_window
// CHECK-SAME: mlopt.slow = "how far a window reaches is not known"
func.func private @any_window(%x: tensor<66xf32>, %w: tensor<?xf32>, %out: tensor<64xf32>) -> tensor<64xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<66xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<66xf32>) outs(%e : tensor<66xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<66xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%q, %w : tensor<66xf32>, tensor<?xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
