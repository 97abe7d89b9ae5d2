// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-collapse-dims)' --split-input-file | FileCheck %s

// All dims are one; results are written into a view of their memory.
// CHECK-LABEL: func.func private @add
// CHECK-SAME: (%[[X:.*]]: tensor<42xf32>, %[[Y:.*]]: tensor<42xf32>, %[[O:.*]]: tensor<42xf32>) -> tensor<42xf32>
// CHECK: linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%[[X]], %[[Y]]
// CHECK-SAME: outs(%[[O]] : tensor<42xf32>) attrs = {{.*}}{mlopt.op = "add"}
// CHECK-LABEL: @main
// CHECK-SAME: (%[[A:.*]]: tensor<2x3x7xf32>, %[[OUT:.*]]: memref<2x3x7xf32>
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[A]] {{\[\[}}0, 1, 2]]
// CHECK: %[[E:.*]] = tensor.empty() : tensor<42xf32>
// CHECK: %[[R:.*]] = call @add(%[[C]], %{{.*}}, %[[E]])
// CHECK: %[[M:.*]] = memref.collapse_shape %[[OUT]] {{\[\[}}0, 1, 2]]
// CHECK: materialize_in_destination %[[R]] in restrict writable %[[M]]
#m = affine_map<(a, b, c) -> (a, b, c)>
func.func private @add(%x: tensor<2x3x7xf32>, %y: tensor<2x3x7xf32>, %out: tensor<2x3x7xf32>) -> tensor<2x3x7xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : tensor<2x3x7xf32>, tensor<2x3x7xf32>) outs(%out : tensor<2x3x7xf32>) attrs = {mlopt.op = "add"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<2x3x7xf32>
  return %r : tensor<2x3x7xf32>
}
func.func @main(%a: tensor<2x3x7xf32>, %out: memref<2x3x7xf32> {mlopt.result = 0 : i64}) {
  %e = tensor.empty() : tensor<2x3x7xf32>
  %r = call @add(%a, %a, %e) : (tensor<2x3x7xf32>, tensor<2x3x7xf32>, tensor<2x3x7xf32>) -> tensor<2x3x7xf32>
  bufferization.materialize_in_destination %r in restrict writable %out : (tensor<2x3x7xf32>, memref<2x3x7xf32>) -> ()
  return
}

// -----

// Rows of two batches are rows of one; the reduced dims are one; a scale per column stays apart from both.
// CHECK-LABEL: func.func private @means
// CHECK-SAME: (%{{.*}}: tensor<?x15x28xf32>, %{{.*}}: tensor<15xf32>, %{{.*}}: tensor<?x15xf32>) -> tensor<?x15xf32>
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
func.func private @means(%x: tensor<?x3x5x4x7xf32>, %w: tensor<3x5xf32>, %out: tensor<?x3x5xf32>) -> tensor<?x3x5xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<?x3x5xf32>) -> tensor<?x3x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, a, b, c, d) -> (n, a, b, c, d)>, affine_map<(n, a, b, c, d) -> (a, b)>, affine_map<(n, a, b, c, d) -> (n, a, b)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<?x3x5x4x7xf32>, tensor<3x5xf32>) outs(%f : tensor<?x3x5xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %s, %o : f32
    linalg.yield %t : f32
  } -> tensor<?x3x5xf32>
  return %r : tensor<?x3x5xf32>
}
// CHECK-LABEL: @main
// CHECK: %[[N:.*]] = tensor.dim
// CHECK: %[[E:.*]] = tensor.empty(%[[N]]) : tensor<?x15xf32>
// CHECK: %[[R:.*]] = call @means(%{{.*}}, %{{.*}}, %[[E]])
// CHECK: tensor.expand_shape %[[R]] {{\[\[}}0], [1, 2]] output_shape [%[[N]], 3, 5]
func.func @main(%x: tensor<?x3x5x4x7xf32>, %w: tensor<3x5xf32>) -> tensor<?x3x5xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x5x4x7xf32>
  %e = tensor.empty(%n) : tensor<?x3x5xf32>
  %r = call @means(%x, %w, %e) : (tensor<?x3x5x4x7xf32>, tensor<3x5xf32>, tensor<?x3x5xf32>) -> tensor<?x3x5xf32>
  return %r : tensor<?x3x5xf32>
}

// -----

// One kernel's merged result is the next one's operand, without a reshape between.
// CHECK-LABEL: @chain
// CHECK: %[[A:.*]] = call @twice(%{{.*}}, %{{.*}}) : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
// CHECK-NEXT: %[[E:.*]] = tensor.empty() : tensor<12xf32>
// CHECK-NEXT: call @twice(%[[A]], %[[E]])
#i = affine_map<(a, b) -> (a, b)>
func.func private @twice(%x: tensor<3x4xf32>, %out: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x4xf32>) outs(%out : tensor<3x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
func.func @chain(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %e = tensor.empty() : tensor<3x4xf32>
  %a = call @twice(%x, %e) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %f = tensor.empty() : tensor<3x4xf32>
  %b = call @twice(%a, %f) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %b : tensor<3x4xf32>
}

// -----

// A scan's rows stay as long as they are; what is beside them is one dim.
// CHECK-LABEL: func.func private @running
// CHECK-SAME: (%[[X:.*]]: tensor<6x5x28xf32>, %[[O:.*]]: tensor<6x5x28xf32>) -> tensor<6x5x28xf32>
// CHECK: "mlopt.scan"(%[[X]], %[[O]]) {indexing_maps = [#[[MAP:.*]], #[[MAP]]], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>], kind = "add"}
#m = affine_map<(a, b, c, d, e) -> (a, b, c, d, e)>
func.func private @running(%x: tensor<2x3x5x4x7xf32>, %out: tensor<2x3x5x4x7xf32>) -> tensor<2x3x5x4x7xf32> attributes {mlopt.kernel} {
  %r = "mlopt.scan"(%x, %out) {indexing_maps = [#m, #m], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], kind = "add"} : (tensor<2x3x5x4x7xf32>, tensor<2x3x5x4x7xf32>) -> tensor<2x3x5x4x7xf32>
  return %r : tensor<2x3x5x4x7xf32>
}

// -----

// Sizes that are known at the call only: the kernel asks for that of the merged dim, the host multiplies.
// CHECK-LABEL: func.func private @scaled
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[O:.*]]: tensor<?xf32>) -> tensor<?xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[O]], %{{.*}} : tensor<?xf32>
// CHECK-NEXT: %[[T:.*]] = tensor.empty(%[[N]]) : tensor<?xf32>
// CHECK: iterator_types = ["parallel"]} ins(%[[X]] : tensor<?xf32>) outs(%[[T]] : tensor<?xf32>)
// CHECK-NOT: tensor.dim
// CHECK-LABEL: @main
// CHECK-SAME: (%[[A:.*]]: tensor<?x3x?xf32>, %[[OUT:.*]]: memref<?x3x?xf32>
// CHECK-DAG: %[[ROWS:.*]] = tensor.dim %[[A]], %c0
// CHECK-DAG: %[[COLUMNS:.*]] = tensor.dim %[[A]], %c2
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[A]] {{\[\[}}0, 1, 2]] : tensor<?x3x?xf32> into tensor<?xf32>
// CHECK: %[[AREA:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]]
// CHECK: %[[ALL:.*]] = arith.muli %[[AREA]], %c3
// CHECK: %[[E:.*]] = tensor.empty(%[[ALL]]) : tensor<?xf32>
// CHECK: %[[R:.*]] = call @scaled(%[[C]], %[[E]])
// CHECK: %[[M:.*]] = memref.collapse_shape %[[OUT]] {{\[\[}}0, 1, 2]]
// CHECK: materialize_in_destination %[[R]] in restrict writable %[[M]]
#all = affine_map<(a, b, c) -> (a, b, c)>
func.func private @scaled(%x: tensor<?x3x?xf32>, %out: tensor<?x3x?xf32>) -> tensor<?x3x?xf32> attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %out, %c0 : tensor<?x3x?xf32>
  %m = tensor.dim %out, %c2 : tensor<?x3x?xf32>
  %e = tensor.empty(%n, %m) : tensor<?x3x?xf32>
  %s = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x3x?xf32>) outs(%e : tensor<?x3x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %t = arith.mulf %p, %p : f32
    linalg.yield %t : f32
  } -> tensor<?x3x?xf32>
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<?x3x?xf32>) outs(%out : tensor<?x3x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %t = arith.addf %p, %p : f32
    linalg.yield %t : f32
  } -> tensor<?x3x?xf32>
  return %r : tensor<?x3x?xf32>
}
func.func @main(%x: tensor<?x3x?xf32>, %out: memref<?x3x?xf32> {mlopt.result = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x?xf32>
  %m = tensor.dim %x, %c2 : tensor<?x3x?xf32>
  %e = tensor.empty(%n, %m) : tensor<?x3x?xf32>
  %r = call @scaled(%x, %e) : (tensor<?x3x?xf32>, tensor<?x3x?xf32>) -> tensor<?x3x?xf32>
  bufferization.materialize_in_destination %r in restrict writable %out : (tensor<?x3x?xf32>, memref<?x3x?xf32>) -> ()
  return
}

// -----

// Unknown many rows of 7: they would end within each access.
// CHECK-LABEL: func.func private @short_rows
// CHECK-SAME: (%{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?xf32>) -> tensor<?xf32>
func.func private @short_rows(%x: tensor<?x7xf32>, %out: tensor<?x7xf32>) -> tensor<?x7xf32> attributes {mlopt.kernel} {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x7xf32>) outs(%out : tensor<?x7xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x7xf32>
  return %r : tensor<?x7xf32>
}
