// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores)' | FileCheck %s

// What no instruction multiplies: no factor of it is rounded either.
// CHECK-NOT: mlopt.mma
// CHECK-NOT: arith.truncf
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// f32: tf32 would drop bits.
func.func private @f32(%a: vector<64x32xf32>, %b: vector<32x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<64x32xf32>, vector<32x64xf32> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// Sums in half floats.
func.func private @f16(%a: vector<64x32xf16>, %b: vector<32x64xf16>, %out: memref<64x64xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf16>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<64x32xf16>, vector<32x64xf16> into vector<64x64xf16>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf16>, memref<64x64xf16>
  }
  return
}

// A batch within the tile: both factors and the result have its dim.
func.func private @batch(%a: vector<4x16x16xf16>, %b: vector<4x16x16xf16>, %out: memref<4x16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<4x16x16xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>,
                                           affine_map<(b, m, n, k) -> (b, m, n)>],
                          iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<4x16x16xf16>, vector<4x16x16xf16> into vector<4x16x16xf32>
    vector.transfer_write %d, %out[%c0, %c0, %c0] : vector<4x16x16xf32>, memref<4x16x16xf32>
  }
  return
}

// Two dims of rows, of which one has no power of two.
func.func private @pixels(%a: vector<3x16x16xf16>, %b: vector<16x16xf16>, %out: memref<3x16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<3x16x16xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [affine_map<(h, w, n, k) -> (h, w, k)>, affine_map<(h, w, n, k) -> (k, n)>,
                                           affine_map<(h, w, n, k) -> (h, w, n)>],
                          iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<3x16x16xf16>, vector<16x16xf16> into vector<3x16x16xf32>
    vector.transfer_write %d, %out[%c0, %c0, %c0] : vector<3x16x16xf32>, memref<3x16x16xf32>
  }
  return
}

// The largest product, not their sum.
func.func private @maximum(%a: vector<64x32xbf16>, %b: vector<32x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"],
                          kind = #vector.kind<maxnumf>}
        %a, %b, %zero : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// One element deep.
func.func private @shallow(%a: vector<64x1xbf16>, %b: vector<1x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<64x1xbf16>, vector<1x64xbf16> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// Half floats that were widened, beside a factor that the program does not round.
func.func private @exact(%a: vector<64x32xf32>, %b: vector<32x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %wide = arith.extf %b : vector<32x64xbf16> to vector<32x64xf32>
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %wide, %zero : vector<64x32xf32>, vector<32x64xf32> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// Rounded, but to what is no half float; and of a batch within the tile.
func.func private @rounds_to_double(%a: vector<64x32xf64>, %b: vector<32x64xf64>, %out: memref<64x64xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf64>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], mlopt.rounds = "bf16"}
        %a, %b, %zero : vector<64x32xf64>, vector<32x64xf64> into vector<64x64xf64>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf64>, memref<64x64xf64>
  }
  return
}
func.func private @rounds_batch(%a: vector<4x16x16xf32>, %b: vector<4x16x16xf32>, %out: memref<4x16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<4x16x16xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>,
                                           affine_map<(b, m, n, k) -> (b, m, n)>],
                          iterator_types = ["parallel", "parallel", "parallel", "reduction"], mlopt.rounds = "f16"}
        %a, %b, %zero : vector<4x16x16xf32>, vector<4x16x16xf32> into vector<4x16x16xf32>
    vector.transfer_write %d, %out[%c0, %c0, %c0] : vector<4x16x16xf32>, memref<4x16x16xf32>
  }
  return
}

// Factors are not exchanged where there are as few columns as rows,
// CHECK-LABEL: @few_columns
// CHECK: vector.contract {{.*}} %arg0, %arg1, {{.*}}mlopt.mma
func.func private @few_columns(%a: vector<8x32xbf16>, %b: vector<32x8xbf16>, %out: memref<8x8xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<8x32xbf16>, vector<32x8xbf16> into vector<8x8xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<8x8xf32>, memref<8x8xf32>
  }
  return
}

// nor rows of two dims.
// CHECK-LABEL: @few_pixels
// CHECK: vector.contract {{.*}} %arg0, %arg1, {{.*}}mlopt.mma
func.func private @few_pixels(%a: vector<2x4x32xbf16>, %b: vector<32x64xbf16>, %out: memref<2x4x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<2x4x64xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [affine_map<(h, w, n, k) -> (h, w, k)>, affine_map<(h, w, n, k) -> (k, n)>,
                                           affine_map<(h, w, n, k) -> (h, w, n)>],
                          iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<2x4x32xbf16>, vector<32x64xbf16> into vector<2x4x64xf32>
    vector.transfer_write %d, %out[%c0, %c0, %c0] : vector<2x4x64xf32>, memref<2x4x64xf32>
  }
  return
}
