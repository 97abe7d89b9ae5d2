// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-float8-products)' | FileCheck %s
// RUN: not mlopt-opt %S/Inputs/float8-argument.mlir --pass-pipeline='builtin.module(mlopt-gpu-float8-products)' 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: no bitcast makes this f8E5M2; run mlopt-fp8-storage before

// What warpgroups multiply has its bits already, and casts of other floats stay.
// CHECK-LABEL: @others
// CHECK: vector.contract {{.*}} : vector<64x32xi8>, vector<64x32xi8> into vector<64x64xf32>
// CHECK: arith.bitcast %{{.*}} : vector<64xi16> to vector<64xbf16>
// CHECK: arith.extf %{{.*}} : vector<64xbf16> to vector<64xf32>
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @others(%x: vector<64x32xi8>, %y: vector<64x32xi8>, %s: vector<64x64xf32>, %h: vector<64xi16>)
    -> (vector<64x64xf32>, vector<64xf32>) {
  %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"], mlopt.mma = "m64n64k32.e4m3"}
      %x, %y, %s : vector<64x32xi8>, vector<64x32xi8> into vector<64x64xf32>
  %b = arith.bitcast %h : vector<64xi16> to vector<64xbf16>
  %f = arith.extf %b : vector<64xbf16> to vector<64xf32>
  return %t, %f : vector<64x64xf32>, vector<64xf32>
}
