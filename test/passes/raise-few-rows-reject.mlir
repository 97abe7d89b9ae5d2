// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise{machine=h100},canonicalize,cse)' | FileCheck %s
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise{machine=h1000})' 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: there is no description of a machine 'h1000'; did you mean h100?

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// 64 rows are enough for the 132 multiprocessors.
// CHECK-LABEL: func.func @many
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @many(%x: tensor<64x1048576xf32>) -> tensor<64x1048576xf32> {
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<64xf32>
  %e = tensor.empty() : tensor<64x1048576xf32>
  %none = linalg.fill ins(%zero : f32) outs(%s : tensor<64xf32>) -> tensor<64xf32>
  %t = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x1048576xf32>) outs(%none : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %q = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : tensor<64x1048576xf32>, tensor<64xf32>) outs(%e : tensor<64x1048576xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.divf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x1048576xf32>
  return %q : tensor<64x1048576xf32>
}

// Of each row one element is read in the end: a task that owns the row makes no others.
// CHECK-LABEL: func.func @gathered
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @gathered(%x: tensor<4x1048576xf32>, %places: tensor<4xi64>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x1048576xf32>
  %none = linalg.fill ins(%zero : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x1048576xf32>) outs(%none : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %q = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : tensor<4x1048576xf32>, tensor<4xf32>) outs(%e : tensor<4x1048576xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.divf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4x1048576xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%places : tensor<4xi64>) outs(%s : tensor<4xf32>) {
  ^bb0(%place: i64, %out: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %place : i64 to index
    %0 = tensor.extract %q[%i, %j] : tensor<4x1048576xf32>
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Four rows of 4,096 numbers are done before parts of them could be put together.
// CHECK-LABEL: func.func @short
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @short(%x: tensor<4x4096xf32>) -> tensor<4x4096xf32> {
  %start = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x4096xf32>
  %none = linalg.fill ins(%start : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x4096xf32>) outs(%none : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %q = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : tensor<4x4096xf32>, tensor<4xf32>) outs(%e : tensor<4x4096xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.divf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4x4096xf32>
  return %q : tensor<4x4096xf32>
}

// A difference has an order: parts of a row would be another number.
// CHECK-LABEL: func.func @ordered
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @ordered(%x: tensor<4x1048576xf32>) -> tensor<4x1048576xf32> {
  %start = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x1048576xf32>
  %none = linalg.fill ins(%start : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x1048576xf32>) outs(%none : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.subf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %q = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : tensor<4x1048576xf32>, tensor<4xf32>) outs(%e : tensor<4x1048576xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.divf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4x1048576xf32>
  return %q : tensor<4x1048576xf32>
}

// Each part would start from one as well.
// CHECK-LABEL: func.func @started
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @started(%x: tensor<4x1048576xf32>) -> tensor<4x1048576xf32> {
  %start = arith.constant 1.0 : f32
  %s = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x1048576xf32>
  %none = linalg.fill ins(%start : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x1048576xf32>) outs(%none : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %q = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : tensor<4x1048576xf32>, tensor<4xf32>) outs(%e : tensor<4x1048576xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.divf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4x1048576xf32>
  return %q : tensor<4x1048576xf32>
}
