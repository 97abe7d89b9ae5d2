// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse,mlopt-outline,mlopt-schedule,mlopt-tile,mlopt-verify)' --split-input-file | FileCheck %s

// Two poolings read a padded tensor: neither kernel makes it, both read what lies around the tensor as -inf.
#x = affine_map<(c, i, j, ki, kj) -> (c, i + ki, j + kj)>
#k = affine_map<(c, i, j, ki, kj) -> (ki, kj)>
#y = affine_map<(c, i, j, ki, kj) -> (c, i, j)>
// CHECK-DAG: #[[BACK:.*]] = affine_map<(d0) -> (d0 - 1)>
// CHECK-LABEL: func.func private @kernel_0_pad_max_pool(
// CHECK-SAME: %[[X:.*]]: tensor<4x8x9xf32>, %{{.*}}: tensor<4x8x9xf32>)
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK-NOT: tensor.insert_slice
// CHECK: %[[ROW:.*]] = affine.apply #[[BACK]]
// CHECK: vector.transfer_read %[[X]][%{{.*}}, %[[ROW]], %{{.*}}], %[[INF]] {in_bounds = [true, false, false]}
// CHECK-LABEL: func.func private @kernel_1_pad_max_pool
// CHECK-LABEL: func.func @main
// CHECK-NOT: fill
func.func @main(%x: tensor<4x8x9xf32>) -> (tensor<4x8x9xf32>, tensor<4x9x10xf32>) {
  %inf = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x10x11xf32>
  %f = linalg.fill ins(%inf : f32) outs(%e : tensor<4x10x11xf32>) -> tensor<4x10x11xf32>
  %p = tensor.insert_slice %x into %f[0, 1, 1] [4, 8, 9] [1, 1, 1] {mlopt.op = "pad"} : tensor<4x8x9xf32> into tensor<4x10x11xf32>
  %k3 = tensor.empty() : tensor<3x3xf32>
  %e3 = tensor.empty() : tensor<4x8x9xf32>
  %i3 = linalg.fill ins(%inf : f32) outs(%e3 : tensor<4x8x9xf32>) -> tensor<4x8x9xf32>
  %a = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %k3 : tensor<4x10x11xf32>, tensor<3x3xf32>) outs(%i3 : tensor<4x8x9xf32>) attrs = {mlopt.op = "max_pool"} {
  ^bb0(%in: f32, %unused: f32, %out: f32):
    %m = arith.maximumf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<4x8x9xf32>
  %k2 = tensor.empty() : tensor<2x2xf32>
  %e2 = tensor.empty() : tensor<4x9x10xf32>
  %i2 = linalg.fill ins(%inf : f32) outs(%e2 : tensor<4x9x10xf32>) -> tensor<4x9x10xf32>
  %b = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %k2 : tensor<4x10x11xf32>, tensor<2x2xf32>) outs(%i2 : tensor<4x9x10xf32>) attrs = {mlopt.op = "max_pool"} {
  ^bb0(%in: f32, %unused: f32, %out: f32):
    %m = arith.maximumf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<4x9x10xf32>
  return %a, %b : tensor<4x8x9xf32>, tensor<4x9x10xf32>
}

// -----

// What is padded is the result of another kernel, which writes it for others, too; the pad goes with its reader.
#x = affine_map<(o, i, c, k) -> (c, i + k)>
#w = affine_map<(o, i, c, k) -> (c, k, o)>
#y = affine_map<(o, i, c, k) -> (o, i)>
#id = affine_map<(c, i) -> (c, i)>
// CHECK-LABEL: func.func private @kernel_0_tanh(
// CHECK-LABEL: func.func private @kernel_1_pad_conv1d(
// CHECK: vector.transfer_read %{{.*}} {in_bounds = [true, false]} : tensor<8x20xf32>
// CHECK: vector.contract
func.func @main(%x: tensor<8x20xf32>, %w: tensor<8x3x16xf32>) -> (tensor<16x20xf32>, tensor<8x20xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x20xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x20xf32>) outs(%e : tensor<8x20xf32>) attrs = {mlopt.op = "tanh"} {
  ^bb0(%in: f32, %out: f32):
    %h = math.tanh %in : f32
    linalg.yield %h : f32
  } -> tensor<8x20xf32>
  %ep = tensor.empty() : tensor<8x22xf32>
  %f = linalg.fill ins(%zero : f32) outs(%ep : tensor<8x22xf32>) -> tensor<8x22xf32>
  %p = tensor.insert_slice %t into %f[0, 1] [8, 20] [1, 1] {mlopt.op = "pad"} : tensor<8x20xf32> into tensor<8x22xf32>
  %ey = tensor.empty() : tensor<16x20xf32>
  %fy = linalg.fill ins(%zero : f32) outs(%ey : tensor<16x20xf32>) -> tensor<16x20xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %w : tensor<8x22xf32>, tensor<8x3x16xf32>) outs(%fy : tensor<16x20xf32>) attrs = {mlopt.op = "conv1d"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<16x20xf32>
  return %y, %t : tensor<16x20xf32>, tensor<8x20xf32>
}
