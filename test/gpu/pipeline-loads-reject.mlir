// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-assign-layouts,mlopt-gpu-pipeline-loads)' | FileCheck %s

// What is read in its step.
// CHECK-NOT: mlopt.shared_ring
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A schedule of one stage.
func.func private @one_stage(%a: memref<64x512xbf16>, %b: memref<512x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, warps = array<i64: 4>}}
  return
}

// Two slots take more shared memory than a block has.
func.func private @room(%a: memref<4096x512xbf16>, %b: memref<512x64xbf16>, %out: memref<4096x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<4096x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<4096x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<4096x512xbf16>, vector<4096x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<4096x32xbf16>, vector<32x64xbf16> into vector<4096x64xf32>
      scf.yield %t : vector<4096x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4096x64xf32>, memref<4096x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// No product on tensor cores.
func.func private @f32(%a: memref<64x512xf32>, %b: memref<512x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<64x32xf32>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xf32>, vector<32x64xf32>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xf32>, vector<32x64xf32> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// Padded with ones.
func.func private @padding(%a: memref<64x512xbf16>, %b: memref<512x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 1.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// Rows of 510 elements: two of them are neighbours that begin together.
func.func private @narrow(%a: memref<64x510xbf16>, %b: memref<510x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c510 = arith.constant 510 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c510 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, false]} : memref<64x510xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [false, true]} : memref<510x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// The loop writes to what a later step reads.
func.func private @written(%a: memref<64x512xbf16>, %b: memref<512x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      %h = arith.truncf %t : vector<64x64xf32> to vector<64x64xbf16>
      %later = affine.apply affine_map<(k) -> (k + 64)>(%k)
      vector.transfer_write %h, %b[%later, %c0] {in_bounds = [false, true]} : vector<64x64xbf16>, memref<512x64xbf16>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// Nobody knows how far its steps are apart.
func.func private @unknown_step(%a: memref<64x512xbf16>, %b: memref<512x64xbf16>, %out: memref<64x64xf32>, %size: memref<?xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %step = memref.dim %size, %c0 : memref<?xf32>
    %d = scf.for %k = %c0 to %c512 step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, false]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [false, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// Each step multiplies what was read before the loop: few enough registers to hold.
func.func private @elsewhere(%a: memref<64x32xbf16>, %b: memref<32x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x32xbf16>, vector<64x32xbf16>
    %y = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : memref<32x64xbf16>, vector<32x64xbf16>
    %d = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// A factor is stored as it was read, too: threads have it in any case.
func.func private @twice(%a: memref<64x512xbf16>, %b: memref<512x64xbf16>, %copy: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x32xbf16>
      vector.transfer_write %x, %copy[%c0, %k] {in_bounds = [true, true]} : vector<64x32xbf16>, memref<64x512xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// Where a step reads, the one before says.
func.func private @depends(%a: memref<64x512xbf16>, %b: memref<512x64xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d, %e = scf.for %k = %c0 to %c512 step %c32 iter_args(%s = %zero, %at = %c0) -> (vector<64x64xf32>, index) {
      %x = vector.transfer_read %a[%c0, %at], %pad {in_bounds = [true, false]} : memref<64x512xbf16>, vector<64x32xbf16>
      %y = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : memref<512x64xbf16>, vector<32x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x32xbf16>, vector<32x64xbf16> into vector<64x64xf32>
      %next = arith.xori %at, %k : index
      scf.yield %t, %next : vector<64x64xf32>, index
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 32>, stages = array<i64: 4>, warps = array<i64: 4>}}
  return
}

// What all steps multiply stays in registers, here since the kernel writes to what it is read from, perhaps before
// its copy has come.
// CHECK-LABEL: @stays_written
// CHECK-NOT: mlopt.shared_ring
// CHECK: "mlopt.convert_layout"
// CHECK: "mlopt.shared_ring"() : () -> memref<2x64x256xbf16
// CHECK-NOT: mlopt.shared_ring
func.func private @stays_written(%a: memref<64x256xbf16>, %b: memref<512x256xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x256xbf16>, vector<64x256xbf16>
    %d = scf.for %n = %c0 to %c512 step %c64 iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %y = vector.transfer_read %b[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x256xbf16>, vector<64x256xbf16>
      %t = vector.contract {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k)>, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x256xbf16>, vector<64x256xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    vector.transfer_write %h, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xbf16>, memref<64x256xbf16>
  } {mlopt.schedule = {tile = array<i64: 64, 64, 256>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// Two slots of 64 KB leave 35 KB of 163, and it has 64.
// CHECK-LABEL: @stays_large
// CHECK-NOT: mlopt.shared_ring
// CHECK: "mlopt.convert_layout"
// CHECK: "mlopt.shared_ring"() : () -> memref<2x128x256xbf16
// CHECK-NOT: mlopt.shared_ring
func.func private @stays_large(%a: memref<128x256xbf16>, %b: memref<512x256xbf16>, %out: memref<128x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  scf.forall (%i) in (1) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<128x256xbf16>, vector<128x256xbf16>
    %d = scf.for %n = %c0 to %c512 step %c128 iter_args(%s = %zero) -> (vector<128x128xf32>) {
      %y = vector.transfer_read %b[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x256xbf16>, vector<128x256xbf16>
      %t = vector.contract {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k)>, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<128x256xbf16>, vector<128x256xbf16> into vector<128x128xf32>
      scf.yield %t : vector<128x128xf32>
    }
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<128x128xf32>, memref<128x128xf32>
  } {mlopt.schedule = {tile = array<i64: 128, 128, 256>, stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}
