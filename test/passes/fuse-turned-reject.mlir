// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' --split-input-file | FileCheck %s --check-prefix=GPU

// Few products, and rows that lie on the same lines of a CPU's cache, which is no matter on a GPU.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: mlopt.fusion = ["matmul -> exp: rows 4096 bytes apart would be stored to few lines of a cache"]
// GPU: mlopt.fusion = []
// GPU-LABEL: @crowded
// GPU: mlopt.group = 0 : i64, mlopt.op = "matmul"
// GPU: mlopt.group = 0 : i64, mlopt.op = "exp"
// CHECK-LABEL: @crowded
func.func @crowded(%x: tensor<1024x64xf32>, %w: tensor<64x96xf32>) -> tensor<96x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x96xf32>
  %o = tensor.empty() : tensor<96x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x96xf32>) -> tensor<1024x96xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1024x64xf32>, tensor<64x96xf32>) outs(%f : tensor<1024x96xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1024x96xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<1024x96xf32>) outs(%o : tensor<96x1024xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<96x1024xf32>
  return %r : tensor<96x1024xf32>
}

// -----

// What reductions leave of rows is stored as they are.
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK: mlopt.fusion = ["div -> exp: what is made in the kernel is read there transposed: its dims are loops 1, 0 of the reader"]
// GPU: mlopt.fusion = ["div -> exp: what is made in the kernel is read there transposed
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<100x60xf32>) -> tensor<60x100xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100xf32>
  %h = tensor.empty() : tensor<100x60xf32>
  %o = tensor.empty() : tensor<60x100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<100xf32>) -> tensor<100xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<100x60xf32>) outs(%f : tensor<100xf32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%p: f32, %out: f32):
    %0 = arith.addf %p, %out : f32
    linalg.yield %0 : f32
  } -> tensor<100xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<100x60xf32>, tensor<100xf32>) outs(%h : tensor<100x60xf32>) attrs = {mlopt.op = "div"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.divf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<100x60xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%d : tensor<100x60xf32>) outs(%o : tensor<60x100xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<60x100xf32>
  return %r : tensor<60x100xf32>
}

// -----

// Windows' maxima are stored as they are.
#x = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>
#k = affine_map<(d0, d1, d2) -> (d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: mlopt.fusion = ["pool -> exp: the rows of a window would be stored one element at a time"]
// GPU: mlopt.fusion = ["pool -> exp: the rows of a window would be stored one element at a time"]
// CHECK-LABEL: @window
func.func @window(%x: tensor<30x52xf32>) -> tensor<50x30xf32> {
  %least = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3xf32>
  %e = tensor.empty() : tensor<30x50xf32>
  %o = tensor.empty() : tensor<50x30xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<30x50xf32>) -> tensor<30x50xf32>
  %m = linalg.generic {indexing_maps = [#x, #k, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %window : tensor<30x52xf32>, tensor<3xf32>) outs(%f : tensor<30x50xf32>) attrs = {mlopt.op = "pool"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.maximumf %p, %out : f32
    linalg.yield %0 : f32
  } -> tensor<30x50xf32>
  %r = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<30x50xf32>) outs(%o : tensor<50x30xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%p: f32, %out: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<50x30xf32>
  return %r : tensor<50x30xf32>
}
