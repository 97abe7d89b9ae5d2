// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-last-blocks)' --verify-diagnostics

func.func private @two_writes(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  // expected-error @+1 {{a block of parts writes one tile of each buffer, once}}
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
    vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  scf.forall (%i, %j) = (0, 0) to (128, 768) step (16, 64) {
    %x = vector.transfer_read %p[%c0, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<4x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<4x16x64xf32> to vector<16x64xf32>
    %y = vector.transfer_read %bias[%j], %zero {in_bounds = [true]} : memref<768xf32>, vector<64xf32>
    %z = vector.broadcast %y : vector<64xf32> to vector<16x64xf32>
    %o = arith.addf %r, %z : vector<16x64xf32>
    vector.transfer_write %o, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}

// -----

func.func private @unread(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %q: memref<4x128x768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  // expected-error @+1 {{nothing reads the parts}}
  scf.forall (%i, %j) = (0, 0) to (128, 768) step (16, 64) {
    %x = vector.transfer_read %q[%c0, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<4x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<4x16x64xf32> to vector<16x64xf32>
    %y = vector.transfer_read %bias[%j], %zero {in_bounds = [true]} : memref<768xf32>, vector<64xf32>
    %z = vector.broadcast %y : vector<64xf32> to vector<16x64xf32>
    %o = arith.addf %r, %z : vector<16x64xf32>
    vector.transfer_write %o, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}

// -----

func.func private @some(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  scf.forall (%i, %j) = (0, 0) to (128, 768) step (16, 64) {
    // expected-error @+1 {{a task reads all parts of its place, along one dim}}
    %x = vector.transfer_read %p[%c0, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<2x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<2x16x64xf32> to vector<16x64xf32>
    %y = vector.transfer_read %bias[%j], %zero {in_bounds = [true]} : memref<768xf32>, vector<64xf32>
    %z = vector.broadcast %y : vector<64xf32> to vector<16x64xf32>
    %o = arith.addf %r, %z : vector<16x64xf32>
    vector.transfer_write %o, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}

// -----

func.func private @elsewhere(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  // expected-error @+1 {{parts are read where their loops are}}
  scf.forall (%i, %j) = (0, 0) to (128, 768) step (16, 64) {
    %x = vector.transfer_read %p[%c0, %c64, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<4x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<4x16x64xf32> to vector<16x64xf32>
    %y = vector.transfer_read %bias[%j], %zero {in_bounds = [true]} : memref<768xf32>, vector<64xf32>
    %z = vector.broadcast %y : vector<64xf32> to vector<16x64xf32>
    %o = arith.addf %r, %z : vector<16x64xf32>
    vector.transfer_write %o, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}

// -----

func.func private @write_in_loop(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  // expected-error @+1 {{a block of parts writes one tile of each buffer, once}}
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    scf.for %k = %c0 to %c4 step %c1 {
      vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
    }
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  scf.forall (%i, %j) = (0, 0) to (128, 768) step (16, 64) {
    %x = vector.transfer_read %p[%c0, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<4x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<4x16x64xf32> to vector<16x64xf32>
    vector.transfer_write %r, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}

// -----

func.func private @write_in_branch_of_loop(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  // expected-error @+1 {{a block of parts writes one tile of each buffer, once}}
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    scf.for %k = %c0 to %c4 step %c1 {
      scf.if %yes {
        vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
      }
    }
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  scf.forall (%i, %j) = (0, 0) to (128, 768) step (16, 64) {
    %x = vector.transfer_read %p[%c0, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<4x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<4x16x64xf32> to vector<16x64xf32>
    vector.transfer_write %r, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}

// -----

// A task for each part.
func.func private @one_part(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  scf.forall (%k, %i, %j) = (0, 0, 0) to (4, 128, 768) step (1, 16, 64) {
    // expected-error @+1 {{a task reads all parts of its place, along one dim}}
    %x = vector.transfer_read %p[%k, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<1x16x64xf32>
    %r = vector.multi_reduction <add>, %x, %sums [0] : vector<1x16x64xf32> to vector<16x64xf32>
    vector.transfer_write %r, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}

// -----

// The first part, in a loop along something else.
func.func private @first_part(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
    vector.transfer_write %t, %p[%s, %m, %n] {in_bounds = [true, false, true]} : vector<1x64x64xf32>, memref<4x128x768xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}}
  scf.forall (%i, %j) = (0, 0) to (128, 768) step (16, 64) {
    scf.for %k = %c0 to %c4 step %c1 {
      // expected-error @+1 {{a task reads all parts of its place, along one dim}}
      %x = vector.transfer_read %p[%c0, %i, %j], %zero {in_bounds = [true, false, true]} : memref<4x128x768xf32>, vector<1x16x64xf32>
      %r = vector.multi_reduction <add>, %x, %sums [0] : vector<1x16x64xf32> to vector<16x64xf32>
      vector.transfer_write %r, %out[%i, %j] {in_bounds = [false, true]} : vector<16x64xf32>, memref<128x768xf32>
    }
  } {mlopt.schedule = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}}
  return
}
