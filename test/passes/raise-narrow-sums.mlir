// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' | FileCheck %s

// x.int() @ y.int(), as PyTorch makes it: bytes are multiplied into i32.
// CHECK-LABEL: @bytes
// CHECK: linalg.fill ins(%{{.*}} : i32) outs(%{{.*}} : tensor<4x6xi32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<4x5xi8>, tensor<5x6xi8>) outs(%{{.*}} : tensor<4x6xi32>)
// CHECK-DAG: arith.extsi %{{.*}} : i8 to i32
// CHECK-DAG: arith.extui %{{.*}} : i8 to i32
// CHECK: %[[P:.*]] = arith.muli
// CHECK: arith.addi %{{.*}}, %[[P]] : i32
// CHECK-NOT: arith.trunci
// CHECK: return
func.func @bytes(%a: tensor<4x5xi8>, %b: tensor<5x6xi8>) -> tensor<4x6xi32> {
  %zero = arith.constant 0 : i64
  %ea = tensor.empty() : tensor<4x5xi32>
  %eb = tensor.empty() : tensor<5x6xi32>
  %wa = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x5xi8>) outs(%ea : tensor<4x5xi32>) {
  ^bb0(%x: i8, %o: i32):
    %w = arith.extsi %x : i8 to i32
    linalg.yield %w : i32
  } -> tensor<4x5xi32>
  %wb = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<5x6xi8>) outs(%eb : tensor<5x6xi32>) {
  ^bb0(%x: i8, %o: i32):
    %w = arith.extui %x : i8 to i32
    linalg.yield %w : i32
  } -> tensor<5x6xi32>
  %e = tensor.empty() : tensor<4x6xi64>
  %f = linalg.fill ins(%zero : i64) outs(%e : tensor<4x6xi64>) -> tensor<4x6xi64>
  %m = linalg.matmul ins(%wa, %wb : tensor<4x5xi32>, tensor<5x6xi32>) outs(%f : tensor<4x6xi64>) -> tensor<4x6xi64>
  %en = tensor.empty() : tensor<4x6xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4x6xi64>) outs(%en : tensor<4x6xi32>) {
  ^bb0(%x: i64, %o: i32):
    %t = arith.trunci %x : i64 to i32
    linalg.yield %t : i32
  } -> tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}
