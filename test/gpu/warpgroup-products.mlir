// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts)' | FileCheck %s --check-prefix=LAYOUT
#a = affine_map<(m, n, k) -> (m, k)>
#t = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Two warpgroups, one below the other, with all columns each. A warp has the 16 rows of an mma.sync in each 64.
// CHECK-LABEL: @below
// CHECK: vector.contract {{.*}}mlopt.mma = "m64n128k16.bf16"
// LAYOUT-LABEL: @below
// LAYOUT-NOT: mlopt.convert_layout
// LAYOUT: vector.contract {{.*}}mlopt.layout = "reg 2:(8,0) 16:(0,8) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 8:(16,0)"
func.func private @below(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (128, 128) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<128x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<128x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<128x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xbf16>, vector<128x64xbf16> into vector<128x128xf32>
      scf.yield %r : vector<128x128xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<128x128xf32>, memref<512x512xf32>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 3>}}
  return
}

// Side by side, since there are 64 rows only: each has half of the columns. Both factors lie along these.
// CHECK-LABEL: @beside
// CHECK: vector.contract {{.*}}mlopt.mma = "m64n128k16.f16"
// LAYOUT-LABEL: @beside
// LAYOUT: vector.contract {{.*}}mlopt.layout = "reg 2:(8,0) 16:(0,8) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 4:(16,0) 2:(0,128)"
func.func private @beside(%a: memref<512x512xf16>, %b: memref<512x512xf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x256xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 256) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x256xf32>) {
      %x = vector.transfer_read %a[%k, %i], %pad {in_bounds = [true, true]} : memref<512x512xf16>, vector<64x64xf16>
      %y = vector.transfer_read %b[%k, %j], %pad {in_bounds = [true, true]} : memref<512x512xf16>, vector<64x256xf16>
      %r = vector.contract {indexing_maps = [#t, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xf16>, vector<64x256xf16> into vector<64x256xf32>
      scf.yield %r : vector<64x256xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x256xf32>, memref<512x512xf32>
  } {mlopt.schedule = {warps = array<i64: 8>, stages = array<i64: 3>}}
  return
}

// Twice 64 rows for one warpgroup. The last, ragged step has what the loop's products leave: the same warps and
// lanes, by mma.sync.
// CHECK-LABEL: @ragged
// CHECK: vector.contract {{.*}}mlopt.mma = "m64n64k32.s8"
// CHECK: vector.contract {{.*}}mlopt.by_warps = "no loop adds it up", mlopt.mma = "m16n8k32.s8"
// LAYOUT-LABEL: @ragged
// LAYOUT: vector.contract {{.*}}mlopt.layout = "reg 2:(64,0) 2:(8,0) 8:(0,8) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 4:(16,0)"
// LAYOUT: vector.contract {{.*}}mlopt.layout = "reg 2:(64,0) 2:(8,0) 8:(0,8) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 4:(16,0)"
func.func private @ragged(%a: memref<128x528xi8>, %b: memref<64x528xi8>, %out: memref<128x64xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0 : i8
  %zero = arith.constant dense<0> : vector<128x64xi32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<128x64xi32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x528xi8>, vector<128x64xi8>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x528xi8>, vector<64x64xi8>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x64xi8>, vector<64x64xi8> into vector<128x64xi32>
      scf.yield %r : vector<128x64xi32>
    }
    %x = vector.transfer_read %a[%c0, %c512], %pad {in_bounds = [true, true]} : memref<128x528xi8>, vector<128x16xi8>
    %y = vector.transfer_read %b[%c0, %c512], %pad {in_bounds = [true, true]} : memref<64x528xi8>, vector<64x16xi8>
    %e = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %x, %y, %d : vector<128x16xi8>, vector<64x16xi8> into vector<128x64xi32>
    vector.transfer_write %e, %out[%c0, %c0] : vector<128x64xi32>, memref<128x64xi32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 3>}}
  return
}

// Beside a product that has another one's rows of the result, but stays with mma.sync: it has the same warps.
// CHECK-LABEL: @mixed
// CHECK: vector.contract {{.*}}mlopt.mma = "m16n8k16.bf16"
// CHECK: vector.contract {{.*}}mlopt.mma = "m64n64k16.bf16"
// LAYOUT-LABEL: @mixed
// LAYOUT: vector.contract {{.*}}mlopt.layout = "reg 2:(8,0) 8:(0,8) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 4:(16,0)"
// LAYOUT: vector.contract {{.*}}mlopt.layout = "reg 2:(8,0) 8:(0,8) 2:(0,1) lane 4:(0,2) 8:(1,0) warp 4:(16,0)"
func.func private @mixed(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %z = arith.negf %y : vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %z, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %e = scf.for %k = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %f = arith.mulf %d, %e : vector<64x64xf32>
    vector.transfer_write %f, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 3>}}
  return
}

// 8-bit floats as they are read: the instruction says what their bits are.
// CHECK-LABEL: @float8
// CHECK: %[[X:[0-9]+]] = vector.transfer_read %arg0
// CHECK: %[[Y:[0-9]+]] = vector.transfer_read %arg1
// CHECK-NOT: arith.bitcast
// CHECK: vector.contract {{.*}} %[[X]], %[[Y]], %{{.*}} {mlopt.mma = "m64n64k32.e5m2"} : vector<64x128xi8>, vector<64x128xi8> into vector<64x64xf32>
func.func private @float8(%a: memref<512x512xi8>, %b: memref<512x512xi8>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0 : i8
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %c512 step %c128 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xi8>, vector<64x128xi8>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xi8>, vector<64x128xi8>
      %v = arith.bitcast %x : vector<64x128xi8> to vector<64x128xf8E5M2>
      %w = arith.bitcast %y : vector<64x128xi8> to vector<64x128xf8E5M2>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %v, %w, %s : vector<64x128xf8E5M2>, vector<64x128xf8E5M2> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 3>}}
  return
}

// f32 that may be rounded, of which boxes make TF32.
// CHECK-LABEL: @tf32
// CHECK: vector.contract {{.*}}mlopt.mma = "m64n64k8.tf32"
func.func private @tf32(%a: memref<64x512xf32>, %b: memref<64x512xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<64x32xf32>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<64x32xf32>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xf32>, vector<64x32xf32> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tf32 = array<i64: 1>, stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}
