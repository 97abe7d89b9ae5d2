// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-tile,canonicalize,cse)' | FileCheck %s

// The reduced dim in steps of 4 with a shorter last one; half floats are summed in f32; the epilogue follows.
// CHECK-LABEL: @matmul_relu
// CHECK: scf.forall (%[[M:.*]], %[[N:.*]]) = (0, 0) to (129, 1000) step (64, 128)
// CHECK:   %[[LOOP:.*]] = scf.for %[[K:.*]] = %c0 to %c764 step %c4 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<64x128xf32>)
// CHECK:     %[[A:.*]] = vector.transfer_read %{{.*}}[%[[M]], %[[K]]], {{.*}} {in_bounds = [false, true]} : tensor<129x766xbf16>, vector<64x4xbf16>
// CHECK:     %[[B:.*]] = vector.transfer_read %{{.*}}[%[[K]], %[[N]]], {{.*}} {in_bounds = [true, false]} : tensor<766x1000xbf16>, vector<4x128xbf16>
// CHECK:     vector.contract {{.*}} %[[A]], %[[B]], %[[ACC]] : vector<64x4xbf16>, vector<4x128xbf16> into vector<64x128xf32>
// CHECK:   %[[SUM:.*]] = vector.contract {{.*}}, %[[LOOP]] : vector<64x2xbf16>, vector<2x128xbf16> into vector<64x128xf32>
// CHECK:   %[[T:.*]] = arith.truncf %[[SUM]] : vector<64x128xf32> to vector<64x128xbf16>
// CHECK:   arith.maximumf %[[T]]
func.func private @matmul_relu(%a: tensor<129x766xbf16>, %b: tensor<766x1000xbf16>, %out: tensor<129x1000xbf16>) -> tensor<129x1000xbf16> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 64, 128, 4>}} {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<129x1000xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<129x1000xbf16>) -> tensor<129x1000xbf16>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<129x766xbf16>, tensor<766x1000xbf16>) outs(%f : tensor<129x1000xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %s: bf16):
    %q = arith.mulf %x, %y : bf16
    %t = arith.addf %s, %q : bf16
    linalg.yield %t : bf16
  } -> tensor<129x1000xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<129x1000xbf16>) outs(%out : tensor<129x1000xbf16>) {
  ^bb0(%x: bf16, %o: bf16):
    %y = arith.maximumf %x, %zero : bf16
    linalg.yield %y : bf16
  } -> tensor<129x1000xbf16>
  return %r : tensor<129x1000xbf16>
}

// A convolution: the window's loops around, input channels in steps inside.
// CHECK-LABEL: @conv
// CHECK: scf.forall (%[[CO:.*]], %[[H:.*]]) = (0, 0) to (72, 56) step (64, 1)
// CHECK:   scf.for %[[KH:.*]] = %c0 to %c3 step %c1
// CHECK:     scf.for %[[KW:.*]] = %c0 to %c3 step %c1
// CHECK:       scf.for %[[CI:.*]] = %c0 to %c64 step %c4
// CHECK:         %[[ROW:.*]] = affine.apply #{{.*}}(%[[H]], %[[KH]])
// CHECK:         %[[X:.*]] = vector.transfer_read %{{.*}}[%c0, %[[CI]], %[[ROW]], %[[KW]]], {{.*}} : tensor<1x64x58x58xf32>, vector<1x4x1x56xf32>
// CHECK:         %[[W:.*]] = vector.transfer_read %{{.*}}[%[[CI]], %[[KH]], %[[KW]], %[[CO]]], {{.*}} : tensor<64x3x3x72xf32>, vector<4x1x1x64xf32>
// CHECK:         %[[F:.*]] = vector.shape_cast %[[W]] : vector<4x1x1x64xf32> to vector<4x64xf32>
// CHECK:         vector.contract {{.*}} %[[X]], %[[F]], %{{.*}} : vector<1x4x1x56xf32>, vector<4x64xf32> into vector<1x64x1x56xf32>
func.func private @conv(%x: tensor<1x64x58x58xf32>, %w: tensor<64x3x3x72xf32>, %out: tensor<1x72x56x56xf32>) -> tensor<1x72x56x56xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 0, 64, 1, 0, 4, 1, 1>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x72x56x56xf32>) -> tensor<1x72x56x56xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, co, h, w, ci, kh, kw) -> (n, ci, h + kh, w + kw)>, affine_map<(n, co, h, w, ci, kh, kw) -> (ci, kh, kw, co)>, affine_map<(n, co, h, w, ci, kh, kw) -> (n, co, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x64x58x58xf32>, tensor<64x3x3x72xf32>) outs(%f : tensor<1x72x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<1x72x56x56xf32>
  return %r : tensor<1x72x56x56xf32>
}

// Nothing to sum: the init.
// CHECK-LABEL: @no_terms
// CHECK-NOT: vector.contract
// CHECK: vector.transfer_write %cst
func.func private @no_terms(%a: tensor<8x0xf32>, %b: tensor<0x16xf32>, %out: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 4, 0, 0>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x0xf32>, tensor<0x16xf32>) outs(%f : tensor<8x16xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// Both factors end in the reduced dim: still a contraction, along the rows of the second.
// CHECK-LABEL: @rows_with_rows
// CHECK:   scf.for %[[K:.*]] = %c0 to %c64 step %c8
// CHECK:     vector.transfer_read {{.*}} : tensor<40x64xf32>, vector<40x8xf32>
// CHECK:     vector.transfer_read {{.*}} : tensor<96x64xf32>, vector<64x8xf32>
// CHECK:     vector.contract {{.*}} : vector<40x8xf32>, vector<64x8xf32> into vector<40x64xf32>
func.func private @rows_with_rows(%a: tensor<40x64xf32>, %b: tensor<96x64xf32>, %out: tensor<40x96xf32>) -> tensor<40x96xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 0, 64, 8>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<40x96xf32>) -> tensor<40x96xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<40x64xf32>, tensor<96x64xf32>) outs(%f : tensor<40x96xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %q = arith.mulf %x, %y : f32
    %t = arith.addf %s, %q : f32
    linalg.yield %t : f32
  } -> tensor<40x96xf32>
  return %p : tensor<40x96xf32>
}

// Where the schedule says so, the last step reaches beyond the depth, where both factors are zero.
// CHECK-LABEL: @beyond
// CHECK:   scf.for %[[K:.*]] = %c0 to %c766 step %c64
// CHECK:     vector.transfer_read %{{.*}}[%{{.*}}, %[[K]]], {{.*}} {in_bounds = [true, false]} : tensor<128x766xbf16>, vector<64x64xbf16>
// CHECK:     vector.contract
// CHECK-NOT: vector.contract
// CHECK-LABEL: @not_beyond
// CHECK:   scf.for %{{.*}} = %c0 to %c704 step %c64
// CHECK:     vector.contract
// CHECK:   vector.contract {{.*}} vector<64x62xbf16>
func.func private @beyond(%a: tensor<128x766xbf16>, %b: tensor<766x128xbf16>, %out: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 64, 128, 64>, beyond = array<i64: 1>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x766xbf16>, tensor<766x128xbf16>) outs(%f : tensor<128x128xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %q = arith.mulf %u, %v : f32
    %t = arith.addf %s, %q : f32
    linalg.yield %t : f32
  } -> tensor<128x128xf32>
  return %p : tensor<128x128xf32>
}

// What is computed of the zeros beyond would be no zeros.
func.func private @not_beyond(%a: tensor<128x766xbf16>, %b: tensor<766x128xbf16>, %out: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 64, 128, 64>, beyond = array<i64: 1>, warps = array<i64: 4>}} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %e = tensor.empty() : tensor<128x766xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<128x766xbf16>) outs(%e : tensor<128x766xbf16>) {
  ^bb0(%x: bf16, %o: bf16):
    %y = arith.addf %x, %one : bf16
    linalg.yield %y : bf16
  } -> tensor<128x766xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%c, %b : tensor<128x766xbf16>, tensor<766x128xbf16>) outs(%f : tensor<128x128xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %q = arith.mulf %u, %v : f32
    %t = arith.addf %s, %q : f32
    linalg.yield %t : f32
  } -> tensor<128x128xf32>
  return %p : tensor<128x128xf32>
}
