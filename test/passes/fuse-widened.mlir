// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// A half float that is made here and read as f32 by two other kernels: it is stored as it was rounded, and each
// of them casts it, though the kernel that makes it could, too.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: mlopt.decisions = [
// CHECK-SAME: ops = "cast -> rows (again in each reader)", reason = ""
// CHECK-SAME: ops = "cast -> columns (again in each reader)", reason = ""
// CHECK-LABEL: @stored_narrow
// CHECK: mlopt.group = 0 : i64, mlopt.op = "matmul"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "round"
// CHECK: mlopt.group = 1 : i64, mlopt.op = "cast"
// CHECK: mlopt.group = 2 : i64, mlopt.op = "cast"
// CHECK: mlopt.group = 1 : i64, mlopt.op = "rows"
// CHECK: mlopt.group = 2 : i64, mlopt.op = "columns"
func.func @stored_narrow(%x: tensor<512x64xbf16>, %y: tensor<64x768xbf16>) -> (tensor<512xf32>, tensor<768xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x768xf32>) -> tensor<512x768xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<512x64xbf16>, tensor<64x768xbf16>) outs(%f : tensor<512x768xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%l: bf16, %r: bf16, %out: f32):
    %wl = arith.extf %l : bf16 to f32
    %wr = arith.extf %r : bf16 to f32
    %m = arith.mulf %wl, %wr : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<512x768xf32>
  %n = tensor.empty() : tensor<512x768xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<512x768xf32>) outs(%n : tensor<512x768xbf16>) attrs = {mlopt.op = "round"} {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<512x768xbf16>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<512x768xbf16>) outs(%0 : tensor<512x768xf32>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: bf16, %out: f32):
    %t = arith.extf %in : bf16 to f32
    linalg.yield %t : f32
  } -> tensor<512x768xf32>
  %1 = tensor.empty() : tensor<512xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512xf32>) -> tensor<512xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%w : tensor<512x768xf32>) outs(%2 : tensor<512xf32>) attrs = {mlopt.op = "rows"} {
  ^bb0(%in: f32, %out: f32):
    %t = arith.addf %in, %out : f32
    linalg.yield %t : f32
  } -> tensor<512xf32>
  %3 = tensor.empty() : tensor<768xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<768xf32>) -> tensor<768xf32>
  %columns = linalg.generic {indexing_maps = [#id, #col], iterator_types = ["reduction", "parallel"]}
      ins(%w : tensor<512x768xf32>) outs(%4 : tensor<768xf32>) attrs = {mlopt.op = "columns"} {
  ^bb0(%in: f32, %out: f32):
    %t = arith.addf %in, %out : f32
    linalg.yield %t : f32
  } -> tensor<768xf32>
  return %rows, %columns : tensor<512xf32>, tensor<768xf32>
}

// -----

// A view of what was cast is a cast of the view, and so is a view of that, for those that read it.
#id = affine_map<(d0, d1) -> (d0, d1)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: @views
// CHECK-SAME: %[[X:.*]]: tensor<?x6x?xbf16>, %[[Y:[a-z0-9]*]]: tensor<?x2x3x?xf32>, %[[N:[a-z0-9]*]]: index
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<?x6x?xbf16> into tensor<?x?xbf16>
// CHECK: %[[E:.*]] = tensor.expand_shape %[[C]] {{.*}} : tensor<?x?xbf16> into tensor<?x2x3x?xbf16>
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[E]] : tensor<?x2x3x?xbf16>) outs(%{{.*}} : tensor<?x2x3x?xf32>) {{.*}}mlopt.group = 0 : i64, mlopt.op = "cast"
// CHECK: linalg.generic {{.*}} ins(%[[W]], %[[Y]] : {{.*}}mlopt.group = 0
func.func @views(%x: tensor<?x6x?xbf16>, %y: tensor<?x2x3x?xf32>, %n: index) -> tensor<?x2x3x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x6x?xbf16>
  %d2 = tensor.dim %x, %c2 : tensor<?x6x?xbf16>
  %0 = tensor.empty(%d0, %d2) : tensor<?x6x?xf32>
  %w = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x6x?xbf16>) outs(%0 : tensor<?x6x?xf32>) attrs = {mlopt.op = "cast"} {
  ^bb0(%in: bf16, %out: f32):
    %t = arith.extf %in : bf16 to f32
    linalg.yield %t : f32
  } -> tensor<?x6x?xf32>
  %c = tensor.collapse_shape %w [[0, 1], [2]] : tensor<?x6x?xf32> into tensor<?x?xf32>
  %e = tensor.expand_shape %c [[0, 1, 2], [3]] output_shape [%n, 2, 3, %d2] : tensor<?x?xf32> into tensor<?x2x3x?xf32>
  %1 = tensor.empty(%n, %d2) : tensor<?x2x3x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%e, %y : tensor<?x2x3x?xf32>, tensor<?x2x3x?xf32>) outs(%1 : tensor<?x2x3x?xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<?x2x3x?xf32>
  return %r : tensor<?x2x3x?xf32>
}
