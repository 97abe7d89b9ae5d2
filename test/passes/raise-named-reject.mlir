// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse,mlopt-raise-named)' --split-input-file | FileCheck %s --implicit-check-not=mlopt.part_of

// Exponentials over their sum: nothing that a maximum is subtracted from.
// CHECK-LABEL: func.func @exponentials
// CHECK: mlopt.op = "div"
func.func @exponentials(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %p = math.exp %x : tensor<8x64xf32>
  %s = linalg.reduce {arith.addf} ins(%p : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %sb = linalg.broadcast ins(%s : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.divf %p, %sb : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// The sum of columns, the maximum of rows.
// CHECK-LABEL: func.func @axes
// CHECK: mlopt.op = "div"
func.func @axes(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %least = arith.constant dense<0xFF800000> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %e = tensor.empty() : tensor<64x64xf32>
  %m = linalg.reduce {arith.maximumf} ins(%x : tensor<64x64xf32>) outs(%least : tensor<64xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<64xf32>) outs(%e : tensor<64x64xf32>) dimensions = [1]
  %d = arith.subf %x, %mb : tensor<64x64xf32>
  %p = math.exp %d : tensor<64x64xf32>
  %s = linalg.reduce {arith.addf} ins(%p : tensor<64x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [0]
  %sb = linalg.broadcast ins(%s : tensor<64xf32>) outs(%e : tensor<64x64xf32>) dimensions = [0]
  %y = arith.divf %p, %sb : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// A sum that begins from one.
// CHECK-LABEL: func.func @from_one
// CHECK: mlopt.op = "div"
func.func @from_one(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %least = arith.constant dense<0xFF800000> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %m = linalg.reduce {arith.maximumf} ins(%x : tensor<8x64xf32>) outs(%least : tensor<8xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %d = arith.subf %x, %mb : tensor<8x64xf32>
  %p = math.exp %d : tensor<8x64xf32>
  %s = linalg.reduce {arith.addf} ins(%p : tensor<8x64xf32>) outs(%one : tensor<8xf32>) dimensions = [1]
  %sb = linalg.broadcast ins(%s : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.divf %p, %sb : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// The sum of squares over one less than their number is no mean: an rms_norm has 64 here.
// CHECK-LABEL: func.func @no_mean
// CHECK: mlopt.op = "rsqrt"
func.func @no_mean(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %less = arith.constant dense<63.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %q = arith.mulf %x, %x : tensor<8x64xf32>
  %t = linalg.reduce {arith.addf} ins(%q : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %v = arith.divf %t, %less : tensor<8xf32>
  %ve = arith.addf %v, %eps : tensor<8xf32>
  %r = math.rsqrt %ve : tensor<8xf32>
  %rb = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rb : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// Columns, as a batch norm's, with a number for each of them: it belongs to no norm of rows.
// CHECK-LABEL: func.func @columns
// CHECK: mlopt.op = "rsqrt"
func.func @columns(%x: tensor<8x64xf32>, %w: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %size = arith.constant dense<8.0> : tensor<64xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<64xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %q = arith.mulf %x, %x : tensor<8x64xf32>
  %t = linalg.reduce {arith.addf} ins(%q : tensor<8x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [0]
  %v = arith.divf %t, %size : tensor<64xf32>
  %ve = arith.addf %v, %eps : tensor<64xf32>
  %r = math.rsqrt %ve : tensor<64xf32>
  %rb = linalg.broadcast ins(%r : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %n = arith.mulf %x, %rb : tensor<8x64xf32>
  %wb = linalg.broadcast ins(%w : tensor<64xf32>) outs(%e : tensor<8x64xf32>) dimensions = [0]
  %y = arith.mulf %n, %wb : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// Another number than gelu's.
// CHECK-LABEL: func.func @constants
// CHECK: mlopt.op = "erf"
func.func @constants(%x: tensor<64xf32>) -> tensor<64xf32> {
  %half = arith.constant dense<0.5> : tensor<64xf32>
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %near = arith.constant dense<0.7071> : tensor<64xf32>
  %a0 = arith.mulf %x, %half : tensor<64xf32>
  %a1 = arith.mulf %x, %near : tensor<64xf32>
  %a2 = math.erf %a1 : tensor<64xf32>
  %a3 = arith.addf %a2, %one : tensor<64xf32>
  %a = arith.mulf %a0, %a3 : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

// A part of it is in another kernel: what each has is called by its ops.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @kernels
// CHECK: mlopt.group = 0 : i64, mlopt.op = "sigmoid"}
// CHECK: mlopt.group = 1 : i64, mlopt.op = "mul"}
func.func @kernels(%x: tensor<64xf32>) -> tensor<64xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>)
      outs(%e : tensor<64xf32>) attrs = {mlopt.group = 0 : i64, mlopt.op = "sigmoid"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.divf %one, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %s : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>)
      attrs = {mlopt.group = 1 : i64, mlopt.op = "mul"} {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %y : tensor<64xf32>
}
