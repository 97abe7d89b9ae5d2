// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse,mlopt-outline,mlopt-schedule)' --split-input-file | FileCheck %s --check-prefix=CPU
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse,mlopt-outline,mlopt-schedule{target=cuda})' --split-input-file | FileCheck %s --check-prefix=CUDA

// The rows of a bag of embeddings are added up as they are read, one after the other.
#at = affine_map<(b, t, c) -> (b, t)>
#id = affine_map<(b, t, c) -> (b, t, c)>
#bags = affine_map<(b, t, c) -> (b, c)>
// CHECK: mlopt.fusion = []
// CHECK: mlopt.group = 0 : i64, mlopt.op = "gather"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "sum"
// CPU: mlopt.schedule = {tile = array<i64: {{[0-9]+}}, 0, 1>}
// CUDA: tile = array<i64: 1, 0, 1>
func.func @bag(%table: tensor<1000x128xf32>, %i: tensor<4096x64xi64>) -> tensor<4096x128xf32> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x64x128xf32>
  %g = linalg.generic {indexing_maps = [#at, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%i : tensor<4096x64xi64>) outs(%e : tensor<4096x64x128xf32>) attrs = {mlopt.op = "gather"} {
  ^bb0(%at: i64, %o: f32):
    %rows = arith.constant 1000 : i64
    %zero = arith.constant 0 : i64
    %ok = arith.cmpi ult, %at, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %at, %zero : i64
    %row = arith.index_cast %safe : i64 to index
    %column = linalg.index 2 : index
    %v = tensor.extract %table[%row, %column] : tensor<1000x128xf32>
    linalg.yield %v : f32
  } -> tensor<4096x64x128xf32>
  %0 = tensor.empty() : tensor<4096x128xf32>
  %1 = linalg.fill ins(%f : f32) outs(%0 : tensor<4096x128xf32>) -> tensor<4096x128xf32>
  %r = linalg.generic {indexing_maps = [#id, #bags], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%g : tensor<4096x64x128xf32>) outs(%1 : tensor<4096x128xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4096x128xf32>
  return %r : tensor<4096x128xf32>
}
