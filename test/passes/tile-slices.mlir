// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse)' | FileCheck %s

// Padding: the fill's tile, then the source's at its place, by one task.
// CHECK-LABEL: @pad
// CHECK: scf.forall (%[[C:.*]]) = (0) to (64) step (4) shared_outs(%[[O:.*]] =
// CHECK:   %[[F:.*]] = vector.transfer_write %{{.*}}, %[[O]][%[[C]], %c0, %c0] {{.*}} : vector<4x58x58xf32>, tensor<64x58x58xf32>
// CHECK:   %[[V:.*]] = vector.transfer_read %{{.*}}[%[[C]], %c0, %c0], {{.*}} : tensor<64x56x56xf32>, vector<4x56x56xf32>
// CHECK:   vector.transfer_write %[[V]], %[[F]][%[[C]], %c1, %c1] {{.*}} : vector<4x56x56xf32>, tensor<64x58x58xf32>
func.func private @pad(%x: tensor<64x56x56xf32>, %out: tensor<64x58x58xf32>) -> tensor<64x58x58xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 4, 0, 0, 0, 0>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x58x58xf32>) -> tensor<64x58x58xf32>
  %r = tensor.insert_slice %x into %f[0, 1, 1] [64, 56, 56] [1, 1, 1] : tensor<64x56x56xf32> into tensor<64x58x58xf32>
  return %r : tensor<64x58x58xf32>
}

// One part of a concatenation, with the op that makes it; the rest of the destination is kept.
// CHECK-LABEL: @exp_into
// CHECK: scf.forall (%[[A:.*]], %[[B:.*]]) = (0, 0) to (10, 40) step (5, 16)
// CHECK:   %[[E:.*]] = math.exp
// CHECK:   %[[AT:.*]] = affine.apply #{{.*}}(%[[B]])
// CHECK:   vector.transfer_write %[[E]], %{{.*}}[%[[A]], %[[AT]]] {in_bounds = [true, false]} : vector<5x16xf32>, tensor<10x70xf32>
func.func private @exp_into(%x: tensor<10x40xf32>, %out: tensor<10x70xf32>) -> tensor<10x70xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 5, 16>}} {
  %e = tensor.empty() : tensor<10x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<10x40xf32>) outs(%e : tensor<10x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<10x40xf32>
  %r = tensor.insert_slice %y into %out[0, 30] [10, 40] [1, 1] : tensor<10x40xf32> into tensor<10x70xf32>
  return %r : tensor<10x70xf32>
}

// A slice that is taken is a read at a shifted place.
// CHECK-LABEL: @take
// CHECK: vector.transfer_read %{{.*}}[%{{.*}}, %c30], %{{.*}} : tensor<10x70xf32>, vector<5x40xf32>
func.func private @take(%x: tensor<10x70xf32>, %out: tensor<10x40xf32>) -> tensor<10x40xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 5, 0>}} {
  %r = tensor.extract_slice %x[0, 30] [10, 40] [1, 1] : tensor<10x70xf32> to tensor<10x40xf32>
  return %r : tensor<10x40xf32>
}

// A length that only the slice's own size says: a task an element, up to there.
// CHECK-LABEL: @take_some
// CHECK-SAME: %[[START:[a-z0-9]*]]: index, %[[N:[a-z0-9]*]]: index
// CHECK: scf.forall (%{{.*}}) in (%[[N]])
func.func private @take_some(%x: tensor<?xf32>, %start: index, %n: index, %out: tensor<?xf32>) -> tensor<?xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1>}} {
  %p = tensor.extract_slice %x[%start] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %r = tensor.insert_slice %p into %out[%n] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  return %r : tensor<?xf32>
}
