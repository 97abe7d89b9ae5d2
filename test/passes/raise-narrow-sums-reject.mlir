// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-raise,canonicalize,cse)' | FileCheck %s

// Somebody reads all of the sum.
// CHECK-LABEL: @read_twice
// CHECK: arith.addi %{{.*}}, %{{.*}} : i64
// CHECK: arith.trunci
func.func @read_twice(%a: tensor<4x5xi8>, %b: tensor<5x6xi8>) -> (tensor<4x6xi32>, tensor<4x6xi64>) {
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
  return %r, %m : tensor<4x6xi32>, tensor<4x6xi64>
}

// It starts from something else.
// CHECK-LABEL: @from_one
// CHECK: arith.addi %{{.*}}, %{{.*}} : i64
// CHECK: arith.trunci
func.func @from_one(%a: tensor<4x5xi8>, %b: tensor<5x6xi8>) -> tensor<4x6xi32> {
  %zero = arith.constant 1 : i64
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

// The high half is kept.
// CHECK-LABEL: @shifted
// CHECK: arith.addi %{{.*}}, %{{.*}} : i64
// CHECK: arith.trunci
func.func @shifted(%a: tensor<4x5xi8>, %b: tensor<5x6xi8>) -> tensor<4x6xi32> {
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
    %half = arith.constant 32 : i64
    %h = arith.shrui %x, %half : i64
    %t = arith.trunci %h : i64 to i32
    linalg.yield %t : i32
  } -> tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}
