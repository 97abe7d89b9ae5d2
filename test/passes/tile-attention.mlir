// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse)' | FileCheck %s

// Blocks of 64 keys of 100: the ones past the end score -inf. The scores' tile is made in the loop.
// CHECK-LABEL: @attention
// CHECK-DAG: %[[LOWS:.*]] = arith.constant dense<0xFF800000> : vector<1x32xf32>
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<1x32xf32>
// CHECK: scf.forall (%[[B:.*]], %[[M:.*]]) = (0, 0) to (6, 80) step (1, 32)
// CHECK:   %[[R:.*]]:3 = scf.for %[[N:.*]] = %c0 to %c100 step %c64 iter_args(%[[TOP:.*]] = %[[LOWS]], %[[SUM:.*]] = %[[ZEROS]], %[[ACC:.*]] = %{{.*}}) -> (vector<1x32xf32>, vector<1x32xf32>, vector<1x32x8xf32>)
// CHECK:     %[[Q:.*]] = vector.transfer_read %arg0[%[[B]], %[[M]], %c0]{{.*}} : tensor<6x80x16xf32>, vector<1x32x16xf32>
// CHECK:     %[[K:.*]] = vector.transfer_read %arg1[%[[B]], %[[N]], %c0]{{.*}} {in_bounds = [true, false, true]} : tensor<6x100x16xf32>, vector<1x64x16xf32>
// CHECK:     %[[S:.*]] = vector.contract {{.*}} %[[Q]], %[[K]], %{{.*}} into vector<1x32x64xf32>
// CHECK:     %[[T:.*]] = arith.mulf %[[S]]
// CHECK:     %[[I:.*]] = arith.select %{{.*}}, %[[T]], %{{.*}} : vector<1x32x64xi1>, vector<1x32x64xf32>
// CHECK:     %[[NEW:.*]] = vector.multi_reduction <maximumf>, %[[I]], %[[TOP]] [2]
// CHECK:     %[[NONE:.*]] = arith.cmpf oeq, %[[NEW]], %[[LOWS]]
// CHECK:     %[[LESS:.*]] = arith.select %[[NONE]], %[[ZEROS]], %[[NEW]]
// CHECK:     %[[W:.*]] = math.exp %{{.*}} : vector<1x32x64xf32>
// CHECK:     %[[D:.*]] = arith.subf %[[TOP]], %[[LESS]]
// CHECK:     %[[KEPT:.*]] = math.exp %[[D]]
// CHECK:     %[[BEFORE:.*]] = arith.mulf %[[SUM]], %[[KEPT]]
// CHECK:     %[[TOTAL:.*]] = vector.multi_reduction <add>, %[[W]], %[[BEFORE]] [2]
// CHECK:     %[[SCALED:.*]] = arith.mulf %[[ACC]]
// CHECK:     %[[V:.*]] = vector.transfer_read %arg2[%[[B]], %[[N]], %c0]
// CHECK:     %[[NEXT:.*]] = vector.contract {{.*}} %[[W]], %[[V]], %[[SCALED]]
// CHECK:     scf.yield %[[NEW]], %[[TOTAL]], %[[NEXT]]
// CHECK:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[R]]#1, %[[ZEROS]]
// CHECK:   arith.select %[[EMPTY]], %{{.*}}, %[[R]]#1
// CHECK:   arith.divf %[[R]]#2
#rows = affine_map<(b, m, n, d) -> (b, m, d)>
#keys = affine_map<(b, m, n, d) -> (b, n, d)>
#scores = affine_map<(b, m, n, d) -> (b, m, n)>
#weights = affine_map<(b, m, d, n) -> (b, m, n)>
#values = affine_map<(b, m, d, n) -> (b, n, d)>
#out = affine_map<(b, m, d, n) -> (b, m, d)>
func.func private @attention(%q: tensor<6x80x16xf32>, %k: tensor<6x100x16xf32>, %v: tensor<6x100x8xf32>, %o: tensor<6x80x8xf32>) -> tensor<6x80x8xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 32, 0, 64, 16>}} {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.25 : f32
  %e = tensor.empty() : tensor<6x80x100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x80x100xf32>) -> tensor<6x80x100xf32>
  %s = linalg.generic {indexing_maps = [#rows, #keys, #scores], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<6x80x16xf32>, tensor<6x100x16xf32>) outs(%f : tensor<6x80x100xf32>) attrs = {mlopt.op = "scores"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %c, %p : f32
    linalg.yield %t : f32
  } -> tensor<6x80x100xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<6x80x100xf32>) outs(%e : tensor<6x80x100xf32>) {
  ^bb0(%a: f32, %c: f32):
    %p = arith.mulf %a, %scale : f32
    linalg.yield %p : f32
  } -> tensor<6x80x100xf32>
  %r = "mlopt.attention"(%t, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = true, zero_nans = false, causal = -1 : i64} : (tensor<6x80x100xf32>, tensor<6x100x8xf32>, tensor<6x80x8xf32>) -> tensor<6x80x8xf32>
  return %r : tensor<6x80x8xf32>
}

// -----

// Scores from memory, half-float values, lengths that are not known; keys after the task's last row are passed
// over; rows of -inf alone are NaN, for which 0 stands in the result.
// CHECK-LABEL: @causal
// CHECK:   scf.forall (%[[B:.*]], %[[M:.*]]) = (0, 0) to (6, %{{.*}}) step (1, 32)
// CHECK:     %[[AFTER:.*]] = arith.addi %[[M]], %c32
// CHECK:     %[[END:.*]] = arith.minsi %[[AFTER]], %{{.*}}
// CHECK:     %[[R:.*]]:3 = scf.for %[[N:.*]] = %c0 to %[[END]] step %c16
// CHECK:       vector.transfer_read %arg0[%[[B]], %[[M]], %[[N]]]
// CHECK:       %[[V:.*]] = vector.transfer_read %arg1
// CHECK:       %[[WIDE:.*]] = arith.extf %[[V]] : vector<1x16x8xf16> to vector<1x16x8xf32>
// CHECK:       vector.contract {{.*}} %{{.*}}, %[[WIDE]], %{{.*}} {mlopt.rounds = "f16"}
// CHECK:     %[[SUM:.*]] = vector.broadcast
// CHECK:     %[[Q:.*]] = arith.divf %[[R]]#2, %[[SUM]]
// CHECK:     %[[NAN:.*]] = arith.cmpf uno, %[[R]]#1, %[[R]]#1
// CHECK:     arith.select %{{.*}}, %{{.*}}, %[[Q]]
#weights = affine_map<(b, m, d, n) -> (b, m, n)>
#values = affine_map<(b, m, d, n) -> (b, n, d)>
#out = affine_map<(b, m, d, n) -> (b, m, d)>
func.func private @causal(%t: tensor<6x?x?xf32>, %v: tensor<6x?x8xf16>, %o: tensor<6x?x8xf32>) -> tensor<6x?x8xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 32, 0, 16>}} {
  %r = "mlopt.attention"(%t, %v, %o) {indexing_maps = [#weights, #values, #out], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], zero_rows = false, zero_nans = true, mlopt.rounds = "f16", causal = 1 : i64} : (tensor<6x?x?xf32>, tensor<6x?x8xf16>, tensor<6x?x8xf32>) -> tensor<6x?x8xf32>
  return %r : tensor<6x?x8xf32>
}
