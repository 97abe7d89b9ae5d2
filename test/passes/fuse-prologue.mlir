// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse{machine=a100})' --split-input-file | FileCheck %s --check-prefix=GPU

// A factor that few columns share is scaled where it is read.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: mlopt.decisions = [{bytes = 262144 : i64, from = 0 : i64, ops = "scale -> matmul", reason = "", {{.*}}to = 0 : i64, where = [{{.*}}]}]
// CHECK-LABEL: @few
// CHECK: mlopt.group = 0 : i64, mlopt.op = "scale"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "matmul"
func.func @few(%x: tensor<128x256xf32>, %w: tensor<256x8xf32>) -> tensor<128x8xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %0 = tensor.empty() : tensor<128x256xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x256xf32>) outs(%0 : tensor<128x256xf32>) attrs = {mlopt.op = "scale"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %half : f32
    linalg.yield %a : f32
  } -> tensor<128x256xf32>
  %1 = tensor.empty() : tensor<128x8xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<128x8xf32>) -> tensor<128x8xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<128x256xf32>, tensor<256x8xf32>) outs(%2 : tensor<128x8xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %out, %t : f32
    linalg.yield %u : f32
  } -> tensor<128x8xf32>
  return %m : tensor<128x8xf32>
}

// -----

// With many columns it would be scaled too often on a CPU; a GPU's launch costs more than that.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: mlopt.fusion = ["scale -> matmul: what would be computed again costs more than is saved: scale, 256 times"]
// CHECK-LABEL: @many
// GPU: mlopt.fusion = []
// GPU: mlopt.fusion = []
// GPU-LABEL: @many
func.func @many(%x: tensor<64x64xf32>, %w: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %0 = tensor.empty() : tensor<64x64xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) attrs = {mlopt.op = "scale"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %half : f32
    linalg.yield %a : f32
  } -> tensor<64x64xf32>
  %1 = tensor.empty() : tensor<64x512xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<64x64xf32>, tensor<64x512xf32>) outs(%2 : tensor<64x512xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %out, %t : f32
    linalg.yield %u : f32
  } -> tensor<64x512xf32>
  return %m : tensor<64x512xf32>
}

// -----

// A GPU's block computes an element of a factor once, and its threads share it: four blocks do so beside each
// other. A CPU's strips of columns would do so again and again.
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: mlopt.fusion = ["exp -> matmul: what would be computed again costs more than is saved: exp, 64 times"]
// CHECK-LABEL: @shared
// GPU: mlopt.fusion = []
// GPU-LABEL: @shared
func.func @shared(%x: tensor<256x256xf32>, %w: tensor<256x128xf32>) -> tensor<256x128xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<256x256xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x256xf32>) outs(%0 : tensor<256x256xf32>) attrs = {mlopt.op = "exp"} {
  ^bb0(%in: f32, %out: f32):
    %e = math.exp %in : f32
    linalg.yield %e : f32
  } -> tensor<256x256xf32>
  %1 = tensor.empty() : tensor<256x128xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<256x128xf32>) -> tensor<256x128xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<256x256xf32>, tensor<256x128xf32>) outs(%2 : tensor<256x128xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %out, %t : f32
    linalg.yield %u : f32
  } -> tensor<256x128xf32>
  return %m : tensor<256x128xf32>
}

// -----

// Rows of heads, 256 bytes each, are read as they lie: the order of the rows is no matter.
#heads = affine_map<(h, m, d) -> (m, h, d)>
#id = affine_map<(h, m, d) -> (h, m, d)>
#a = affine_map<(h, m, n, d) -> (h, m, d)>
#b = affine_map<(h, m, n, d) -> (h, n, d)>
#c = affine_map<(h, m, n, d) -> (h, m, n)>
// CHECK: mlopt.fusion = []
// CHECK-LABEL: @heads
// CHECK: mlopt.group = 0 : i64, mlopt.op = "scale"
// CHECK: mlopt.group = 0 : i64, mlopt.op = "matmul"
// GPU: mlopt.fusion = []
// GPU-LABEL: @heads
func.func @heads(%x: tensor<32x4x64xf32>, %y: tensor<4x8x64xf32>) -> tensor<4x32x8xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %0 = tensor.empty() : tensor<4x32x64xf32>
  %s = linalg.generic {indexing_maps = [#heads, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<32x4x64xf32>) outs(%0 : tensor<4x32x64xf32>) attrs = {mlopt.op = "scale"} {
  ^bb0(%in: f32, %out: f32):
    %t = arith.mulf %in, %half : f32
    linalg.yield %t : f32
  } -> tensor<4x32x64xf32>
  %1 = tensor.empty() : tensor<4x32x8xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<4x32x8xf32>) -> tensor<4x32x8xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %y : tensor<4x32x64xf32>, tensor<4x8x64xf32>) outs(%2 : tensor<4x32x8xf32>) attrs = {mlopt.op = "matmul"} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %out, %t : f32
    linalg.yield %u : f32
  } -> tensor<4x32x8xf32>
  return %m : tensor<4x32x8xf32>
}
