// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores)' | FileCheck %s

// Factors of half floats and bytes, sums of f32 and i32; sizes need not divide.
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#bt = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: @bf16
// CHECK: vector.contract {{.*}}mlopt.mma = "m16n8k16.bf16"
func.func private @bf16(%a: vector<64x32xbf16>, %b: vector<32x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// CHECK-LABEL: @f16_turned
// CHECK: vector.contract {{.*}}mlopt.mma = "m16n8k16.f16"
func.func private @f16_turned(%a: vector<7x9xf16>, %b: vector<5x9xf16>, %out: memref<7x5xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<7x5xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #bt, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<7x9xf16>, vector<5x9xf16> into vector<7x5xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<7x5xf32>, memref<7x5xf32>
  }
  return
}

// CHECK-LABEL: @i8
// CHECK: vector.contract {{.*}}mlopt.mma = "m16n8k32.s8"
func.func private @i8(%a: vector<64x32xi8>, %b: vector<32x64xi8>, %out: memref<64x64xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : vector<64x64xi32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<64x32xi8>, vector<32x64xi8> into vector<64x64xi32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xi32>, memref<64x64xi32>
  }
  return
}

// f32 where the schedule says that its products may be rounded; not else.
// CHECK-LABEL: @tf32
// CHECK: vector.contract {{.*}}mlopt.mma = "m16n8k8.tf32"
// CHECK-LABEL: @f32
// CHECK-NOT: mlopt.mma
// CHECK: return
func.func private @tf32(%a: vector<64x32xf32>, %b: vector<32x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<64x32xf32>, vector<32x64xf32> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tf32 = array<i64: 1>, warps = array<i64: 4>}}
  return
}
func.func private @f32(%a: vector<64x32xf32>, %b: vector<32x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<64x32xf32>, vector<32x64xf32> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {warps = array<i64: 4>}}
  return
}

// The program rounds the first factor: so both are what the second one was before it was widened.
// CHECK-LABEL: @rounds
// CHECK: %[[A:.*]] = arith.truncf %arg0 : vector<64x32xf32> to vector<64x32xbf16>
// CHECK-NOT: arith.extf
// CHECK: vector.contract {{.*}} %[[A]], %arg1, %{{.*}}mlopt.mma = "m16n8k16.bf16"{{.*}} : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
func.func private @rounds(%a: vector<64x32xf32>, %b: vector<32x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %wide = arith.extf %b : vector<32x64xbf16> to vector<32x64xf32>
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], mlopt.rounds = "bf16"}
        %a, %wide, %zero : vector<64x32xf32>, vector<32x64xf32> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// The second factor is computed in f32: it is rounded, too, as the program has it.
// CHECK-LABEL: @rounds_both
// CHECK: arith.truncf %arg0 : vector<64x32xf32> to vector<64x32xf16>
// CHECK: arith.truncf %{{.*}} : vector<32x64xf32> to vector<32x64xf16>
// CHECK: mlopt.mma = "m16n8k16.f16"
func.func private @rounds_both(%a: vector<64x32xf32>, %b: vector<32x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %twice = arith.addf %b, %b : vector<32x64xf32>
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], mlopt.rounds = "f16"}
        %a, %twice, %zero : vector<64x32xf32>, vector<32x64xf32> into vector<64x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  }
  return
}

// Few rows are an instruction's columns: factors are exchanged, and the result keeps its dims.
// CHECK-LABEL: @few_rows
// CHECK: vector.contract {indexing_maps = [#map1, #map, #map2]{{.*}} %arg1, %arg0, %{{.*}}mlopt.mma = "m16n8k16.bf16"{{.*}} : vector<32x64xbf16>, vector<7x32xbf16> into vector<7x64xf32>
func.func private @few_rows(%x: vector<7x32xbf16>, %w: vector<32x64xbf16>, %out: memref<7x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<7x64xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %x, %w, %zero : vector<7x32xbf16>, vector<32x64xbf16> into vector<7x64xf32>
    vector.transfer_write %d, %out[%c0, %c0] : vector<7x64xf32>, memref<7x64xf32>
  }
  return
}

// But not of two products in a row: the second one's factor is what a warp's rows of the first one are.
// CHECK-LABEL: @chained
// CHECK: vector.contract {{.*}} : vector<7x32xbf16>, vector<32x64xbf16> into vector<7x64xf32>
// CHECK: vector.contract {{.*}} : vector<7x64xbf16>, vector<64x32xbf16> into vector<7x32xf32>
func.func private @chained(%x: vector<7x32xbf16>, %w: vector<32x64xbf16>, %v: vector<64x32xbf16>, %out: memref<7x32xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<7x64xf32>
  %none = arith.constant dense<0.0> : vector<7x32xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %x, %w, %zero : vector<7x32xbf16>, vector<32x64xbf16> into vector<7x64xf32>
    %h = arith.truncf %d : vector<7x64xf32> to vector<7x64xbf16>
    %e = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %h, %v, %none : vector<7x64xbf16>, vector<64x32xbf16> into vector<7x32xf32>
    vector.transfer_write %e, %out[%c0, %c0] : vector<7x32xf32>, memref<7x32xf32>
  }
  return
}

// Rows along two dims, whose sizes are powers of two: places of a convolution.
// CHECK-LABEL: @pixels
// CHECK: vector.contract {{.*}}mlopt.mma = "m16n8k16.f16"
func.func private @pixels(%a: vector<4x16x16xf16>, %b: vector<16x16xf16>, %out: memref<4x16x16xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<4x16x16xf32>
  scf.forall (%i) in (1) {
    %d = vector.contract {indexing_maps = [affine_map<(h, w, n, k) -> (h, w, k)>, affine_map<(h, w, n, k) -> (k, n)>,
                                           affine_map<(h, w, n, k) -> (h, w, n)>],
                          iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<4x16x16xf16>, vector<16x16xf16> into vector<4x16x16xf32>
    vector.transfer_write %d, %out[%c0, %c0, %c0] : vector<4x16x16xf32>, memref<4x16x16xf32>
  }
  return
}
