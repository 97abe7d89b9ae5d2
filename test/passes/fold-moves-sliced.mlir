// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),mlopt-raise,canonicalize,cse,mlopt-fold-moves,canonicalize,cse)' --split-input-file | FileCheck %s

// From a place that is not known until the program runs: what is added is taken there, too.
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: @anywhere
// CHECK-SAME: (%[[X:arg0]]: {{.*}}, %[[B:arg1]]: {{.*}}, %[[AT:arg2]]: index, %[[N:arg3]]: index)
// CHECK: %[[XS:.*]] = tensor.extract_slice %[[X]][0, %[[AT]]] [8, %[[N]]] [1, 1] : tensor<8x?xf32> to tensor<8x?xf32>
// CHECK: %[[BS:.*]] = tensor.extract_slice %[[B]][%[[AT]]] [%[[N]]] [1] : tensor<?xf32> to tensor<?xf32>
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[XS]], %[[BS]] : {{.*}}"add"
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[S]] : {{.*}}"exp"
// CHECK: return %[[E]]
func.func @anywhere(%x: tensor<8x?xf32>, %b: tensor<?xf32>, %at: index, %n: index) -> tensor<8x?xf32> {
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c1 : tensor<8x?xf32>
  %e = tensor.empty(%d) : tensor<8x?xf32>
  %s = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<8x?xf32>, tensor<?xf32>) outs(%e : tensor<8x?xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %0 = arith.addf %l, %r : f32
    linalg.yield %0 : f32
  } -> tensor<8x?xf32>
  %r = math.exp %s : tensor<8x?xf32>
  %p = tensor.extract_slice %r[0, %at] [8, %n] [1, 1] : tensor<8x?xf32> to tensor<8x?xf32>
  return %p : tensor<8x?xf32>
}

// -----

// A cast that others read as a whole: the part is cast by itself.
// CHECK-DAG: #[[SHIFT:.*]] = affine_map<(d0, d1) -> (d0, d1 + 4)>
// CHECK-LABEL: @cast
// CHECK-SAME: (%[[X:arg0]]: tensor
// CHECK-DAG: linalg.generic {indexing_maps = [#[[SHIFT]], {{.*}} ins(%[[X]] : tensor<8x12xbf16>) outs({{.*}}tensor<8x5xf32>) {{.*}}"cast"
// CHECK-DAG: linalg.generic {{.*}} ins(%[[X]] : tensor<8x12xbf16>) outs({{.*}}tensor<8x12xf32>) {{.*}}"cast"
func.func @cast(%x: tensor<8x12xbf16>) -> (tensor<8x12xf32>, tensor<8x5xf32>) {
  %w = arith.extf %x : tensor<8x12xbf16> to tensor<8x12xf32>
  %p = tensor.extract_slice %w[0, 4] [8, 5] [1, 1] : tensor<8x12xf32> to tensor<8x5xf32>
  %e = math.exp %w : tensor<8x12xf32>
  %n = arith.negf %p : tensor<8x5xf32>
  return %e, %n : tensor<8x12xf32>, tensor<8x5xf32>
}

// -----

// A part of a part is one of the whole; the sizes of the first do not matter.
// CHECK-DAG: #[[CROP:.*]] = affine_map<(d0, d1) -> (d0 + 1, d1 + 2)>
// CHECK-LABEL: @crop
// CHECK-SAME: (%[[X:arg0]]: tensor
// CHECK-NOT: tensor.extract_slice
// CHECK: %[[E:.*]] = linalg.generic {indexing_maps = [#[[CROP]], {{.*}} ins(%[[X]] : tensor<8x12xf32>) outs({{.*}}tensor<6x9xf32>) {{.*}}"exp"
// CHECK: return %[[E]]
func.func @crop(%x: tensor<8x12xf32>) -> tensor<6x9xf32> {
  %e = math.exp %x : tensor<8x12xf32>
  %a = tensor.extract_slice %e[1, 0] [6, 12] [1, 1] : tensor<8x12xf32> to tensor<6x12xf32>
  %b = tensor.extract_slice %a[0, 2] [6, 9] [1, 1] : tensor<6x12xf32> to tensor<6x9xf32>
  return %b : tensor<6x9xf32>
}

// -----

// Steps multiply.
// CHECK-LABEL: @steps
// CHECK: tensor.extract_slice %arg0[0, 3] [8, 2] [1, 6] : tensor<8x11xf32> to tensor<8x2xf32>
func.func @steps(%x: tensor<8x11xf32>) -> tensor<8x2xf32> {
  %e = math.exp %x : tensor<8x11xf32>
  %a = tensor.extract_slice %e[0, 1] [8, 5] [1, 2] : tensor<8x11xf32> to tensor<8x5xf32>
  %b = tensor.extract_slice %a[0, 1] [8, 2] [1, 3] : tensor<8x5xf32> to tensor<8x2xf32>
  return %b : tensor<8x2xf32>
}
