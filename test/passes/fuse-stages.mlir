// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse,mlopt-outline,mlopt-schedule,mlopt-tile,mlopt-verify,cse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse{machine=a100},mlopt-outline,mlopt-schedule{target=cuda},mlopt-tile,mlopt-verify,cse)' --split-input-file | FileCheck %s --check-prefix=GPU
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' --split-input-file | FileCheck %s --check-prefix=PRICE

// What a window reads is computed once by each task, into its scratch, with the padding around it; 15 elements
// in front of a row, the last one of the padding, let the others start a vector. Rows are written from first to
// last: the padding's last vector may run over into them. A block of a GPU, which has no scratch, computes it
// where the window reads it; the padding is no scaled element.
#x = affine_map<(c, i, j, ki, kj) -> (c, i + ki, j + kj)>
#k = affine_map<(c, i, j, ki, kj) -> (c, ki, kj)>
#y = affine_map<(c, i, j, ki, kj) -> (c, i, j)>
#id = affine_map<(c, i, j) -> (c, i, j)>
#row = affine_map<(c, i, j) -> (c)>
// CHECK: #[[LEAD:.*]] = affine_map<(d0) -> (d0 + 15)>
// CHECK: mlopt.fusion = []
// CHECK-LABEL: func.func private @kernel_0_scale_pad_depthwise(
// CHECK-SAME: %[[X:.*]]: tensor<32x12x12xf32>, %[[S:.*]]: tensor<32xf32>, %[[K:.*]]: tensor<32x3x3xf32>
// CHECK: scf.forall (%[[C:.*]]) = (0) to (32) step (4)
// CHECK: %[[STAGE:.*]] = memref.alloca() {alignment = 64 : i64} : memref<4x14x32xf32>
// CHECK: vector.transfer_read %[[X]][%[[C]], %c0, %c0], %{{.*}} {in_bounds = [true, true, true]} {{.*}}, vector<4x12x12xf32>
// CHECK: %[[MADE:.*]] = arith.mulf
// CHECK: vector.transfer_write %{{.*}}, %[[STAGE]][%c0, %c0, %c0] {{.*}} vector<4x14x16xf32>
// CHECK: vector.transfer_write %[[MADE]], %[[STAGE]][%c0, %c1, %c16]
// CHECK: vector.transfer_write %{{.*}}, %[[STAGE]][%c0, %c0, %c0] {{.*}} vector<4x1x32xf32>
// CHECK: vector.transfer_write %{{.*}}, %[[STAGE]][%c0, %c13, %c0] {{.*}} vector<4x1x32xf32>
// CHECK: vector.transfer_write %{{.*}}, %[[STAGE]][%c0, %c0, %c28] {{.*}} vector<4x14x4xf32>
// CHECK: scf.for %[[KI:[a-z0-9]+]] =
// CHECK: scf.for %[[KJ:[a-z0-9]+]] =
// CHECK: %[[COLUMN:.*]] = affine.apply #[[LEAD]](%[[KJ]])
// CHECK: vector.transfer_read %[[STAGE]][%c0, %[[KI]], %[[COLUMN]]], {{.*}} vector<4x12x12xf32>
// GPU: #[[MOVED:.*]] = affine_map<(d0) -> (d0 - 1)>
// GPU: mlopt.fusion = []
// GPU-LABEL: func.func private @kernel_0_scale_pad_depthwise(
// GPU-SAME: %[[X:.*]]: tensor<32x12x12xf32>, %[[S:.*]]: tensor<32xf32>, %[[K:.*]]: tensor<32x3x3xf32>
// GPU-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<{{.*}}x12x12xf32>
// GPU-DAG: %[[END:.*]] = arith.constant dense<12> : vector<12xindex>
// GPU-NOT: memref.alloca
// GPU: scf.forall (%[[C:[a-z0-9]+]]
// GPU: scf.for %[[KI:[a-z0-9]+]] =
// GPU: scf.for %[[KJ:[a-z0-9]+]] =
// GPU: %[[I:.*]] = affine.apply #[[MOVED]](%[[KI]])
// GPU: %[[J:.*]] = affine.apply #[[MOVED]](%[[KJ]])
// GPU: vector.transfer_read %[[X]][%[[C]], %[[I]], %[[J]]], %{{.*}} {in_bounds = [true, false, false]}
// GPU: %[[MADE:.*]] = arith.mulf
// GPU: arith.cmpi ult, %{{.*}}, %[[END]]
// GPU: %[[INSIDE:.*]] = arith.andi
// GPU: arith.select %[[INSIDE]], %[[MADE]], %[[ZERO]]
func.func @main(%x: tensor<32x12x12xf32>, %s: tensor<32xf32>, %k: tensor<32x3x3xf32>) -> tensor<32x12x12xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x12x12xf32>
  %t = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %s : tensor<32x12x12xf32>, tensor<32xf32>) outs(%e : tensor<32x12x12xf32>) attrs = {mlopt.op = "scale"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<32x12x12xf32>
  %ep = tensor.empty() : tensor<32x14x14xf32>
  %f = linalg.fill ins(%zero : f32) outs(%ep : tensor<32x14x14xf32>) -> tensor<32x14x14xf32>
  %p = tensor.insert_slice %t into %f[0, 1, 1] [32, 12, 12] [1, 1, 1] {mlopt.op = "pad"} : tensor<32x12x12xf32> into tensor<32x14x14xf32>
  %ey = tensor.empty() : tensor<32x12x12xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<32x12x12xf32>) -> tensor<32x12x12xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %k : tensor<32x14x14xf32>, tensor<32x3x3xf32>) outs(%fy : tensor<32x12x12xf32>) attrs = {mlopt.op = "depthwise"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<32x12x12xf32>
  return %y : tensor<32x12x12xf32>
}

// -----

// Every other element of an odd row: in scratch all of them, and one that nobody keeps; a block computes what it keeps.
#x = affine_map<(c, i, j, ki, kj) -> (c, i * 2 + ki, j * 2 + kj)>
#k = affine_map<(c, i, j, ki, kj) -> (ki, kj)>
#y = affine_map<(c, i, j, ki, kj) -> (c, i, j)>
#id = affine_map<(c, i, j) -> (c, i, j)>
// CHECK: mlopt.fusion = []
// CHECK-LABEL: func.func private @kernel_0_relu_max_pool(
// CHECK: scf.forall (%[[C:.*]], %[[H:.*]]) =
// CHECK: %[[STAGE:.*]] = memref.alloca() {alignment = 64 : i64} : memref<[[ROWS:.*]]x3x80xf32>
// CHECK: vector.transfer_read %arg0[%[[C]], %{{.*}}, %c0], %{{.*}} {in_bounds = [true, true, true]} {{.*}}, vector<[[ROWS]]x3x65xf32>
// CHECK: arith.maximumf
// CHECK: vector.transfer_write %{{.*}}, %[[STAGE]][%c0, %c0, %c0]
// CHECK: scf.for %[[KI:[a-z0-9]+]] =
// CHECK: scf.for %[[KJ:[a-z0-9]+]] =
// CHECK: %[[ROW:.*]] = vector.transfer_read %[[STAGE]][%c0, %[[KI]], %[[KJ]]], {{.*}} {in_bounds = [true, true, true]} {{.*}}, vector<[[ROWS]]x1x64xf32>
// CHECK: vector.deinterleave %[[ROW]] : vector<[[ROWS]]x1x64xf32> -> vector<[[ROWS]]x1x32xf32>
// GPU: mlopt.fusion = []
// GPU-LABEL: func.func private @kernel_0_relu_max_pool(
// GPU-NOT: memref.alloca
// GPU: scf.for %[[KI:[a-z0-9]+]] =
// GPU: scf.for %[[KJ:[a-z0-9]+]] =
// GPU: %[[ROW:.*]] = vector.transfer_read %arg0[{{.*}}, %[[KJ]]], {{.*}} {in_bounds = [true, true, false]}
// GPU: %[[EVEN:.*]], %{{.*}} = vector.deinterleave %[[ROW]] : vector<{{.*}}x1x64xf32> -> vector<{{.*}}x1x32xf32>
// GPU: arith.maximumf %[[EVEN]],
func.func @every_other(%x: tensor<64x65x65xf32>) -> tensor<64x32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<64x65x65xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<64x65x65xf32>) outs(%e : tensor<64x65x65xf32>) attrs = {mlopt.op = "relu"} {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<64x65x65xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %ey = tensor.empty() : tensor<64x32x32xf32>
  %fy = linalg.fill ins(%least : f32) outs(%ey : tensor<64x32x32xf32>) -> tensor<64x32x32xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%t, %window : tensor<64x65x65xf32>, tensor<3x3xf32>) outs(%fy : tensor<64x32x32xf32>) attrs = {mlopt.op = "max_pool"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<64x32x32xf32>
  return %y : tensor<64x32x32xf32>
}

// -----

// Nine exponentials of each element cost a GPU more than it saves; a CPU's tasks compute one.
#x = affine_map<(i, j, k) -> (i, j + k)>
#k = affine_map<(i, j, k) -> (k)>
#y = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
// CHECK: mlopt.fusion = []
// PRICE: bytes = 67174400 : i64, from = 0 : i64, ops = "exp -> conv", reason = "what would be computed again costs more than is saved: exp, 8.96 times", seconds = -{{.*}} : f64, to = 1 : i64, where = [{{.*}}]}]
// GPU: mlopt.fusion = ["exp -> conv: what would be computed again costs more than is saved: exp, 8.96 times"]
func.func @dear(%x: tensor<4096x2050xf32>, %w: tensor<9xf32>) -> tensor<4096x2042xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x2050xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4096x2050xf32>) outs(%e : tensor<4096x2050xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%a: f32, %o: f32):
    %n = math.exp %a : f32
    linalg.yield %n : f32
  } -> tensor<4096x2050xf32>
  %ey = tensor.empty() : tensor<4096x2042xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<4096x2042xf32>) -> tensor<4096x2042xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<4096x2050xf32>, tensor<9xf32>) outs(%fy : tensor<4096x2042xf32>) attrs = {mlopt.op = "conv"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<4096x2042xf32>
  return %y : tensor<4096x2042xf32>
}

// -----

// Part of an input is read in order: a task's scratch has what its window reads of it.
#x = affine_map<(i, j, k) -> (i, j + k)>
#k = affine_map<(i, j, k) -> (k)>
#y = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: func.func private @kernel_0_part_conv(
// CHECK-SAME: %[[X:.*]]: tensor<70x80xf32>, %[[K:.*]]: tensor<3xf32>
// CHECK: %[[STAGE:.*]] = memref.alloca()
// CHECK: vector.transfer_read %[[X]]{{.*}}, vector<32x66xf32>
// CHECK: vector.transfer_write %{{.*}}, %[[STAGE]]
// CHECK: scf.for %
// CHECK: vector.transfer_read %[[STAGE]]
// GPU-LABEL: func.func private @kernel_0_part_conv(
// GPU: vector.transfer_read %{{.*}}: tensor<70x80xf32>
func.func @part(%x: tensor<70x80xf32>, %w: tensor<3xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x66xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + 2, j + 5)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<70x80xf32>) outs(%e : tensor<64x66xf32>) attrs = {mlopt.op = "part"} {
  ^bb0(%a: f32, %o: f32):
    %m = math.exp %a : f32
    linalg.yield %m : f32
  } -> tensor<64x66xf32>
  %ey = tensor.empty() : tensor<64x64xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<64x66xf32>, tensor<3xf32>) outs(%fy : tensor<64x64xf32>) attrs = {mlopt.op = "conv"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
