// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products)' | FileCheck %s

// What stays with mma.sync, and why.
#a = affine_map<(m, n, k) -> (m, k)>
#t = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A warpgroup has 64 rows.
// CHECK-LABEL: @few_rows
// CHECK: mlopt.by_warps = "its 32 rows are not 64 for each warpgroup, or a power of two of them"
// CHECK-NOT: mlopt.mma = "m64
func.func private @few_rows(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<32x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (32, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<32x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<32x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<32x64xbf16>, vector<64x64xbf16> into vector<32x64xf32>
      scf.yield %r : vector<32x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<32x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Two warps are no warpgroup.
// CHECK-LABEL: @few_warps
// CHECK: mlopt.by_warps = "a block has 2 warps, a warpgroup 4"
// CHECK-NOT: mlopt.mma = "m64
func.func private @few_warps(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 2>}}
  return
}

// Four warpgroups side by side would have columns that are no multiple of eight.
// CHECK-LABEL: @few_columns
// CHECK: mlopt.by_warps = "4 warpgroups cannot share its 16 columns, a multiple of 8 up to 256 each"
// CHECK-NOT: mlopt.mma = "m64
func.func private @few_columns(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x16xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 16) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x16xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<16x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<16x64xbf16> into vector<64x16xf32>
      scf.yield %r : vector<64x16xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x16xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 16>}}
  return
}

// A step less deep than an instruction, for which zeros fill up registers.
// CHECK-LABEL: @depth
// CHECK: mlopt.by_warps = "its depth of 8 is no multiple of the instruction's 16"
// CHECK-NOT: mlopt.mma = "m64
func.func private @depth(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 8 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x8xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x8xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x8xbf16>, vector<64x8xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Rows of 96 bytes are no row of a swizzle.
// CHECK-LABEL: @odd_rows
// CHECK: mlopt.by_warps = "rows of a factor have 96 bytes, not 32, 64 or a multiple of 128"
// CHECK-NOT: mlopt.mma = "m64
func.func private @odd_rows(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 48 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x48xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x48xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x48xbf16>, vector<64x48xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// f32 that runs along the rows: no instruction turns it.
// CHECK-LABEL: @turned_f32
// CHECK: mlopt.by_warps = "rows of a factor whose elements have not two bytes must run along the depth"
// CHECK-NOT: mlopt.mma = "m64
func.func private @turned_f32(%a: memref<512x64xf32>, %b: memref<64x512xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant 32 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xf32>, vector<32x64xf32>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<64x32xf32>
      %r = vector.contract {indexing_maps = [#t, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<32x64xf32>, vector<64x32xf32> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tf32 = array<i64: 1>, stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Threads would copy f32 of six dims, and its last bits be cut off.
// CHECK-LABEL: @six_dims_f32
// CHECK: mlopt.by_warps = "only boxes round its f32 while they copy, and a factor's buffer has 6 dims, a tensor map 5 at most"
// CHECK-NOT: mlopt.mma = "m64
func.func private @six_dims_f32(%a: memref<2x2x2x2x64x512xf32>, %b: memref<64x512xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant 32 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %c0, %c0, %c0, %c0, %k], %pad {in_bounds = [true, true]} : memref<2x2x2x2x64x512xf32>, vector<64x32xf32>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<64x32xf32>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xf32>, vector<64x32xf32> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tf32 = array<i64: 1>, stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// So they would where its loop is run again.
// CHECK-LABEL: @again_f32
// CHECK: mlopt.by_warps = "only boxes round its f32 while they copy, and a block runs its loop several times"
// CHECK-NOT: mlopt.mma = "m64
func.func private @again_f32(%a: memref<64x512xf32>, %b: memref<64x512xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant 32 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %e = scf.for %n = %c0 to %end step %c1 iter_args(%q = %zero) -> (vector<64x64xf32>) {
      %d = scf.for %k = %c0 to %end step %step iter_args(%s = %q) -> (vector<64x64xf32>) {
        %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<64x32xf32>
        %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<64x32xf32>
        %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
            %x, %y, %s : vector<64x32xf32>, vector<64x32xf32> into vector<64x64xf32>
        scf.yield %r : vector<64x64xf32>
      }
      scf.yield %d : vector<64x64xf32>
    }
    vector.transfer_write %e, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tf32 = array<i64: 1>, stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Bytes, which no instruction turns.
// CHECK-LABEL: @turned_bytes
// CHECK: mlopt.by_warps = "rows of a factor whose elements have not two bytes must run along the depth"
// CHECK-NOT: mlopt.mma = "m64
func.func private @turned_bytes(%a: memref<512x512xi8>, %b: memref<512x512xi8>, %out: memref<512x512xi32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0 : i8
  %zero = arith.constant dense<0> : vector<64x64xi32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xi32>) {
      %x = vector.transfer_read %a[%k, %i], %pad {in_bounds = [true, true]} : memref<512x512xi8>, vector<64x64xi8>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xi8>, vector<64x64xi8>
      %r = vector.contract {indexing_maps = [#t, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xi8>, vector<64x64xi8> into vector<64x64xi32>
      scf.yield %r : vector<64x64xi32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xi32>, memref<512x512xi32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// A factor that is computed.
// CHECK-LABEL: @computed
// CHECK: mlopt.by_warps = "a factor is not what is read, but computed of it"
// CHECK-NOT: mlopt.mma = "m64
func.func private @computed(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %z = arith.negf %x : vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %z, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Sums that each step changes.
// CHECK-LABEL: @changed
// CHECK: mlopt.by_warps = "its sums are used in each step"
// CHECK-NOT: mlopt.mma = "m64
func.func private @changed(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      %q = arith.addf %r, %r : vector<64x64xf32>
      scf.yield %q : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Other padding than zeros.
// CHECK-LABEL: @padding
// CHECK: mlopt.by_warps = "a factor is padded with something else than zeros"
// CHECK-NOT: mlopt.mma = "m64
func.func private @padding(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 1.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// A row of 1026 bytes does not begin at a multiple of 16.
// CHECK-LABEL: @unaligned
// CHECK: mlopt.by_warps = "a factor has less than 16 bytes of neighbours"
// CHECK-NOT: mlopt.mma = "m64
func.func private @unaligned(%a: memref<512x512xbf16>, %b: memref<512x513xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x513xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Two steps of 128 KB do not fit.
// CHECK-LABEL: @room
// CHECK: mlopt.by_warps = "2 steps of 131072 bytes do not fit 166912 bytes of shared memory"
// CHECK-NOT: mlopt.mma = "m64
func.func private @room(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 128 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<256x256xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (256, 256) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<256x256xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<256x128xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<256x128xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<256x128xbf16>, vector<256x128xbf16> into vector<256x256xf32>
      scf.yield %r : vector<256x256xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<256x256xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 16>}}
  return
}

// A factor that is in shared memory: ldmatrix has it from there.
// CHECK-LABEL: @kept
// CHECK: mlopt.by_warps = "a factor is in shared memory already"
// CHECK-NOT: mlopt.mma = "m64
func.func private @kept(%b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %one = arith.constant dense<1.0> : vector<64x512xbf16>
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %kept = memref.alloca() : memref<64x512xbf16, #gpu.address_space<workgroup>>
    vector.transfer_write %one, %kept[%c0, %c0] : vector<64x512xbf16>, memref<64x512xbf16, #gpu.address_space<workgroup>>
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %kept[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16, #gpu.address_space<workgroup>>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}

// Products of factors that products have made are mlopt-gpu-warpgroup-attention's, which says why.
// CHECK-LABEL: @factors
// CHECK-NOT: mlopt.by_warps
// CHECK-NOT: mlopt.mma = "m64
func.func private @factors(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %out: memref<512x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i, %j) = (0, 0) to (512, 512) step (64, 64) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%j, %k], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    %y = vector.transfer_read %b[%j, %c0], %pad {in_bounds = [true, true]} : memref<512x512xbf16>, vector<64x64xbf16>
    %e = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        %h, %y, %zero : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
    vector.transfer_write %e, %out[%i, %j] : vector<64x64xf32>, memref<512x512xf32>
  } {mlopt.schedule = {stages = array<i64: 3>, warps = array<i64: 4>}}
  return
}
