// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-join-siblings)' | FileCheck %s
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// One loop reads the shared factor once; what was made of the first product comes behind it.
// CHECK-LABEL: @gated
// CHECK: %[[D:.*]]:2 = scf.for %[[K:[a-z0-9]+]] = {{.*}} iter_args(%[[S:[a-z0-9]+]] = %{{.*}}, %[[U:[a-z0-9]+]] = %{{.*}})
// CHECK-NEXT: %[[X:[0-9]+]] = vector.transfer_read %arg0[%{{.*}}, %[[K]]]
// CHECK-NEXT: %[[Y:[0-9]+]] = vector.transfer_read %arg1[%{{.*}}, %[[K]]]
// CHECK-NEXT: %[[T:[0-9]+]] = vector.contract {{.*}} %[[X]], %[[Y]], %[[S]] {mlopt.mma = "m64n64k16.bf16"}
// CHECK-NEXT: %[[Z:[0-9]+]] = vector.transfer_read %arg2[%{{.*}}, %[[K]]]
// CHECK-NEXT: %[[V:[0-9]+]] = vector.contract {{.*}} %[[X]], %[[Z]], %[[U]] {mlopt.mma = "m64n64k16.bf16"}
// CHECK-NEXT: scf.yield %[[T]], %[[V]]
// CHECK: %[[N:[0-9]+]] = arith.negf %[[D]]#0
// CHECK-NEXT: arith.mulf %[[N]], %[[D]]#1
func.func private @gated(%x: memref<64x512xbf16>, %w: memref<64x512xbf16>, %v: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %b = vector.transfer_read %w[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    %n = arith.negf %d : vector<64x64xf32>
    %e = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %b = vector.transfer_read %v[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    %p = arith.mulf %n, %e : vector<64x64xf32>
    vector.transfer_write %p, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}
