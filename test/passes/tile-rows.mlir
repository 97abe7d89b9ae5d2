// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-tile,cse)' | FileCheck %s

// A row of unknown length: its sum first, then its results; each in the steps within the row, and one beyond.
// CHECK: #[[WHOLE:.*]] = affine_map<(d0) -> ((d0 floordiv 32) * 32)>
// CHECK-LABEL: @row
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4x?xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %c1
// CHECK: %[[END:.*]] = affine.apply #[[WHOLE]](%[[N]])
// CHECK: scf.forall (%[[I:.*]]) in (4) shared_outs(%[[OUT:.*]] = %{{.*}})
// CHECK:   %[[P:.*]] = scf.for %[[K:.*]] = %c0{{.*}} to %[[END]] step %c32{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<1x32xf32>)
// CHECK:     %[[V:.*]] = vector.transfer_read %[[X]][%[[I]], %[[K]]], %{{.*}} {in_bounds = [true, true]}
// CHECK:     arith.addf %[[ACC]], %[[V]]
// CHECK:   %[[T:.*]] = scf.for %[[K:.*]] = %[[END]] to %[[N]] step %c32{{.*}} iter_args(%[[ACC:.*]] = %[[P]])
// CHECK:     %[[V:.*]] = vector.transfer_read %[[X]][%[[I]], %[[K]]], %{{.*}} {in_bounds = [true, false]}
// CHECK:     %[[W:.*]] = arith.select %{{.*}}, %[[V]], %{{.*}}
// CHECK:     arith.addf %[[ACC]], %[[W]]
// CHECK:   vector.multi_reduction <add>, %[[T]], %{{.*}} [1] : vector<1x32xf32> to vector<1xf32>
// CHECK:   %[[MOST:.*]] = scf.for %[[K:.*]] = %c0{{.*}} to %[[END]] step %c32{{.*}} iter_args(%[[O:.*]] = %[[OUT]]) -> (tensor<4x?xf32>)
// CHECK:     vector.transfer_write %{{.*}}, %[[O]][%[[I]], %[[K]]] {in_bounds = [true, true]}
// CHECK:   %[[ALL:.*]] = scf.for %[[K:.*]] = %[[END]] to %[[N]] step %c32{{.*}} iter_args(%[[O:.*]] = %[[MOST]])
// CHECK:     vector.transfer_write %{{.*}}, %[[O]][%[[I]], %[[K]]] {in_bounds = [true, false]}
// CHECK:   tensor.parallel_insert_slice %[[ALL]]
func.func private @row(%x: tensor<4x?xf32>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 0, 0>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x?xf32>, tensor<4xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// Steps as they are scheduled.
// CHECK-LABEL: @steps
// CHECK: scf.for {{.*}} step %c512{{.*}} -> (vector<1x512xf32>)
// CHECK: scf.for {{.*}} step %c1024{{.*}} -> (tensor<4x?xf32>)
func.func private @steps(%x: tensor<4x?xf32>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 1024, 512>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4x?xf32>, tensor<4xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// Two results along the row are written in one loop, what is reduced of it after none.
// CHECK-LABEL: @results
// CHECK: scf.for {{.*}} -> (vector<1x32xf32>)
// CHECK: scf.for {{.*}} -> (vector<1x32xf32>)
// CHECK: scf.for {{.*}} -> (tensor<4x?xf32>, tensor<4x?xf32>)
// CHECK:   vector.transfer_write
// CHECK:   vector.transfer_write
// CHECK: scf.for {{.*}} -> (tensor<4x?xf32>, tensor<4x?xf32>)
// CHECK-NOT: scf.for
// CHECK: scf.forall.in_parallel
func.func private @results(%x: tensor<4x?xf32>, %a: tensor<4x?xf32>, %b: tensor<4x?xf32>, %c: tensor<4xf32>) -> (tensor<4x?xf32>, tensor<4x?xf32>, tensor<4xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 0, 0>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%c : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %y = arith.addf %v, %o : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x?xf32>) outs(%a : tensor<4x?xf32>) {
  ^bb0(%v: f32, %o: f32):
    %y = math.exp %v : f32
    linalg.yield %y : f32
  } -> tensor<4x?xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%e, %s : tensor<4x?xf32>, tensor<4xf32>) outs(%b : tensor<4x?xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %y = arith.divf %v, %w : f32
    linalg.yield %y : f32
  } -> tensor<4x?xf32>
  return %e, %d, %s : tensor<4x?xf32>, tensor<4x?xf32>, tensor<4xf32>
}

// Columns of unknown length: their sums grow in a task's scratch, step by step, and are kept there for what follows.
// CHECK-LABEL: @columns
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<?x600xf32>
// CHECK: scf.forall (%[[J:[a-z0-9]*]]) = (0) to (600) step (192)
// CHECK:   %[[KEPT:.*]] = memref.alloca() {alignment = 64 : i64} : memref<192xf32>
// CHECK:   %[[TOTAL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<192xf32>
// CHECK:   scf.for
// CHECK:     %[[BEFORE:.*]] = vector.transfer_read %[[TOTAL]][%c0{{.*}}]
// CHECK:     %[[SUM:.*]] = vector.multi_reduction <add>, %{{.*}}, %[[BEFORE]] [0] : vector<32x192xf32>
// CHECK:     vector.transfer_write %[[SUM]], %[[TOTAL]][%c0{{.*}}] {in_bounds = [true]}
// CHECK:   scf.for
// CHECK:     vector.multi_reduction
// CHECK:   %[[ALL:.*]] = vector.transfer_read %[[TOTAL]][%c0{{.*}}]
// CHECK:   vector.transfer_write %[[ALL]], %[[KEPT]][%c0{{.*}}] {in_bounds = [true]}
// CHECK:   scf.for %[[K:[a-z0-9]*]] = {{.*}} -> (tensor<?x600xf32>)
// CHECK:     vector.transfer_read %[[X]][%[[K]], %[[J]]], %{{.*}} {in_bounds = [true, false]} : tensor<?x600xf32>, vector<32x192xf32>
// CHECK:     vector.transfer_read %[[KEPT]][%c0{{.*}}]
// CHECK:     arith.divf
// CHECK:   scf.for {{.*}} -> (tensor<?x600xf32>)
func.func private @columns(%x: tensor<?x600xf32>, %out: tensor<?x600xf32>) -> tensor<?x600xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 0, 192, 0>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<600xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<600xf32>) -> tensor<600xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<?x600xf32>) outs(%f : tensor<600xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<600xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x600xf32>, tensor<600xf32>) outs(%out : tensor<?x600xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<?x600xf32>
  return %r : tensor<?x600xf32>
}

// Totals of totals: the loop within the rows and the one through the rest take the same scratch, and so do those
// that come after them; what a total starts from is a constant, and not kept.
// CHECK-LABEL: @totals_of_totals
// CHECK: scf.forall (%[[J:[a-z0-9]*]]) = (0) to (%{{.*}}) step (256)
// CHECK-NEXT:   %[[MAXIMUM:.*]] = memref.alloca() {alignment = 64 : i64} : memref<256xf32>
// CHECK-NEXT:   %[[SUM:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x256xf32>
// CHECK-NOT:    memref.alloca
// CHECK:        scf.for {{.*}} -> (tensor<?x?xf32>)
// CHECK-COUNT-3:  vector.transfer_write %{{.*}}, %[[SUM]][
// CHECK:          vector.transfer_write {{.*}}, tensor<?x?xf32>
// CHECK:        scf.for {{.*}} -> (tensor<?x?xf32>)
// CHECK-COUNT-3:  vector.transfer_write %{{.*}}, %[[SUM]][
// CHECK:          vector.transfer_write {{.*}}, tensor<?x?xf32>
// CHECK:        vector.transfer_write %{{.*}}, %[[MAXIMUM]][
// CHECK:        scf.for
// CHECK-COUNT-3:  vector.transfer_write %{{.*}}, %[[SUM]][
// CHECK:          vector.multi_reduction <maximumf>
// CHECK:          vector.transfer_write %{{.*}}, %[[MAXIMUM]][
// CHECK:        scf.for
// CHECK-COUNT-3:  vector.transfer_write %{{.*}}, %[[SUM]][
// CHECK:          vector.multi_reduction <maximumf>
// CHECK:          vector.transfer_write %{{.*}}, %[[MAXIMUM]][
func.func private @totals_of_totals(%x: tensor<?x?x?xf32>, %a: tensor<?x?xf32>, %b: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 256, 0, 0>}} {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %f = linalg.fill ins(%zero : f32) outs(%a : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(k, i, j) -> (k, i, j)>, affine_map<(k, i, j) -> (i, j)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x : tensor<?x?x?xf32>) outs(%f : tensor<?x?xf32>) {
  ^bb0(%v: f32, %t: f32):
    %y = arith.addf %v, %t : f32
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  %g = linalg.fill ins(%least : f32) outs(%b : tensor<?xf32>) -> tensor<?xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%s : tensor<?x?xf32>) outs(%g : tensor<?xf32>) {
  ^bb0(%v: f32, %t: f32):
    %y = arith.maximumf %v, %t : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %s, %m : tensor<?x?xf32>, tensor<?xf32>
}
