// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise{machine=h100},canonicalize,cse)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise{machine=cpu},canonicalize,cse)' | FileCheck %s --check-prefix=CPU

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Four rows would keep four multiprocessors busy: parts of rows are reduced, each around its own maximum, though the rows
// are read again.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} output_shape [4, 256, 4096]
// CHECK: %[[MP:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[X]] : tensor<4x256x4096xf32>) {{.*}} attrs = {mlopt.op = "amax"}
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[MP]] : tensor<4x256xf32>) {{.*}} attrs = {mlopt.op = "amax"}
// CHECK: %[[SP:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} {{.*}} attrs = {mlopt.op = "sum"}
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[SP]], %{{.*}} : tensor<4x256xf32>, tensor<4x256xf32>)
// CHECK: math.exp
// CPU-LABEL: func.func @softmax
// CPU-NOT: tensor.expand_shape
// CPU: return
func.func @softmax(%x: tensor<4x1048576xf32>) -> tensor<4x1048576xf32> {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x1048576xf32>
  %low = linalg.fill ins(%ninf : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x1048576xf32>) outs(%low : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %d = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<4x1048576xf32>, tensor<4xf32>) outs(%e : tensor<4x1048576xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.subf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4x1048576xf32>
  %p = linalg.exp ins(%d : tensor<4x1048576xf32>) outs(%e : tensor<4x1048576xf32>) -> tensor<4x1048576xf32>
  %none = linalg.fill ins(%zero : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<4x1048576xf32>) outs(%none : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %q = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%p, %t : tensor<4x1048576xf32>, tensor<4xf32>) outs(%e : tensor<4x1048576xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.divf %in, %b : f32
    linalg.yield %0 : f32
  } -> tensor<4x1048576xf32>
  return %q : tensor<4x1048576xf32>
}
