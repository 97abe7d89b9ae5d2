// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-float8-products)' | FileCheck %s
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// No warpgroup has 16 rows: f16 has all numbers of both factors, whose bits stay what is read.
// CHECK-LABEL: @few_rows
// CHECK: %[[X:[0-9]+]] = vector.transfer_read %arg0{{.*}}, vector<16x32xi8>
// CHECK: %[[Y:[0-9]+]] = vector.transfer_read %arg1{{.*}}, vector<64x32xi8>
// CHECK-NOT: f8E4M3FN
// CHECK: arith.extui %[[X]] : vector<16x32xi8> to vector<16x32xi16>
// CHECK: %[[ONE:.*]] = arith.truncf %{{.*}} : vector<16x32xf32> to vector<16x32xf16>
// CHECK: arith.extui %[[Y]] : vector<64x32xi8> to vector<64x32xi16>
// CHECK: %[[OTHER:.*]] = arith.truncf %{{.*}} : vector<64x32xf32> to vector<64x32xf16>
// CHECK: vector.contract {{.*}} %[[ONE]], %[[OTHER]], %{{.*}}mlopt.mma = "m16n8k16.f16"
// CHECK-NOT: f8E4M3FN
func.func private @few_rows(%a: memref<16x512xi8>, %b: memref<64x512xi8>, %out: memref<16x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0 : i8
  %zero = arith.constant dense<0.0> : vector<16x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<16x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<16x512xi8>, vector<16x32xi8>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xi8>, vector<64x32xi8>
      %v = arith.bitcast %x : vector<16x32xi8> to vector<16x32xf8E4M3FN>
      %w = arith.bitcast %y : vector<64x32xi8> to vector<64x32xf8E4M3FN>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %v, %w, %s : vector<16x32xf8E4M3FN>, vector<64x32xf8E4M3FN> into vector<16x64xf32>
      scf.yield %t : vector<16x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<16x64xf32>, memref<16x64xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 3>}}
  return
}

// A cast that is no factor of a contract: of single numbers, the upper half of an f16; other bitcasts stay.
// CHECK-LABEL: @scalar
// CHECK: arith.shli %{{.*}} : i16
// CHECK: %[[H:.*]] = arith.bitcast %{{.*}} : i16 to f16
// CHECK: arith.extf %[[H]] : f16 to f32
// CHECK-NOT: f8E5M2
// CHECK: arith.bitcast %{{.*}} : f32 to i32
func.func private @scalar(%a: memref<4xi8>, %out: memref<4xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xi8>
  %v = arith.bitcast %x : i8 to f8E5M2
  %f = arith.extf %v : f8E5M2 to f32
  %i = arith.bitcast %f : f32 to i32
  memref.store %i, %out[%c0] : memref<4xi32>
  return
}
