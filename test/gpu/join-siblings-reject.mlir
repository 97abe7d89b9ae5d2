// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-join-siblings)' | FileCheck %s
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// What stays two loops.

// The second one begins with what the first one has made.
// CHECK-LABEL: @sum_of_the_first
// CHECK-COUNT-2: scf.for %
func.func private @sum_of_the_first(%x: memref<64x512xbf16>, %w: memref<64x512xbf16>, %v: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
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
    %e = scf.for %k = %c0 to %end step %step iter_args(%s = %n) -> (vector<64x64xf32>) {
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

// Each has factors of its own.
// CHECK-LABEL: @no_factor
// CHECK-COUNT-2: scf.for %
func.func private @no_factor(%x: memref<64x512xbf16>, %w: memref<64x512xbf16>, %v: memref<64x512xbf16>, %out2: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
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
      %a = vector.transfer_read %v[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %b = vector.transfer_read %out2[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %t = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    %p = arith.mulf %n, %e : vector<64x64xf32>
    vector.transfer_write %p, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  } {mlopt.schedule = {warps = array<i64: 4>, stages = array<i64: 4>}}
  return
}

// The second one is shorter.
// CHECK-LABEL: @other_steps
// CHECK-COUNT-2: scf.for %
func.func private @other_steps(%x: memref<64x512xbf16>, %w: memref<64x512xbf16>, %v: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %step2 = arith.constant 256 : index
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
    %e = scf.for %k = %c0 to %step2 step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
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

// What the second one reads may have been written by then.
// CHECK-LABEL: @written
// CHECK-COUNT-2: scf.for %
func.func private @written(%x: memref<64x512xbf16>, %w: memref<64x512xbf16>, %v: memref<64x512xbf16>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
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
    vector.transfer_write %n, %out[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
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
