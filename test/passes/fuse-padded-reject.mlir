// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse,mlopt-outline)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s --check-prefix=DECIDED

#one = affine_map<(i) -> (i)>
#id = affine_map<(i, j) -> (i, j)>
#out = affine_map<(i, j) -> (i)>

// Twice as many exps to save a kernel: a fill, and what computes and inserts them.
// CHECK: mlopt.fusion = ["fill -> pad: fill writes all of the buffer that pad writes a part of, before: special functions would be computed for 120 elements, not for 60"]
// DECIDED: mlopt.rewrites = {"mlopt-fuse" = [{bytes = 960 : i64, {{.*}}ops = "pad computed where it is read", reason = "special functions would be computed for 120 elements, not for 60", seconds = {{[1-9]}}
// CHECK-LABEL: func.func private @kernel_0_fill(
// CHECK-LABEL: func.func private @kernel_1_exp_pad(
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<60xf32>)
func.func @main(%x: tensor<60xf32>) -> tensor<120xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<60xf32>
  %m = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%x : tensor<60xf32>) outs(%e : tensor<60xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %out: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<60xf32>
  %ep = tensor.empty() : tensor<120xf32>
  %f = linalg.fill ins(%zero : f32) outs(%ep : tensor<120xf32>) -> tensor<120xf32>
  %p = tensor.insert_slice %m into %f[30] [60] [1] {mlopt.op = "pad"} : tensor<60xf32> into tensor<120xf32>
  return %p : tensor<120xf32>
}

// -----

// What would be divided by beside the quotients is anything; a quotient of integers may trap.
// CHECK-LABEL: func.func private @kernel_0_fill(
// CHECK-LABEL: func.func private @kernel_1_div_pad(
#one = affine_map<(i) -> (i)>
func.func @main(%x: tensor<60xi64>, %y: tensor<60xi64>) -> tensor<64xi64> {
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<60xi64>
  %m = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<60xi64>, tensor<60xi64>) outs(%e : tensor<60xi64>) attrs = {mlopt.op = "div"} {
  ^bb0(%a: i64, %b: i64, %out: i64):
    %0 = arith.divsi %a, %b : i64
    linalg.yield %0 : i64
  } -> tensor<60xi64>
  %ep = tensor.empty() : tensor<64xi64>
  %f = linalg.fill ins(%zero : i64) outs(%ep : tensor<64xi64>) -> tensor<64xi64>
  %p = tensor.insert_slice %m into %f[3] [60] [1] {mlopt.op = "pad"} : tensor<60xi64> into tensor<64xi64>
  return %p : tensor<64xi64>
}

// -----

// So may one of indices, by each division that there is.
// CHECK-LABEL: func.func private @kernel_0_fill(
// CHECK-LABEL: func.func private @kernel_1_div_pad(
#one = affine_map<(i) -> (i)>
func.func @main(%x: tensor<60xi32>, %y: tensor<60xi32>) -> tensor<64xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<60xi32>
  %m = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<60xi32>, tensor<60xi32>) outs(%e : tensor<60xi32>) attrs = {mlopt.op = "div"} {
  ^bb0(%a: i32, %b: i32, %out: i32):
    %0 = arith.index_cast %a : i32 to index
    %1 = arith.index_cast %b : i32 to index
    %2 = arith.ceildivui %0, %1 : index
    %3 = arith.index_cast %2 : index to i32
    linalg.yield %3 : i32
  } -> tensor<60xi32>
  %ep = tensor.empty() : tensor<64xi32>
  %f = linalg.fill ins(%zero : i32) outs(%ep : tensor<64xi32>) -> tensor<64xi32>
  %p = tensor.insert_slice %m into %f[3] [60] [1] {mlopt.op = "pad"} : tensor<60xi32> into tensor<64xi32>
  return %p : tensor<64xi32>
}

// -----

// Sums are written to their places as they are made.
// CHECK-LABEL: func.func private @kernel_0_fill(
// CHECK-LABEL: func.func private @kernel_1_sum_pad(
#id = affine_map<(i, j) -> (i, j)>
#out = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<60x32xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<60xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<60xf32>) -> tensor<60xf32>
  %s = linalg.generic {indexing_maps = [#id, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<60x32xf32>) outs(%fs : tensor<60xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %a, %out : f32
    linalg.yield %0 : f32
  } -> tensor<60xf32>
  %ep = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%ep : tensor<64xf32>) -> tensor<64xf32>
  %p = tensor.insert_slice %s into %f[3] [60] [1] {mlopt.op = "pad"} : tensor<60xf32> into tensor<64xf32>
  return %p : tensor<64xf32>
}

// -----

// Zeros between the elements, and a part at a place that is not known.
// CHECK-LABEL: func.func private @kernel_0_fill(
// CHECK-LABEL: func.func private @kernel_1_insert(
// CHECK-LABEL: func.func private @kernel_2_insert(
#one = affine_map<(i) -> (i)>
func.func @main(%x: tensor<30xf32>, %i: index) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %p = tensor.insert_slice %x into %f[1] [30] [2] {mlopt.op = "insert"} : tensor<30xf32> into tensor<64xf32>
  %q = tensor.insert_slice %x into %f[%i] [30] [1] {mlopt.op = "insert"} : tensor<30xf32> into tensor<64xf32>
  return %p, %q : tensor<64xf32>, tensor<64xf32>
}

// -----

// A part of any size, in a tensor of another one: two sizes that nobody knows are not equal for that.
// CHECK-LABEL: func.func private @kernel_0_fill(
// CHECK-LABEL: func.func private @kernel_1_maximum_pad(
// CHECK: tensor.insert_slice
func.func @of_any_size(%x: tensor<?x5xf32>, %y: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x5xf32>
  %more = arith.addi %n, %c3 : index
  %e = tensor.empty(%n) : tensor<?x5xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"], mlopt.op = "maximum"} ins(%x, %y : tensor<?x5xf32>, tensor<?x5xf32>) outs(%e : tensor<?x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.maximumf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<?x5xf32>
  %w = tensor.empty(%more) : tensor<?x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%w : tensor<?x5xf32>) -> tensor<?x5xf32>
  %p = tensor.insert_slice %m into %f[0, 0] [%n, 5] [1, 1] {mlopt.op = "pad"} : tensor<?x5xf32> into tensor<?x5xf32>
  return %p : tensor<?x5xf32>
}

// -----

// 75 times as many powers: they take longer than a copy of what is written over.
// CHECK: mlopt.fusion = ["{{.*}}special functions would be computed for 19200 elements, not for 256"]
// CHECK-LABEL: func.func private @kernel_0_copy(
// CHECK-LABEL: func.func private @kernel_1_pow_insert(
// CHECK-LABEL: func.func private @kernel_2_neg(
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<300x64xf32>, %y: tensor<4x64xf32>) -> tensor<300x64xf32> {
  %e = tensor.empty() : tensor<4x64xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x64xf32>) outs(%e : tensor<4x64xf32>) attrs = {mlopt.op = "pow"} {
  ^bb0(%a: f32, %out: f32):
    %0 = math.powf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x64xf32>
  %p = tensor.insert_slice %m into %x[2, 0] [4, 64] [1, 1] {mlopt.op = "insert"} : tensor<4x64xf32> into tensor<300x64xf32>
  %er = tensor.empty() : tensor<300x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<300x64xf32>) outs(%er : tensor<300x64xf32>) attrs = {mlopt.op = "neg"} {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<300x64xf32>
  return %r : tensor<300x64xf32>
}

// -----

// Six tests for each float are more than its store and its load.
// CHECK: mlopt.fusion = ["{{.*}}telling in which of 6 parts an element is takes too long"]
// CHECK-LABEL: func.func private @kernel_0_copy(
// CHECK-LABEL: func.func private @kernel_1_insert(
// CHECK-LABEL: func.func private @kernel_2_neg(
#one = affine_map<(i) -> (i)>
func.func @main(%x: tensor<40000xf32>, %y0: tensor<400xf32>, %y1: tensor<400xf32>, %y2: tensor<400xf32>, %y3: tensor<400xf32>, %y4: tensor<400xf32>, %y5: tensor<400xf32>) -> tensor<40000xf32> {
  %p0 = tensor.insert_slice %y0 into %x[0] [400] [1] {mlopt.op = "insert"} : tensor<400xf32> into tensor<40000xf32>
  %p1 = tensor.insert_slice %y1 into %p0[800] [400] [1] {mlopt.op = "insert"} : tensor<400xf32> into tensor<40000xf32>
  %p2 = tensor.insert_slice %y2 into %p1[1600] [400] [1] {mlopt.op = "insert"} : tensor<400xf32> into tensor<40000xf32>
  %p3 = tensor.insert_slice %y3 into %p2[2400] [400] [1] {mlopt.op = "insert"} : tensor<400xf32> into tensor<40000xf32>
  %p4 = tensor.insert_slice %y4 into %p3[3200] [400] [1] {mlopt.op = "insert"} : tensor<400xf32> into tensor<40000xf32>
  %p5 = tensor.insert_slice %y5 into %p4[4000] [400] [1] {mlopt.op = "insert"} : tensor<400xf32> into tensor<40000xf32>
  %e = tensor.empty() : tensor<40000xf32>
  %r = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%p5 : tensor<40000xf32>) outs(%e : tensor<40000xf32>) attrs = {mlopt.op = "neg"} {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<40000xf32>
  return %r : tensor<40000xf32>
}
