// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse,mlopt-outline,mlopt-schedule{tasks=4},mlopt-tile,mlopt-verify)' --split-input-file | FileCheck %s

// Halves of a buffer are written side by side: each task writes its tile of both, which read the same rows.
#id = affine_map<(d0, d1) -> (d0, d1)>
#low = affine_map<(d0, d1) -> (d0, d1 mod 24)>
#high = affine_map<(d0, d1) -> (d0, d1 + 12)>
// CHECK: mlopt.fusion = []
// CHECK-LABEL: func.func private @kernel_0_neg_slice_concat(
// CHECK-SAME: %[[X:.*]]: tensor<5000x24xf32>, %[[OUT:.*]]: tensor<5000x24xf32>)
// CHECK: scf.forall (%[[I:.*]]) = (0) to (5000) step ({{.*}}) shared_outs(%[[O:.*]] = %[[OUT]])
// CHECK: %[[B:.*]] = vector.transfer_read %[[X]][%[[I]], %c12]
// CHECK: %[[N:.*]] = arith.negf %[[B]]
// CHECK: %[[O1:.*]] = vector.transfer_write %[[N]], %[[O]][%[[I]], %c0{{.*}}]
// CHECK: %[[A:.*]] = vector.transfer_read %[[X]][%[[I]], %c0{{.*}}]
// CHECK: %[[O2:.*]] = vector.transfer_write %[[A]], %[[O1]][%[[I]], %c12]
// CHECK: tensor.parallel_insert_slice %[[O2]]
// CHECK-NOT: func.func private
func.func @main(%x: tensor<5000x24xf32>) -> tensor<5000x24xf32> {
  %e = tensor.empty() : tensor<5000x12xf32>
  %n = linalg.generic {indexing_maps = [#high, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<5000x24xf32>) outs(%e : tensor<5000x12xf32>) attrs = {mlopt.op = "neg"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<5000x12xf32>
  %s = linalg.generic {indexing_maps = [#low, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<5000x24xf32>) outs(%e : tensor<5000x12xf32>) attrs = {mlopt.op = "slice"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<5000x12xf32>
  %o = tensor.empty() : tensor<5000x24xf32>
  %1 = tensor.insert_slice %n into %o[0, 0] [5000, 12] [1, 1] {mlopt.op = "concat"} : tensor<5000x12xf32> into tensor<5000x24xf32>
  %2 = tensor.insert_slice %s into %1[0, 12] [5000, 12] [1, 1] {mlopt.op = "concat"} : tensor<5000x12xf32> into tensor<5000x24xf32>
  return %2 : tensor<5000x24xf32>
}

// -----

// Parts of other lengths: a task writes whole rows of both, and the tasks divide the other dim.
// CHECK: mlopt.fusion = []
// CHECK-LABEL: func.func private @kernel_0_concat(
// CHECK: scf.forall (%[[I:.*]]) = (0) to (5000)
// CHECK: vector.transfer_write {{.*}}vector<{{[0-9]+}}x33xf32>
// CHECK: vector.transfer_write {{.*}}vector<{{[0-9]+}}x7xf32>
// CHECK-NOT: func.func private
func.func @main(%a: tensor<5000x33xf32>, %b: tensor<5000x7xf32>) -> tensor<5000x40xf32> {
  %o = tensor.empty() : tensor<5000x40xf32>
  %1 = tensor.insert_slice %a into %o[0, 0] [5000, 33] [1, 1] {mlopt.op = "concat"} : tensor<5000x33xf32> into tensor<5000x40xf32>
  %2 = tensor.insert_slice %b into %1[0, 33] [5000, 7] [1, 1] {mlopt.op = "concat"} : tensor<5000x7xf32> into tensor<5000x40xf32>
  return %2 : tensor<5000x40xf32>
}

// -----

// Two buffers that begin with the same part: each is written by itself, and none is copied.
// CHECK: mlopt.fusion = []
// CHECK-LABEL: func.func private @kernel_0_concat(
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[A:arg0]]: {{.*}}, %[[B:arg1]]: {{.*}}, %[[C:arg2]]: tensor
// CHECK-DAG: call @kernel_0_concat(%[[A]], %[[B]],
// CHECK-DAG: call @kernel_0_concat(%[[A]], %[[C]],
func.func @main(%a: tensor<5000x8xf32>, %b: tensor<5000x8xf32>, %c: tensor<5000x8xf32>) -> (tensor<5000x16xf32>, tensor<5000x16xf32>) {
  %o = tensor.empty() : tensor<5000x16xf32>
  %1 = tensor.insert_slice %a into %o[0, 0] [5000, 8] [1, 1] {mlopt.op = "concat"} : tensor<5000x8xf32> into tensor<5000x16xf32>
  %2 = tensor.insert_slice %b into %1[0, 8] [5000, 8] [1, 1] {mlopt.op = "concat"} : tensor<5000x8xf32> into tensor<5000x16xf32>
  %3 = tensor.insert_slice %c into %1[0, 8] [5000, 8] [1, 1] {mlopt.op = "concat"} : tensor<5000x8xf32> into tensor<5000x16xf32>
  return %2, %3 : tensor<5000x16xf32>, tensor<5000x16xf32>
}

// -----

// A product's kernel stores a part each of two buffers, as a convolution that is padded for two others.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: mlopt.fusion = ["fill -> pad: fill writes all of the buffer that pad writes a part of, before (2 times)"]
// CHECK-LABEL: func.func private @kernel_2_matmul_pad(
// CHECK: scf.forall
// CHECK: vector.contract
// CHECK-COUNT-2: tensor.parallel_insert_slice
// CHECK-NOT: func.func private
func.func @main(%x: tensor<64x16xf32>, %w: tensor<16x64xf32>) -> (tensor<66x66xf32>, tensor<65x65xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x16xf32>, tensor<16x64xf32>) outs(%f : tensor<64x64xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<64x64xf32>
  %o = tensor.empty() : tensor<66x66xf32>
  %g = linalg.fill {mlopt.op = "fill"} ins(%zero : f32) outs(%o : tensor<66x66xf32>) -> tensor<66x66xf32>
  %1 = tensor.insert_slice %p into %g[1, 1] [64, 64] [1, 1] {mlopt.op = "pad"} : tensor<64x64xf32> into tensor<66x66xf32>
  %q = tensor.empty() : tensor<65x65xf32>
  %h = linalg.fill {mlopt.op = "fill"} ins(%zero : f32) outs(%q : tensor<65x65xf32>) -> tensor<65x65xf32>
  %2 = tensor.insert_slice %p into %h[0, 0] [64, 64] [1, 1] {mlopt.op = "pad"} : tensor<64x64xf32> into tensor<65x65xf32>
  return %1, %2 : tensor<66x66xf32>, tensor<65x65xf32>
}
