// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse,mlopt-verify)' | FileCheck %s

// Indices are read and checked in long steps; those that name one of the block's rows are listed, each with its
// place and its row. Then what belongs to them is read: three rows at once, then those that are left, if there are
// any; a second one that is not there is behind the last row.
// CHECK-LABEL: @sum
// CHECK-SAME: (%[[IDS:.*]]: tensor<4000xi64>, %[[VALUES:.*]]: tensor<4000x512xf32>
// CHECK: scf.forall (%[[R:.*]]) = (0) to (3000) step (4)
// CHECK:   %[[LIST:.*]] = memref.alloca() {{.*}} : memref<1024xi32>
// CHECK:   scf.for %[[K:.*]] = %c0 to %c4000 step %c1024 iter_args(%[[START:.*]] = %{{.*}}) -> (vector<4x512xf32>)
// CHECK:     vector.transfer_read %[[IDS]][%[[K]]], %{{.*}} : tensor<4000xi64>, vector<1024xi64>
// CHECK:     %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<1024xindex>
// CHECK:     cf.assert %{{.*}}, "IndexError: index out of range in self"
// CHECK:     %[[ROW:.*]] = arith.subi %{{.*}}, %{{.*}} : vector<1024xi64>
// CHECK:     %[[OWN:.*]] = arith.cmpi ult, %[[ROW]], %{{.*}} : vector<1024xi64>
// CHECK:     %[[HIT:.*]] = arith.andi %[[OWN]], %[[INSIDE]] : vector<1024xi1>
// CHECK:     vector.compressstore %[[LIST]][%c0], %[[HIT]], %{{.*}} : memref<1024xi32>, vector<1024xi1>, vector<1024xi32>
// CHECK:     %[[COUNT:.*]] = vector.multi_reduction <add>, %{{.*}}, %{{.*}} [0] : vector<1024xi32> to i32
// CHECK:     %[[END:.*]] = arith.index_castui %[[COUNT]]
// CHECK:     %[[WHOLE:.*]] = affine.apply {{.*}}(%[[END]])
// CHECK:     scf.for %[[J:.*]] = %c0 to %[[WHOLE]] step %c3 iter_args(%{{.*}} = %[[START]])
// CHECK:       memref.load %[[LIST]][%[[J]]]
// CHECK:       %[[AT:.*]] = arith.addi %[[K]], %{{.*}} : index
// CHECK:       arith.cmpi eq, %{{.*}}, %{{.*}} : vector<4xindex>
// CHECK:       vector.transfer_read %[[VALUES]][%[[AT]], %c0], %{{.*}} {in_bounds = [true, true]} : tensor<4000x512xf32>, vector<1x512xf32>
// CHECK:       arith.addf
// CHECK:       vector.transfer_read %[[VALUES]]
// CHECK:       arith.addf
// CHECK:       vector.transfer_read %[[VALUES]]
// CHECK:       arith.addf
// CHECK:     scf.for %[[J:.*]] = %[[WHOLE]] to %[[END]] step %c2
// CHECK:       %[[NEXT:.*]] = arith.addi %[[J]], %c1
// CHECK:       %[[THERE:.*]] = arith.cmpi ult, %[[NEXT]], %[[END]]
// CHECK:       memref.load %[[LIST]][%[[J]]]
// CHECK:       %[[WHICH:.*]] = arith.select %[[THERE]], %[[NEXT]], %[[J]]
// CHECK:       memref.load %[[LIST]][%[[WHICH]]]
// CHECK:       vector.transfer_read %[[VALUES]]{{.*}} {in_bounds = [true, true]}
// CHECK:       arith.addf
// CHECK:       %[[AT:.*]] = arith.select %[[THERE]], %{{.*}}, %c4000
// CHECK:       vector.transfer_read %[[VALUES]][%[[AT]], %c0], %{{.*}} {in_bounds = [false, true]}
// CHECK:       arith.addf
#i = affine_map<(k) -> (k)>
#rk = affine_map<(r, k) -> (r, k)>
#k_of_rk = affine_map<(r, k) -> (k)>
#truths = affine_map<(r, k, c) -> (r, k)>
#values = affine_map<(r, k, c) -> (k, c)>
#rkc = affine_map<(r, k, c) -> (r, k, c)>
#rc = affine_map<(r, k, c) -> (r, c)>

func.func private @sum(%i: tensor<4000xi64>, %v: tensor<4000x512xf32>, %out: tensor<3000x512xf32>) -> tensor<3000x512xf32> attributes {mlopt.kernel, mlopt.schedule = {listed = array<i64: 3>, min_blocks = array<i64: 4>, tile = array<i64: 4, 0, 1024>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<3000x4000xi8>
  %ew = tensor.empty() : tensor<3000x4000x512xf32>
  %er = tensor.empty() : tensor<3000x512xf32>
  %none = arith.constant 0 : i8
  %ei = tensor.empty() : tensor<4000xi64>
  %checked = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%i : tensor<4000xi64>) outs(%ei : tensor<4000xi64>) {
  ^bb0(%x: i64, %o: i64):
    %rows = arith.constant 3000 : i64
    %first = arith.constant 0 : i64
    %ok = arith.cmpi ult, %x, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %x, %first : i64
    linalg.yield %safe : i64
  } -> tensor<4000xi64>
  %h = linalg.generic {indexing_maps = [#k_of_rk, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%checked : tensor<4000xi64>) outs(%e8 : tensor<3000x4000xi8>) {
  ^bb0(%x: i64, %o: i8):
    %r = linalg.index 0 : index
    %row = arith.index_cast %r : index to i64
    %hit = arith.cmpi eq, %x, %row : i64
    %stored = arith.extui %hit : i1 to i8
    linalg.yield %stored : i8
  } -> tensor<3000x4000xi8>
  %w = linalg.generic {indexing_maps = [#truths, #values, #rkc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %v : tensor<3000x4000xi8>, tensor<4000x512xf32>) outs(%ew : tensor<3000x4000x512xf32>) {
  ^bb0(%x: i8, %y: f32, %o: f32):
    %hit = arith.cmpi ne, %x, %none : i8
    %s = arith.select %hit, %y, %zero : f32
    linalg.yield %s : f32
  } -> tensor<3000x4000x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<3000x512xf32>) -> tensor<3000x512xf32>
  %t = linalg.generic {indexing_maps = [#rkc, #rc], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%w : tensor<3000x4000x512xf32>) outs(%f : tensor<3000x512xf32>) {
  ^bb0(%x: f32, %a: f32):
    %s = arith.addf %a, %x : f32
    linalg.yield %s : f32
  } -> tensor<3000x512xf32>
  return %t : tensor<3000x512xf32>
}
