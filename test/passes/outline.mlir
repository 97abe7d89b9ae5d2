// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-outline)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-outline{keep-groups=true})' --split-input-file | FileCheck %s --check-prefix=GROUPS

#id = affine_map<(d0) -> (d0)>

// Two ops of a group are one function; what lies between them in the block moves out of the way.
// CHECK-LABEL: func.func private @kernel_0_relu_scale
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[OUT:.*]]: tensor<8xf32>) -> tensor<8xf32> attributes {mlopt.kernel, mlopt.ops = ["relu", "scale"]}
// CHECK: %[[C:.*]] = arith.constant 0.0
// CHECK: %[[E:.*]] = tensor.empty() : tensor<8xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[X]] {{.*}} outs(%[[E]]
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[R]] {{.*}} outs(%[[OUT]]
// CHECK: return %[[S]]

// CHECK-LABEL: func.func private @kernel_1_neg

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<8xf32> {bufferization.writable = false}, %[[Y:.*]]: tensor<8xf32> {bufferization.writable = false, mlopt.weight}
// CHECK-SAME: %[[O0:.*]]: memref<2x4xf32> {mlopt.result = 0 : i64}, %[[O1:.*]]: memref<8xf32> {mlopt.result = 1 : i64})
// CHECK: %[[E0:.*]] = tensor.empty()
// CHECK: %[[R0:.*]] = call @kernel_0_relu_scale(%[[X]], %[[E0]])
// CHECK: %[[E1:.*]] = tensor.empty()
// CHECK: %[[R1:.*]] = call @kernel_1_neg(%[[Y]], %[[E1]])
// The result's reshape is done to the memory.
// CHECK: %[[V:.*]] = memref.collapse_shape %[[O0]]
// CHECK: bufferization.materialize_in_destination %[[R0]] in restrict writable %[[V]]
// CHECK: bufferization.materialize_in_destination %[[R1]] in restrict writable %[[O1]]
// CHECK: return{{$}}
// GROUPS-LABEL: func.func @main
// GROUPS: call @kernel_0_relu_scale(%{{.*}}) {mlopt.group = 5 : i64}
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32> {mlopt.weight}) -> (tensor<2x4xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>)
      outs(%e : tensor<8xf32>) attrs = {mlopt.group = 5 : i64, mlopt.op = "relu"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<8xf32>)
      outs(%e : tensor<8xf32>) attrs = {mlopt.op = "neg"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%r : tensor<8xf32>)
      outs(%e : tensor<8xf32>) attrs = {mlopt.group = 5 : i64, mlopt.op = "scale"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %v = tensor.expand_shape %s [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  return %v, %n : tensor<2x4xf32>, tensor<8xf32>
}

// -----

// Equal kernels are one. A fill goes into the kernel that starts from it, onto the kernel's destination.
#id = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
// CHECK: func.func private @kernel_0_sum(%{{.*}}: tensor<?xf32>, %[[OUT:.*]]: tensor<f32>)
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[OUT]]
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @kernel_0_sum
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]} ins(%x : tensor<?xf32>)
      outs(%f : tensor<f32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %q = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]} ins(%y : tensor<?xf32>)
      outs(%f : tensor<f32>) attrs = {mlopt.op = "sum"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %r, %q : tensor<f32>, tensor<f32>
}

// -----

// Results are fresh memory: an argument that is returned, and what is returned twice, is copied. A size that an
// argument of the kernel has is not passed.
// CHECK: func.func private @kernel_0_concat(%[[IN:.*]]: tensor<?x3xf32>, %[[OUT:.*]]: tensor<?x8xf32>)
// CHECK: %[[D:.*]] = tensor.dim %[[IN]]
// CHECK: tensor.insert_slice %{{.*}} into %[[OUT]][0, 0] [%[[D]], 3]
// CHECK: func.func private @kernel_1_copy
// CHECK: func.func private @kernel_2_copy
// CHECK-LABEL: func.func @main
// CHECK-SAME: attributes {mlopt.result_sizes = ["(a0_0 + 1)", "a0_0", "(a0_0 + 1)"]}
// CHECK: call @kernel_0_concat
// CHECK-DAG: call @kernel_1_copy(%arg0
// CHECK-DAG: call @kernel_2_copy
func.func @main(%x: tensor<?x3xf32>) -> (tensor<?x8xf32>, tensor<?x3xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?x3xf32>
  %d1 = arith.addi %d, %c1 : index
  %e = tensor.empty(%d1) : tensor<?x8xf32>
  %i = tensor.insert_slice %x into %e[0, 0] [%d, 3] [1, 1] {mlopt.op = "concat"} : tensor<?x3xf32> into tensor<?x8xf32>
  return %i, %x, %i : tensor<?x8xf32>, tensor<?x3xf32>, tensor<?x8xf32>
}

// -----

// Ops on buffers keep their order, though nothing else says so: the kernel, whose first op stands in front of
// the loops, comes after them. The size of the result is a comparison of sizes.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @main
// CHECK-SAME: mlopt.result_sizes = ["(a0_0 if a0_0 < 8 else 8)"]
// CHECK: memref.alloc
// CHECK: scf.for %
// CHECK: scf.for %
// CHECK: bufferization.to_tensor
// CHECK: call @kernel_1_negf_addf
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %less = arith.cmpi slt, %d, %c8 : index
  %n = arith.select %less, %d, %c8 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %part = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%part : tensor<?xf32>)
      outs(%e : tensor<?xf32>) attrs = {mlopt.group = 0 : i64, mlopt.op = "negf"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  %alloc = memref.alloc(%n) : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %alloc[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = tensor.extract %x[%i] : tensor<?xf32>
    memref.store %v, %alloc[%i] : memref<?xf32>
  }
  %t = bufferization.to_tensor %alloc restrict : memref<?xf32> to tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %t : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) attrs = {mlopt.group = 0 : i64, mlopt.op = "addf"} {
  ^bb0(%one: f32, %other: f32, %out: f32):
    %0 = arith.addf %one, %other : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// What is returned is not written into: a copy is. Two that start from one fill have one each.
// CHECK-LABEL: func.func @main
// CHECK: %[[B:.*]] = call @kernel_{{.*}}_neg
// CHECK: %[[COPY:.*]] = call @kernel_{{.*}}_copy(%[[B]]
// CHECK: call @kernel_{{.*}}_insert(%{{.*}}, %[[COPY]])
// CHECK: %[[FIRST:.*]] = call @kernel_{{.*}}_fill
// CHECK: %[[SECOND:.*]] = call @kernel_{{.*}}_fill
// CHECK: call @kernel_{{.*}}_insert(%{{.*}}, %[[SECOND]])
// CHECK: call @kernel_{{.*}}_insert(%{{.*}}, %[[FIRST]])
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<8xf32>, %y: tensor<3xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>)
      outs(%e : tensor<8xf32>) attrs = {mlopt.op = "neg"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %c = tensor.insert_slice %y into %b[0] [3] [1] : tensor<3xf32> into tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %p = tensor.insert_slice %y into %f[0] [3] [1] : tensor<3xf32> into tensor<8xf32>
  %q = tensor.insert_slice %y into %f[5] [3] [1] : tensor<3xf32> into tensor<8xf32>
  return %c, %b, %p, %q : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A part covers the buffer's columns, whose number is that of %x's too: the kernel reads it off the buffer.
// CHECK-LABEL: func.func private @kernel_0_neg_first_second
// CHECK-SAME: (%{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?xf32>, %[[OUT:.*]]: tensor<2x?xf32>)
// CHECK-DAG: %[[SECOND:.*]] = tensor.dim %[[OUT]], %{{.*}} : tensor<2x?xf32>
// CHECK-DAG: %[[FIRST:.*]] = tensor.dim %[[OUT]], %{{.*}} : tensor<2x?xf32>
// CHECK-NOT: tensor.dim
// CHECK: tensor.insert_slice %{{.*}} into %[[OUT]][0, 0] [1, %[[FIRST]]] [1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[1, 0] [1, %[[SECOND]]] [1, 1]
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<2x?xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>)
      outs(%e : tensor<?xf32>) attrs = {mlopt.group = 0 : i64, mlopt.op = "neg"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  %b = tensor.empty(%n) : tensor<2x?xf32>
  %1 = tensor.insert_slice %x into %b[0, 0] [1, %n] [1, 1] {mlopt.group = 0 : i64, mlopt.op = "first"} : tensor<?xf32> into tensor<2x?xf32>
  %2 = tensor.insert_slice %r into %1[1, 0] [1, %n] [1, 1] {mlopt.group = 0 : i64, mlopt.op = "second"} : tensor<?xf32> into tensor<2x?xf32>
  return %r, %2 : tensor<?xf32>, tensor<2x?xf32>
}

// -----

// What loops write into is made where they write: a fill of their own, or a copy of an argument; and a result
// that only they fill is the result's memory.
// CHECK-LABEL: func.func @sums
// CHECK-SAME: %[[X:[^:]*]]: tensor<8xf32> {{.*}}, %[[O0:[^:]*]]: memref<8xf32> {mlopt.result = 0 : i64}, %[[O1:[^:]*]]: memref<8xf32> {mlopt.result = 1 : i64}, %[[O2:[^:]*]]: memref<8xf32> {mlopt.result = 2 : i64})
// CHECK-NOT: memref.alloc
// CHECK: %[[AGAIN:.*]] = call @kernel_{{.*}}_fill
// CHECK: %[[ZEROS:.*]] = call @kernel_{{.*}}_fill
// CHECK: bufferization.materialize_in_destination %[[ZEROS]] in restrict writable %[[O0]]
// CHECK: memref.store %{{.*}}, %[[O0]][%{{.*}}]
// CHECK: bufferization.materialize_in_destination %[[AGAIN]] in restrict writable %[[O1]]
// CHECK: memref.store %{{.*}}, %[[O1]][%{{.*}}]
// CHECK: %[[COPY:.*]] = call @kernel_{{.*}}_copy(%[[X]],
// CHECK: bufferization.materialize_in_destination %[[COPY]] in restrict writable %[[O2]]
// CHECK: memref.store %{{.*}}, %[[O2]][%{{.*}}]
// CHECK-NOT: memref.copy
// CHECK: return{{$}}
func.func @sums(%x: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %b = bufferization.to_buffer %f : tensor<8xf32> to memref<8xf32>
  %m = memref.alloc() : memref<8xf32>
  memref.copy %b, %m : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %m[%i] : memref<8xf32>
  }
  %p = bufferization.to_tensor %m restrict : memref<8xf32> to tensor<8xf32>
  %k = memref.alloc() : memref<8xf32>
  memref.copy %b, %k : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %k[%i] : memref<8xf32>
  }
  %q = bufferization.to_tensor %k restrict : memref<8xf32> to tensor<8xf32>
  %d = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
  %l = memref.alloc() : memref<8xf32>
  memref.copy %d, %l : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %l[%i] : memref<8xf32>
  }
  %r = bufferization.to_tensor %l restrict : memref<8xf32> to tensor<8xf32>
  return %p, %q, %r : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Nor is an argument written into.
// CHECK-LABEL: func.func @part
// CHECK-SAME: %[[X:[^:]*]]: tensor<8xf32>
// CHECK: %[[COPY:.*]] = call @kernel_{{.*}}_copy(%[[X]]
// CHECK: call @kernel_{{.*}}_insert(%{{.*}}, %[[COPY]])
func.func @part(%x: tensor<8xf32>, %y: tensor<3xf32>) -> tensor<8xf32> {
  %r = tensor.insert_slice %y into %x[2] [3] [1] : tensor<3xf32> into tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// So it is with sizes that are not known; and the next loops go on where those before them were.
// CHECK-LABEL: func.func @sums_in_a_row
// CHECK-SAME: %[[X:[^:]*]]: tensor<?xf32> {{.*}}, %[[O:[^:]*]]: memref<?xf32> {mlopt.result = 0 : i64})
// CHECK-NOT: memref.alloc
// CHECK: %[[COPY:.*]] = call @kernel_{{.*}}_copy(%[[X]],
// CHECK: bufferization.materialize_in_destination %[[COPY]] in restrict writable %[[O]]
// CHECK: memref.store %{{.*}}, %[[O]][%{{.*}}]
// CHECK-NOT: memref.copy
// CHECK: memref.store %{{.*}}, %[[O]][%{{.*}}]
// CHECK: return{{$}}
func.func @sums_in_a_row(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = bufferization.to_buffer %x : tensor<?xf32> to memref<?xf32>
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %m = memref.alloc(%d) : memref<?xf32>
  memref.copy %b, %m : memref<?xf32> to memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %m[%i] : memref<?xf32>
  }
  %p = bufferization.to_tensor %m restrict : memref<?xf32> to tensor<?xf32>
  %r = bufferization.to_buffer %p : tensor<?xf32> to memref<?xf32>
  %k = memref.alloc(%d) : memref<?xf32>
  memref.copy %r, %k : memref<?xf32> to memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %k[%i] : memref<?xf32>
  }
  %l = memref.alloc(%d) : memref<?xf32>
  memref.copy %k, %l : memref<?xf32> to memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %l[%i] : memref<?xf32>
  }
  %q = bufferization.to_tensor %l restrict : memref<?xf32> to tensor<?xf32>
  return %q : tensor<?xf32>
}

// -----

// What was filled is returned, too: the next loops have a copy.
// CHECK-LABEL: func.func @sums_and_more
// CHECK: memref.store %{{.*}}, %[[O0:.*]][%{{.*}}]
// CHECK: %[[COPY:.*]] = call @kernel_{{.*}}_copy(
// CHECK: bufferization.materialize_in_destination %[[COPY]] in restrict writable %[[O1:.*]] :
// CHECK: memref.store %{{.*}}, %[[O1]][%{{.*}}]
func.func @sums_and_more(%x: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
  %m = memref.alloc() : memref<8xf32>
  memref.copy %b, %m : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %m[%i] : memref<8xf32>
  }
  %p = bufferization.to_tensor %m restrict : memref<8xf32> to tensor<8xf32>
  %r = bufferization.to_buffer %p : tensor<8xf32> to memref<8xf32>
  %k = memref.alloc() : memref<8xf32>
  memref.copy %r, %k : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %k[%i] : memref<8xf32>
  }
  %q = bufferization.to_tensor %k restrict : memref<8xf32> to tensor<8xf32>
  return %p, %q : tensor<8xf32>, tensor<8xf32>
}

// -----

// So is that of what is divided by a size, as mlopt-guard-division leaves it.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @main
// CHECK-SAME: mlopt.result_sizes = ["(a0_0 // (1 if (a1_0 == 0 or a1_0 == -1) else a1_0))"]
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %minus = arith.constant -1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %d = tensor.dim %y, %c0 : tensor<?xf32>
  %is_zero = arith.cmpi eq, %d, %c0 : index
  %is_minus = arith.cmpi eq, %d, %minus : index
  %bad = arith.ori %is_zero, %is_minus : i1
  %safe = arith.select %bad, %c1, %d : index
  %q = arith.divsi %n, %safe : index
  %s = tensor.extract_slice %x[0] [%q] [1] : tensor<?xf32> to tensor<?xf32>
  return %s : tensor<?xf32>
}
