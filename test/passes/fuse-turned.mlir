// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' --split-input-file | FileCheck %s

// A product that is stored the other way round by what comes after it.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: @turned
// CHECK: mlopt.group = 0 : i64, mlopt.op = "matmul"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "exp"
func.func @turned(%x: tensor<250x64xf32>, %w: tensor<64x1000xf32>) -> tensor<1000x250xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<250x1000xf32>
  %o = tensor.empty() : tensor<1000x250xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<250x1000xf32>) -> tensor<250x1000xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<250x64xf32>, tensor<64x1000xf32>) outs(%f : tensor<250x1000xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<250x1000xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<250x1000xf32>) outs(%o : tensor<1000x250xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<1000x250xf32>
  return %r : tensor<1000x250xf32>
}

// -----

// It is stored both ways.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: @both
// CHECK: mlopt.group = 0 : i64, mlopt.op = "matmul"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "exp"
func.func @both(%x: tensor<250x64xf32>, %w: tensor<64x1000xf32>) -> (tensor<1000x250xf32>, tensor<250x1000xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<250x1000xf32>
  %o = tensor.empty() : tensor<1000x250xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<250x1000xf32>) -> tensor<250x1000xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<250x64xf32>, tensor<64x1000xf32>) outs(%f : tensor<250x1000xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<250x1000xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<250x1000xf32>) outs(%o : tensor<1000x250xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<1000x250xf32>
  return %r, %m : tensor<1000x250xf32>, tensor<250x1000xf32>
}

// -----

// Many products of each element hide where it is stored.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: @hidden
// CHECK: mlopt.group = 0 : i64, mlopt.op = "matmul"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "exp"
func.func @hidden(%x: tensor<1024x256xf32>, %w: tensor<256x64xf32>) -> tensor<64x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x64xf32>
  %o = tensor.empty() : tensor<64x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1024x256xf32>, tensor<256x64xf32>) outs(%f : tensor<1024x64xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1024x64xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<1024x64xf32>) outs(%o : tensor<64x1024xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<64x1024xf32>
  return %r : tensor<64x1024xf32>
}
