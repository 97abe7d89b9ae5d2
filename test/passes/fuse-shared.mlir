// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// Two kernels that cannot be one read a cast: each casts itself, and half the bytes are read.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK: mlopt.decisions = [
// CHECK-SAME: ops = "cast -> rows (again in each reader)", reason = ""
// CHECK-SAME: ops = "cast -> columns (again in each reader)", reason = ""
// CHECK-LABEL: @copied
// CHECK-COUNT-2: mlopt.op = "cast"
// CHECK-NOT: mlopt.op = "cast"
func.func @copied(%x: tensor<512x768xf16>) -> (tensor<512xf32>, tensor<768xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x768xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x768xf16>) outs(%0 : tensor<512x768xf32>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: f16, %out: f32):
    %a = arith.extf %in : f16 to f32
    linalg.yield %a : f32
  } -> tensor<512x768xf32>
  %1 = tensor.empty() : tensor<512xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<512x768xf32>) outs(%2 : tensor<512xf32>) attrs = {mlopt.op = "rows"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<512xf32>
  %3 = tensor.empty() : tensor<768xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<768xf32>) -> tensor<768xf32>
  %s = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%c : tensor<512x768xf32>) outs(%4 : tensor<768xf32>) attrs = {mlopt.op = "columns"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<768xf32>
  return %r, %s : tensor<512xf32>, tensor<768xf32>
}

// -----

// Readers that can be one kernel: nothing is computed twice, and what is a result is stored once.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: mlopt.fusion = []
// CHECK-LABEL: @together
// CHECK: mlopt.group = 0 : i64, mlopt.op = "double"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "more"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "square"
// CHECK-NOT: mlopt.group
func.func @together(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>) {
  %0 = tensor.empty() : tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%0 : tensor<64x128xf32>) attrs = {mlopt.op = "double"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %in : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  %m = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%d, %x : tensor<64x128xf32>, tensor<64x128xf32>) outs(%0 : tensor<64x128xf32>) attrs = {mlopt.op = "more"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %a = arith.addf %p, %q : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%d : tensor<64x128xf32>) outs(%0 : tensor<64x128xf32>) attrs = {mlopt.op = "square"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %in : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  return %d, %m, %s : tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>
}
