// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-weights-in-place{tf32=true})' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-weights-in-place)' --split-input-file | FileCheck %s --check-prefix=EXACT

// Factors of f32 that are rounded to TF32: both along the depth. Exact ones are no matter of tensor cores.
#turned = affine_map<(k, n) -> (n, k)>
#id = affine_map<(k, n) -> (k, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK: #[[W:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: @tf32
// CHECK-NOT: transpose
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[W]], #{{.*}}], {{.*}} ins(%arg0, %arg1 : tensor<64x96xf32>, tensor<80x96xf32>)
// EXACT-LABEL: @tf32
// EXACT: mlopt.op = "transpose"
func.func @tf32(%x: tensor<64x96xf32>, %w: tensor<80x96xf32> {mlopt.weight}) -> tensor<64x80xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96x80xf32>
  %t = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<80x96xf32>) outs(%e : tensor<96x80xf32>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<96x80xf32>
  %0 = tensor.empty() : tensor<64x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<64x96xf32>, tensor<96x80xf32>) outs(%f : tensor<64x80xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %1 = arith.mulf %p, %q : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64x80xf32>
  return %r : tensor<64x80xf32>
}

// -----

// Bytes, whatever f32 is.
#turned = affine_map<(k, n) -> (n, k)>
#id = affine_map<(k, n) -> (k, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// EXACT-LABEL: @bytes
// EXACT-NOT: transpose
// EXACT: ins(%arg0, %arg1 : tensor<64x96xi8>, tensor<80x96xi8>)
func.func @bytes(%x: tensor<64x96xi8>, %w: tensor<80x96xi8> {mlopt.weight}) -> tensor<64x80xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<96x80xi8>
  %t = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<80x96xi8>) outs(%e : tensor<96x80xi8>) attrs = {mlopt.op = "transpose"} {
  ^bb0(%in: i8, %out: i8):
    linalg.yield %in : i8
  } -> tensor<96x80xi8>
  %0 = tensor.empty() : tensor<64x80xi32>
  %f = linalg.fill ins(%zero : i32) outs(%0 : tensor<64x80xi32>) -> tensor<64x80xi32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<64x96xi8>, tensor<96x80xi8>) outs(%f : tensor<64x80xi32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: i8, %q: i8, %s: i32):
    %1 = arith.extsi %p : i8 to i32
    %2 = arith.extsi %q : i8 to i32
    %3 = arith.muli %1, %2 : i32
    %4 = arith.addi %s, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<64x80xi32>
  return %r : tensor<64x80xi32>
}
