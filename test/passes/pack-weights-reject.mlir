// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-pack-weights)' --split-input-file | FileCheck %s --implicit-check-not='"pack"'

// What is no weight changes with each call.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-NOT: mlopt.rewrites
// CHECK-LABEL: func.func @not_a_weight
// CHECK: mlopt.op = "matmul"
func.func @not_a_weight(%x: tensor<16x32xf32>, %w: tensor<32x128xf32>) -> tensor<16x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x128xf32>) -> tensor<16x128xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x32xf32>, tensor<32x128xf32>) outs(%f : tensor<16x128xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x128xf32>
  return %q : tensor<16x128xf32>
}

// -----

// One strip has its rows as near to each other as they can be.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: mlopt.rewrites = {"mlopt-pack-weights" = [{bytes = 0 : i64, {{.*}}kept = 8192 : i64, ops = "weights of matmul", reason = "64 columns are one strip as they lie"
// CHECK-LABEL: func.func @one_strip
// CHECK: mlopt.op = "matmul"
func.func @one_strip(%x: tensor<16x32xf32>, %w: tensor<32x64xf32> {mlopt.weight}) -> tensor<16x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x64xf32>) -> tensor<16x64xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x32xf32>, tensor<32x64xf32>) outs(%f : tensor<16x64xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x64xf32>
  return %q : tensor<16x64xf32>
}

// -----

// No whole number of strips.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: mlopt.rewrites = {"mlopt-pack-weights" = [{bytes = 0 : i64, {{.*}}kept = 20480 : i64, ops = "weights of matmul", reason = "160 columns are no multiple of 64"
// CHECK-LABEL: func.func @ragged
// CHECK: mlopt.op = "matmul"
func.func @ragged(%x: tensor<16x32xf32>, %w: tensor<32x160xf32> {mlopt.weight}) -> tensor<16x160xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x160xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x160xf32>) -> tensor<16x160xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x32xf32>, tensor<32x160xf32>) outs(%f : tensor<16x160xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x160xf32>
  return %q : tensor<16x160xf32>
}

// -----

// The result is written into a part of a buffer by its own kernel, which a reshape would keep apart.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: mlopt.rewrites = {"mlopt-pack-weights" = [{bytes = 0 : i64, {{.*}}kept = 16384 : i64, ops = "weights of matmul", reason = "what follows in its kernel cannot run on strips"
// CHECK-LABEL: func.func @part
// CHECK: mlopt.op = "matmul"
func.func @part(%x: tensor<16x32xf32>, %w: tensor<32x128xf32> {mlopt.weight}, %to: tensor<16x256xf32>) -> tensor<16x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x128xf32>) -> tensor<16x128xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x32xf32>, tensor<32x128xf32>) outs(%f : tensor<16x128xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x128xf32>
  %r = tensor.insert_slice %q into %to[0, 64] [16, 128] [1, 1] : tensor<16x128xf32> into tensor<16x256xf32>
  return %r : tensor<16x256xf32>
}

// -----

// An op that asks for the number of its column cannot run on strips.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: mlopt.rewrites = {"mlopt-pack-weights" = [{bytes = 0 : i64, {{.*}}kept = 16384 : i64, ops = "weights of matmul", reason = "what follows in its kernel cannot run on strips"
// CHECK-LABEL: func.func @index
// CHECK: mlopt.op = "matmul"
func.func @index(%x: tensor<16x32xf32>, %w: tensor<32x128xf32> {mlopt.weight}) -> tensor<16x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x128xf32>) -> tensor<16x128xf32>
  %q = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x32xf32>, tensor<32x128xf32>) outs(%f : tensor<16x128xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %r: f32, %out: f32):
    %s = arith.mulf %p, %r : f32
    %t = arith.addf %out, %s : f32
    linalg.yield %t : f32
  } -> tensor<16x128xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<16x128xf32>) outs(%e : tensor<16x128xf32>) attrs = {mlopt.op = "where"} {
  ^bb0(%p: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %s = arith.addf %p, %k : f32
    linalg.yield %s : f32
  } -> tensor<16x128xf32>
  return %g : tensor<16x128xf32>
}
