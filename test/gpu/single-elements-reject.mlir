// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-single-elements)' | FileCheck %s

// What stays a block's work.
// CHECK-NOT: tasks

// A row of a table: its elements are for all threads.
func.func private @embedding(%index: memref<64xi64>, %x: memref<9x48xf32>, %out: memref<64x48xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) in (64) {
    %n = memref.load %index[%i] : memref<64xi64>
    %at = arith.index_cast %n : i64 to index
    %t = vector.transfer_read %x[%at, %c0], %pad {in_bounds = [true, true]} : memref<9x48xf32>, vector<1x48xf32>
    vector.transfer_write %t, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x48xf32>, memref<64x48xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// One result, of a tile of terms.
func.func private @total(%x: memref<64xf32>, %out: memref<1xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) in (1) {
    %t = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<64xf32>, vector<64xf32>
    %r = vector.shape_cast %t : vector<64xf32> to vector<64x1xf32>
    %s = vector.multi_reduction <add>, %r, %zero [0] : vector<64x1xf32> to vector<1xf32>
    vector.transfer_write %s, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<1xf32>
  }
  return
}

// Not a kernel.
func.func @main(%x: memref<4xf32>) {
  scf.forall (%i) in (4) {
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %x[%i] : memref<4xf32>
  }
  return
}

// No neighbours: the first of four would not be aligned, in memory or in the row; every other element only is
// read; the place is one that nobody follows; a thread of some block would have none.
// CHECK-LABEL: func.func private @no_neighbours
// CHECK-NOT: neighbours
func.func private @no_neighbours(%x: memref<64x1000xf32>, %y: memref<64x998xf32>, %z: memref<64x2000xf32>, %out: memref<64x1000xf32>, %odd: memref<64x998xf32>, %few: memref<63x1000xf32>) attributes {mlopt.kernel} {
  %c1 = arith.constant 1 : index
  %c998 = arith.constant 998 : index
  %c997 = arith.constant 997 : index
  %c999 = arith.constant 999 : index
  scf.forall (%i, %j) in (64, 1000) {
    %at = arith.subi %c998, %j : index
    %v = memref.load %x[%i, %at] : memref<64x1000xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x1000xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 998) {
    %at = arith.subi %c997, %j : index
    %v = memref.load %y[%i, %at] : memref<64x998xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    vector.transfer_write %t, %odd[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x998xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 1000) {
    %at = arith.addi %j, %j : index
    %v = memref.load %z[%i, %at] : memref<64x2000xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x1000xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 1000) {
    %at = arith.xori %j, %c1 : index
    %v = memref.load %x[%i, %at] : memref<64x1000xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x1000xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (63, 1000) {
    %at = arith.subi %c999, %j : index
    %v = memref.load %x[%i, %at] : memref<64x1000xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    vector.transfer_write %t, %few[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<63x1000xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// Not consecutive: rows of fewer elements than a warp's accesses have, the next of which is read four further; results whose rows lie apart; one element is read for a whole row;
// elements of 8 bytes.
// CHECK-LABEL: func.func private @not_consecutive
// CHECK-NOT: consecutive
func.func private @not_consecutive(%x: memref<64x131xf32>, %y: memref<64x1000xf32>, %z: memref<64xf32>, %out: memref<64x127xf32>, %apart: memref<64x1000xf32>, %long: memref<64x999xf32>, %wide: memref<64x1000xf64>, %twice: memref<64x999xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %pad64 = arith.constant 0.0 : f64
  scf.forall (%i, %j) in (64, 127) {
    %at = affine.apply affine_map<(d0) -> (d0 + 1)>(%j)
    %v = vector.transfer_read %x[%i, %at], %pad {in_bounds = [true, true]} : memref<64x131xf32>, vector<1x1xf32>
    vector.transfer_write %v, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x127xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 999) {
    %at = affine.apply affine_map<(d0) -> (d0 + 1)>(%j)
    %v = vector.transfer_read %y[%i, %at], %pad {in_bounds = [true, true]} : memref<64x1000xf32>, vector<1x1xf32>
    vector.transfer_write %v, %apart[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x1000xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 999) {
    %v = vector.transfer_read %z[%i], %pad {in_bounds = [true]} : memref<64xf32>, vector<1xf32>
    %t = vector.shape_cast %v : vector<1xf32> to vector<1x1xf32>
    vector.transfer_write %t, %long[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x999xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 999) {
    %at = affine.apply affine_map<(d0) -> (d0 + 1)>(%j)
    %v = vector.transfer_read %wide[%i, %at], %pad64 {in_bounds = [true, true]} : memref<64x1000xf64>, vector<1x1xf64>
    vector.transfer_write %v, %twice[%i, %j] {in_bounds = [true, true]} : vector<1x1xf64>, memref<64x999xf64>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// Every other element has no whole accesses: of rows that begin in the middle of one; where groups are of two rows, and
// the next one is further on; where memory ends in an access. Nor if none has several that are wanted, as of f64 or every
// fourth f32; of every third; where what may be padding; beside what is shifted; beside every fourth, which other lanes exchange.
// CHECK-LABEL: func.func private @not_stepped
// CHECK-NOT: consecutive
func.func private @not_stepped(%a: memref<64x130xf32>, %b: memref<65x24xf32>, %c: memref<2x127xf32>, %d: memref<64x256xf64>, %e: memref<64x512xf32>, %f: memref<64x128x3xf32>, %g: memref<64x256xf32>, %h: memref<65x513xf16>, %k: memref<64x1024xf16>, %out: memref<64x64xf32>, %short: memref<64x9xf32>, %one: memref<64xf32>, %wide: memref<64x128xf64>, %long: memref<64x128xf32>, %half: memref<64x256xf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %pad16 = arith.constant 0.0 : f16
  %pad64 = arith.constant 0.0 : f64
  scf.forall (%i, %j) in (64, 64) {
    %at = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
    %v = vector.transfer_read %a[%i, %at], %pad {in_bounds = [true, true]} : memref<64x130xf32>, vector<1x1xf32>
    vector.transfer_write %v, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 9) {
    %at = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
    %v = vector.transfer_read %b[%i, %at], %pad {in_bounds = [true, true]} : memref<65x24xf32>, vector<1x1xf32>
    vector.transfer_write %v, %short[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x9xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%j) in (64) {
    %at = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
    %v = vector.transfer_read %c[%c0, %at], %pad {in_bounds = [true, true]} : memref<2x127xf32>, vector<1x1xf32>
    %t = vector.shape_cast %v : vector<1x1xf32> to vector<1xf32>
    vector.transfer_write %t, %one[%j] {in_bounds = [true]} : vector<1xf32>, memref<64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 128) {
    %at = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
    %v = vector.transfer_read %d[%i, %at], %pad64 {in_bounds = [true, true]} : memref<64x256xf64>, vector<1x1xf64>
    vector.transfer_write %v, %wide[%i, %j] {in_bounds = [true, true]} : vector<1x1xf64>, memref<64x128xf64>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 128) {
    %at = affine.apply affine_map<(d0) -> (d0 * 4)>(%j)
    %v = vector.transfer_read %e[%i, %at], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<1x1xf32>
    vector.transfer_write %v, %long[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x128xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 128) {
    %v = vector.transfer_read %f[%i, %j, %c0], %pad {in_bounds = [true, true, true]} : memref<64x128x3xf32>, vector<1x1x1xf32>
    %t = vector.shape_cast %v : vector<1x1x1xf32> to vector<1x1xf32>
    vector.transfer_write %t, %long[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x128xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 128) {
    %at = affine.apply affine_map<(d0) -> (d0 * 2 - 4)>(%j)
    %v = vector.transfer_read %g[%i, %at], %pad {in_bounds = [true, false]} : memref<64x256xf32>, vector<1x1xf32>
    vector.transfer_write %v, %long[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x128xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 256) {
    %at = affine.apply affine_map<(d0) -> (d0 * 4)>(%j)
    %next = affine.apply affine_map<(d0) -> (d0 + 1)>(%j)
    %v = vector.transfer_read %k[%i, %at], %pad16 {in_bounds = [true, true]} : memref<64x1024xf16>, vector<1x1xf16>
    %w = vector.transfer_read %h[%i, %next], %pad16 {in_bounds = [true, true]} : memref<65x513xf16>, vector<1x1xf16>
    %s = arith.addf %v, %w : vector<1x1xf16>
    vector.transfer_write %s, %half[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<64x256xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 256) {
    %at = affine.apply affine_map<(d0) -> (d0 * 4)>(%j)
    %next = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
    %v = vector.transfer_read %k[%i, %at], %pad16 {in_bounds = [true, true]} : memref<64x1024xf16>, vector<1x1xf16>
    %w = vector.transfer_read %k[%i, %next], %pad16 {in_bounds = [true, true]} : memref<64x1024xf16>, vector<1x1xf16>
    %s = arith.addf %v, %w : vector<1x1xf16>
    vector.transfer_write %s, %half[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<64x256xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// No whole accesses for pieces: of rows that begin in the middle of one; of short rows, whose borders most warps have; of
// a row that is another one's; of elements that are told apart by a signed comparison.
// CHECK-LABEL: func.func private @pieces_apart
// CHECK-NOT: consecutive
func.func private @pieces_apart(%x: memref<64x510xf16>, %y: memref<64x56xf16>, %z: memref<64x512xf16>, %out: memref<64x510xf16>, %short: memref<64x58xf16>, %long: memref<64x512xf16>) attributes {mlopt.kernel} {
  %c1 = arith.constant 1 : index
  %c57 = arith.constant 57 : index
  %c509 = arith.constant 509 : index
  %c511 = arith.constant 511 : index
  %c54 = arith.constant 54 : index
  %back = arith.constant -1 : index
  scf.forall (%i, %j) in (64, 510) {
    %own = arith.addi %j, %back : index
    %first = arith.cmpi ult, %j, %c1 : index
    %at = arith.select %first, %c509, %own : index
    %v = memref.load %x[%i, %at] : memref<64x510xf16>
    %t = vector.broadcast %v : f16 to vector<1x1xf16>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<64x510xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 58) {
    %own = arith.addi %j, %back : index
    %inside = arith.cmpi ult, %j, %c57 : index
    %rest = arith.select %inside, %own, %c54 : index
    %first = arith.cmpi ult, %j, %c1 : index
    %at = arith.select %first, %c1, %rest : index
    %v = memref.load %y[%i, %at] : memref<64x56xf16>
    %t = vector.broadcast %v : f16 to vector<1x1xf16>
    vector.transfer_write %t, %short[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<64x58xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 512) {
    %own = arith.addi %j, %back : index
    %first = arith.cmpi ult, %j, %c1 : index
    %at = arith.select %first, %c511, %own : index
    %row = arith.select %first, %c1, %i : index
    %v = memref.load %z[%row, %at] : memref<64x512xf16>
    %t = vector.broadcast %v : f16 to vector<1x1xf16>
    vector.transfer_write %t, %long[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<64x512xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %j) in (64, 512) {
    %own = arith.addi %j, %back : index
    %first = arith.cmpi slt, %j, %c1 : index
    %at = arith.select %first, %c511, %own : index
    %v = memref.load %z[%i, %at] : memref<64x512xf16>
    %t = vector.broadcast %v : f16 to vector<1x1xf16>
    vector.transfer_write %t, %long[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<64x512xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// What is not moved is read where it is written: no access is shifted.
// CHECK-LABEL: func.func private @in_place
// CHECK-NOT: consecutive
func.func private @in_place(%x: memref<63x1001xf32>, %out: memref<63x1001xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i, %j) in (63, 1001) {
    %v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, true]} : memref<63x1001xf32>, vector<1x1xf32>
    vector.transfer_write %v, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<63x1001xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// No inner loops for a thread: an even number of accesses, whose stores would meet in the banks; too many; results
// that are read along with the last loop; a thread of some block would have none; a place that is no sum of the loops'.
// CHECK-LABEL: func.func private @no_inner
// CHECK-NOT: inner
func.func private @no_inner(%x: memref<48x128x2xf16>, %y: memref<128x30xf16>, %even: memref<128x2x16xf16>, %many: memref<128x2x48xf16>, %along: memref<128x2x12xf16>, %few: memref<100x2x12xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  scf.forall (%i, %l, %c) in (128, 2, 16) {
    %v = vector.transfer_read %x[%c, %i, %l], %pad {in_bounds = [true, true, true]} : memref<48x128x2xf16>, vector<1x1x1xf16>
    vector.transfer_write %v, %even[%i, %l, %c] {in_bounds = [true, true, true]} : vector<1x1x1xf16>, memref<128x2x16xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %l, %c) in (128, 2, 48) {
    %v = vector.transfer_read %x[%c, %i, %l], %pad {in_bounds = [true, true, true]} : memref<48x128x2xf16>, vector<1x1x1xf16>
    vector.transfer_write %v, %many[%i, %l, %c] {in_bounds = [true, true, true]} : vector<1x1x1xf16>, memref<128x2x48xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %l, %c) in (128, 2, 12) {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 14 + d1 + 1)>(%l, %c)
    %v = vector.transfer_read %y[%i, %at], %pad {in_bounds = [true, true]} : memref<128x30xf16>, vector<1x1xf16>
    %t = vector.shape_cast %v : vector<1x1xf16> to vector<1x1x1xf16>
    vector.transfer_write %t, %along[%i, %l, %c] {in_bounds = [true, true, true]} : vector<1x1x1xf16>, memref<128x2x12xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %l, %c) in (100, 2, 12) {
    %v = vector.transfer_read %x[%c, %i, %l], %pad {in_bounds = [true, true, true]} : memref<48x128x2xf16>, vector<1x1x1xf16>
    vector.transfer_write %v, %few[%i, %l, %c] {in_bounds = [true, true, true]} : vector<1x1x1xf16>, memref<100x2x12xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1>, warps = array<i64: 4>}}
  scf.forall (%i, %l, %c) in (128, 2, 12) {
    %at = affine.apply affine_map<(d0, d1) -> ((d0 + d1) mod 7)>(%i, %l)
    %v = vector.transfer_read %x[%c, %at, %l], %pad {in_bounds = [true, true, true]} : memref<48x128x2xf16>, vector<1x1x1xf16>
    vector.transfer_write %v, %along[%i, %l, %c] {in_bounds = [true, true, true]} : vector<1x1x1xf16>, memref<128x2x12xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1>, warps = array<i64: 4>}}
  return
}
