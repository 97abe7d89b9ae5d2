// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-fuse)' --split-input-file | FileCheck %s

// Results that are each in memory of their own: a part of what is returned, too.
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: @apart
// CHECK-NOT: "copy"
// CHECK: return
func.func @apart(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>, tensor<8x128xf32>) {
  %e = tensor.empty() : tensor<64x128xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) attrs = {mlopt.op = "double"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %in : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%e : tensor<64x128xf32>) attrs = {mlopt.op = "square"} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %in : f32
    linalg.yield %a : f32
  } -> tensor<64x128xf32>
  %s = tensor.extract_slice %d[0, 0] [8, 128] [1, 1] : tensor<64x128xf32> to tensor<8x128xf32>
  return %d, %q, %s : tensor<64x128xf32>, tensor<64x128xf32>, tensor<8x128xf32>
}

// -----

// What is put together is copied whole, by a kernel of its own, when all parts are there.
// CHECK-LABEL: @parts
// CHECK: tensor.insert_slice {{.*}}mlopt.group = [[PARTS:[0-9]+]]
// CHECK: tensor.insert_slice {{.*}}mlopt.group = [[PARTS]]
// CHECK-NOT: mlopt.group = [[PARTS]] :
// CHECK: mlopt.op = "copy"
func.func @parts(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %e = tensor.empty() : tensor<128x128xf32>
  %a = tensor.insert_slice %x into %e[0, 0] [64, 128] [1, 1] : tensor<64x128xf32> into tensor<128x128xf32>
  %b = tensor.insert_slice %y into %a[64, 0] [64, 128] [1, 1] : tensor<64x128xf32> into tensor<128x128xf32>
  return %b, %b : tensor<128x128xf32>, tensor<128x128xf32>
}
