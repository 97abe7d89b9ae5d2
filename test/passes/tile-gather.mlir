// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse)' | FileCheck %s

// An embedding: the index is a scalar, the row of the table a read at that place, the check a scalar condition.
// CHECK-LABEL: @embedding
// CHECK-SAME: (%[[IDS:.*]]: tensor<20xi64>, %[[TABLE:.*]]: tensor<700x768xf32>
// CHECK: scf.forall (%[[A:.*]]) in (20)
// CHECK:   %[[ID:.*]] = tensor.extract %[[IDS]][%[[A]]] : tensor<20xi64>
// CHECK:   %[[OK:.*]] = arith.cmpi ult, %[[ID]], %{{.*}} : i64
// CHECK:   cf.assert %[[OK]], "IndexError: index out of range in self"
// CHECK:   %[[SAFE:.*]] = arith.select %[[OK]], %[[ID]], %{{.*}} : i64
// CHECK:   %[[ROW:.*]] = arith.index_cast %[[SAFE]] : i64 to index
// CHECK:   vector.transfer_read %[[TABLE]][%[[ROW]], %c0], %{{.*}} : tensor<700x768xf32>, vector<768xf32>
func.func private @embedding(%ids: tensor<20xi64>, %table: tensor<700x768xf32>, %out: tensor<20x768xf32>) -> tensor<20x768xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 0>}} {
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<20xi64>) outs(%out : tensor<20x768xf32>) {
  ^bb0(%i: i64, %o: f32):
    %zero = arith.constant 0 : i64
    %rows = arith.constant 700 : i64
    %ok = arith.cmpi ult, %i, %rows : i64
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %i, %zero : i64
    %row = arith.index_cast %safe : i64 to index
    %column = linalg.index 1 : index
    %v = tensor.extract %table[%row, %column] : tensor<700x768xf32>
    linalg.yield %v : f32
  } -> tensor<20x768xf32>
  return %r : tensor<20x768xf32>
}

// A check of many elements becomes one; elements beyond the end pass.
// CHECK-LABEL: @checked
// CHECK: %[[BAD:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : vector<8xi64>
// CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<8xindex>
// CHECK: %[[HOLDS:.*]] = arith.select %[[IN]], %[[BAD]], %{{.*}} : vector<8xi1>, vector<8xi1>
// CHECK: %[[ALL:.*]] = vector.multi_reduction <and>, %[[HOLDS]], %true [0] : vector<8xi1> to i1
// CHECK: cf.assert %[[ALL]], "ZeroDivisionError
func.func private @checked(%x: tensor<20xi64>, %out: tensor<20xi64>) -> tensor<20xi64> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 8>}} {
  %r = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      ins(%x : tensor<20xi64>) outs(%out : tensor<20xi64>) {
  ^bb0(%i: i64, %o: i64):
    %zero = arith.constant 0 : i64
    %ok = arith.cmpi ne, %i, %zero : i64
    cf.assert %ok, "ZeroDivisionError: integer division or modulo by zero"
    linalg.yield %i : i64
  } -> tensor<20xi64>
  return %r : tensor<20xi64>
}
