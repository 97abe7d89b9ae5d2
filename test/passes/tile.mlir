// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse)' | FileCheck %s

// An element-wise op on ragged tiles: reads and writes of the whole buffer that may reach beyond it.
// CHECK-LABEL: @relu
// CHECK-SAME: (%[[X:.*]]: tensor<1001x1000xf32>, %[[OUT:.*]]: tensor<1001x1000xf32>)
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<16x1000xf32>
// CHECK: scf.forall (%[[I:.*]]) = (0) to (1001) step (16) shared_outs(%[[O:.*]] = %[[OUT]])
// CHECK:   %[[V:.*]] = vector.transfer_read %[[X]][%[[I]], %c0], %{{.*}} {in_bounds = [false, true]} : tensor<1001x1000xf32>, vector<16x1000xf32>
// CHECK:   %[[Y:.*]] = arith.maximumf %[[V]], %[[ZEROS]] : vector<16x1000xf32>
// CHECK:   %[[W:.*]] = vector.transfer_write %[[Y]], %[[O]][%[[I]], %c0] {in_bounds = [false, true]}
// CHECK:   tensor.parallel_insert_slice %[[W]] into %[[O]][0, 0] [1001, 1000] [1, 1]
// CHECK: } {mlopt.schedule = {tile = array<i64: 16, 0>}}
func.func private @relu(%x: tensor<1001x1000xf32>, %out: tensor<1001x1000xf32>) -> tensor<1001x1000xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 16, 0>}} {
  %zero = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1001x1000xf32>) outs(%out : tensor<1001x1000xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %a, %zero : f32
    linalg.yield %y : f32
  } -> tensor<1001x1000xf32>
  return %r : tensor<1001x1000xf32>
}

// A row and its reduction in one task; the exponential is computed once.
// CHECK-LABEL: @normalize
// CHECK: scf.forall (%[[I:.*]]) = (0) to (100) step (4)
// CHECK:   %[[V:.*]] = vector.transfer_read {{.*}} {in_bounds = [true, true]} : tensor<100x77xf32>, vector<4x77xf32>
// CHECK:   %[[E:.*]] = math.exp %[[V]] : vector<4x77xf32>
// CHECK-NOT: math.exp
// CHECK:   %[[S:.*]] = vector.multi_reduction <add>, %[[E]], %{{.*}} [1] : vector<4x77xf32> to vector<4xf32>
// CHECK:   %[[C:.*]] = vector.shape_cast %[[S]] : vector<4xf32> to vector<4x1xf32>
// CHECK:   %[[B:.*]] = vector.broadcast %[[C]] : vector<4x1xf32> to vector<4x77xf32>
// CHECK:   arith.divf %[[E]], %[[B]] : vector<4x77xf32>
func.func private @normalize(%x: tensor<100x77xf32>, %out: tensor<100x77xf32>) -> tensor<100x77xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 4, 0>}} {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<100x77xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<100x77xf32>) outs(%e0 : tensor<100x77xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<100x77xf32>
  %s0 = tensor.empty() : tensor<100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%s0 : tensor<100xf32>) -> tensor<100xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<100x77xf32>) outs(%f : tensor<100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%e, %s : tensor<100x77xf32>, tensor<100xf32>) outs(%out : tensor<100x77xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<100x77xf32>
  return %r : tensor<100x77xf32>
}

// A dynamic reduced dim: chunks, what lies beyond the end of the last replaced by the neutral element.
// CHECK-LABEL: @dynamic_sum
// CHECK: %[[N:.*]] = tensor.dim %{{.*}}, %c0
// CHECK: %[[END:.*]] = affine.apply #{{.*}}()[%[[N]]]
// CHECK: scf.for %[[K:.*]] = %c0 to %[[END]] step %c32 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<50xf32>)
// CHECK-NOT: arith.select
// CHECK:   vector.multi_reduction <add>, %{{.*}}, %[[ACC]] [0] : vector<32x50xf32> to vector<50xf32>
// CHECK: scf.for %[[K:.*]] = %[[END]] to %[[N]] step %c32 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<50xf32>)
// CHECK:   %[[INSIDE:.*]] = arith.cmpi slt
// CHECK:   %[[V:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<32x50xi1>, vector<32x50xf32>
// CHECK:   %[[T:.*]] = vector.multi_reduction <add>, %[[V]], %[[ACC]] [0] : vector<32x50xf32> to vector<50xf32>
// CHECK:   scf.yield %[[T]]
func.func private @dynamic_sum(%x: tensor<?x100xf32>, %out: tensor<100xf32>) -> tensor<100xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 50, 0>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<100xf32>) -> tensor<100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x100xf32>) outs(%f : tensor<100xf32>) {
  ^bb0(%a: f32, %s: f32):
    %y = arith.addf %a, %s : f32
    linalg.yield %y : f32
  } -> tensor<100xf32>
  return %r : tensor<100xf32>
}

// A length that no argument has as its size: it is given to the kernel.
// CHECK-LABEL: @ones
// CHECK-SAME: %[[N:[a-z0-9]*]]: index
// CHECK: affine.apply #{{.*}}()[%[[N]]]
// CHECK: scf.for %{{.*}} to %[[N]] step %c32
func.func private @ones(%n: index, %out: tensor<128xf32>) -> tensor<128xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 64, 0>}} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty(%n) : tensor<?x128xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x128xf32>) {
  ^bb0(%o: f32):
    linalg.yield %one : f32
  } -> tensor<?x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<128xf32>) -> tensor<128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x128xf32>) outs(%f : tensor<128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  return %r : tensor<128xf32>
}

// Rows whose length is not known, summed around their maximum: the maximum's loop comes before the sum's.
// CHECK-LABEL: @around_the_maximum
// CHECK: scf.forall
// CHECK: scf.for %
// CHECK: scf.for %
// CHECK: %[[M:.*]] = vector.multi_reduction <maximumf>
// CHECK: scf.for %
// CHECK:   vector.shape_cast %[[M]]
// CHECK: scf.for %
// CHECK:   vector.shape_cast %[[M]]
// CHECK: vector.multi_reduction <add>
func.func private @around_the_maximum(%x: tensor<32x?xf32>, %out: tensor<32xf32>) -> tensor<32xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 8, 0, 0>}} {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<32x?xf32>
  %e = tensor.empty() : tensor<32xf32>
  %low = linalg.fill ins(%ninf : f32) outs(%e : tensor<32xf32>) -> tensor<32xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<32x?xf32>) outs(%low : tensor<32xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.maximumf %in, %o : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %f = tensor.empty(%n) : tensor<32x?xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<32x?xf32>, tensor<32xf32>) outs(%f : tensor<32x?xf32>) {
  ^bb0(%in: f32, %b: f32, %o: f32):
    %0 = arith.subf %in, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<32x?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<32xf32>) -> tensor<32xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<32x?xf32>) outs(%start : tensor<32xf32>) {
  ^bb0(%in: f32, %o: f32):
    %0 = arith.addf %in, %o : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  return %s : tensor<32xf32>
}
