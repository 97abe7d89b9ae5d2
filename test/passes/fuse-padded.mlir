// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse,mlopt-outline)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s --check-prefix=DECIDED

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
#out = affine_map<(i, j) -> (i)>

// What is padded is computed at the places of the padded tensor, and chosen there; its other operand is padded
// along its one dim. All is one kernel, with the sum of rows.
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// DECIDED: mlopt.rewrites = {"mlopt-fuse" = [{bytes = 4096 : i64, {{.*}}ops = "pad computed where it is read", reason = "", seconds = {{[1-9]}}
// CHECK-LABEL: func.func private @kernel_0_pad_mul_pad_sum(
// CHECK-SAME: %[[X:.*]]: tensor<8x60xf32>, %[[W:.*]]: tensor<60xf32>
// CHECK-DAG: %[[P:.*]] = tensor.insert_slice %[[X]] into %{{.*}}[0, 3] [8, 60] [1, 1] {{.*}} into tensor<8x64xf32>
// CHECK-DAG: %[[Q:.*]] = tensor.insert_slice %[[W]] into %{{.*}}[3] [60] [1] {{.*}} into tensor<64xf32>
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[Q]] : tensor<8x64xf32>, tensor<64xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[M]], %{{.*}} : tensor<8x64xf32>, f32)
// CHECK-DAG: %[[J:.*]] = linalg.index 1
// CHECK-DAG: %[[AFTER:.*]] = arith.cmpi sge, %[[J]], %c3
// CHECK-DAG: %[[BEFORE:.*]] = arith.cmpi slt, %{{.*}}, %c63
// CHECK: %[[IN:.*]] = arith.andi
// CHECK: arith.select %[[IN]], %in, %in_{{[0-9]}}
// CHECK-NOT: func.func private
func.func @main(%x: tensor<8x60xf32>, %w: tensor<60xf32>) -> tensor<8xf32> {
  %minus = arith.constant -1.0 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x60xf32>
  %m = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<8x60xf32>, tensor<60xf32>) outs(%e : tensor<8x60xf32>) attrs = {mlopt.op = "mul"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x60xf32>
  %ep = tensor.empty() : tensor<8x64xf32>
  %f = linalg.fill ins(%minus : f32) outs(%ep : tensor<8x64xf32>) -> tensor<8x64xf32>
  %p = tensor.insert_slice %m into %f[0, 3] [8, 60] [1, 1] {mlopt.op = "pad"} : tensor<8x60xf32> into tensor<8x64xf32>
  %es = tensor.empty() : tensor<8xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #out], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<8x64xf32>) outs(%fs : tensor<8xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %a, %out : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

// What lies in memory is read through its own padding; who asks where it is, is told where it was.
// CHECK-LABEL: func.func private @kernel_0_pad(
// CHECK: %[[P:.*]] = tensor.insert_slice
// CHECK: linalg.generic {{.*}} ins(%[[P]] : tensor<64xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: linalg.yield
// CHECK-LABEL: func.func private @kernel_1_pad_add_pad(
// CHECK: %[[J:.*]] = linalg.index 0
// CHECK: arith.subi %[[J]], %c2
// CHECK-NOT: func.func private
#one = affine_map<(i) -> (i)>
func.func @main(%x: tensor<60xf32>, %y: tensor<60xi64>) -> (tensor<64xf32>, tensor<63xi64>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %p = tensor.insert_slice %x into %f[3] [60] [1] {mlopt.op = "pad"} : tensor<60xf32> into tensor<64xf32>
  %ey = tensor.empty() : tensor<60xi64>
  %m = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%y : tensor<60xi64>) outs(%ey : tensor<60xi64>) attrs = {mlopt.op = "add"} {
  ^bb0(%a: i64, %out: i64):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %0 = arith.addi %a, %k : i64
    linalg.yield %0 : i64
  } -> tensor<60xi64>
  %eq = tensor.empty() : tensor<63xi64>
  %fq = linalg.fill ins(%none : i64) outs(%eq : tensor<63xi64>) -> tensor<63xi64>
  %q = tensor.insert_slice %m into %fq[2] [60] [1] {mlopt.op = "pad"} : tensor<60xi64> into tensor<63xi64>
  return %p, %q : tensor<64xf32>, tensor<63xi64>
}

// -----

// A part of a tensor that is written over: where it is read, the part or the tensor. The later part counts.
// CHECK-LABEL: func.func private @kernel_0_pad_insert_exp(
// CHECK-SAME: %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<6xf32>, %[[X:[a-z0-9]*]]: tensor<64xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %[[X]] : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
// CHECK-NEXT: ^bb0(%[[B:[a-z0-9_]*]]: f32, %[[A:[a-z0-9_]*]]: f32, %[[OLD:[a-z0-9_]*]]: f32, %{{.*}}: f32):
// CHECK: %[[ONE:.*]] = arith.select %{{.*}}, %[[A]], %[[OLD]]
// CHECK: %[[TWO:.*]] = arith.select %{{.*}}, %[[B]], %[[ONE]]
// CHECK: linalg.yield %[[TWO]]
#one = affine_map<(i) -> (i)>
func.func @main(%x: tensor<64xf32>, %y: tensor<6xf32>, %z: tensor<4xf32>) -> tensor<64xf32> {
  %a = tensor.insert_slice %y into %x[3] [6] [1] {mlopt.op = "insert"} : tensor<6xf32> into tensor<64xf32>
  %b = tensor.insert_slice %z into %a[8] [4] [1] {mlopt.op = "insert"} : tensor<4xf32> into tensor<64xf32>
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%b : tensor<64xf32>) outs(%e : tensor<64xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// 75 times as many exps: they take less time than a copy of what is written over, which the caller keeps.
// CHECK-LABEL: func.func private @kernel_0_pad_exp_insert_neg(
// CHECK-NOT: func.func private
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<300x64xf32>, %y: tensor<4x64xf32>) -> tensor<300x64xf32> {
  %e = tensor.empty() : tensor<4x64xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x64xf32>) outs(%e : tensor<4x64xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %out: f32):
    %0 = math.exp %a : f32
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

// In which of six parts a whole row is, is told once.
// CHECK-LABEL: func.func private @kernel_0_pad_insert_neg(
// CHECK-LABEL: func.func @main
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<200x500xf32>, %y0: tensor<10x500xf32>, %y1: tensor<10x500xf32>, %y2: tensor<10x500xf32>, %y3: tensor<10x500xf32>, %y4: tensor<10x500xf32>, %y5: tensor<10x500xf32>) -> tensor<200x500xf32> {
  %p0 = tensor.insert_slice %y0 into %x[0, 0] [10, 500] [1, 1] {mlopt.op = "insert"} : tensor<10x500xf32> into tensor<200x500xf32>
  %p1 = tensor.insert_slice %y1 into %p0[20, 0] [10, 500] [1, 1] {mlopt.op = "insert"} : tensor<10x500xf32> into tensor<200x500xf32>
  %p2 = tensor.insert_slice %y2 into %p1[40, 0] [10, 500] [1, 1] {mlopt.op = "insert"} : tensor<10x500xf32> into tensor<200x500xf32>
  %p3 = tensor.insert_slice %y3 into %p2[60, 0] [10, 500] [1, 1] {mlopt.op = "insert"} : tensor<10x500xf32> into tensor<200x500xf32>
  %p4 = tensor.insert_slice %y4 into %p3[80, 0] [10, 500] [1, 1] {mlopt.op = "insert"} : tensor<10x500xf32> into tensor<200x500xf32>
  %p5 = tensor.insert_slice %y5 into %p4[100, 0] [10, 500] [1, 1] {mlopt.op = "insert"} : tensor<10x500xf32> into tensor<200x500xf32>
  %e = tensor.empty() : tensor<200x500xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p5 : tensor<200x500xf32>) outs(%e : tensor<200x500xf32>) attrs = {mlopt.op = "neg"} {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<200x500xf32>
  return %r : tensor<200x500xf32>
}
