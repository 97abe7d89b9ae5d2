// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-single-elements)' --split-input-file | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-single-elements,mlopt-gpu-assign-layouts,mlopt-gpu-distribute,canonicalize,cse)' --split-input-file | FileCheck %s --check-prefix=THREADS

// Any element of a row is read: an element a thread, and lanes along the row of what is written. No thread
// of the 250 blocks is without one. Where the element lies is the task's number: row * 1000 + column again.
// CHECK-LABEL: func.func private @gather
// CHECK: } {mlopt.schedule = {min_blocks = array<i64: 8>, tasks = array<i64: 256>, tile = array<i64: 1, 1>, warps = array<i64: 8>}}
// THREADS: llvm.func @gather(
// THREADS-DAG: %[[T:.*]] = nvvm.read.ptx.sreg.tid.x
// THREADS-DAG: %[[B:.*]] = nvvm.read.ptx.sreg.ctaid.x
// THREADS: %[[BLOCK:.*]] = arith.extui %[[B]]
// THREADS: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c256_i64
// THREADS: %[[TASK:.*]] = arith.addi %[[FIRST]],
// THREADS-NOT: scf.if
// THREADS-NEXT: arith.divui %[[TASK]], %c1000_i64
// THREADS-NEXT: %[[PLACE:.*]] = llvm.getelementptr %{{.*}}[%[[TASK]]]
// THREADS-NEXT: llvm.load %[[PLACE]]
// THREADS: llvm.load
// THREADS: %[[OUT:.*]] = llvm.getelementptr %{{.*}}[%[[TASK]]]
// THREADS: llvm.store %{{.*}}, %[[OUT]]
// THREADS: func.func private @gather
// THREADS: gpu.launch_func @kernels::@gather blocks in (%c250_i64, %c1_i64, %c1_i64) threads in (%c256_i64,
func.func private @gather(%index: memref<64x1000xi64>, %x: memref<64x1000xf32>, %out: memref<64x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %two = arith.constant dense<2.0> : vector<1x1xf32>
  scf.forall (%i, %j) in (64, 1000) {
    %n = memref.load %index[%i, %j] : memref<64x1000xi64>
    %at = arith.index_cast %n : i64 to index
    %v = memref.load %x[%i, %at] : memref<64x1000xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    %d = arith.mulf %t, %two : vector<1x1xf32>
    vector.transfer_write %d, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x1000xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 8>}}
  return
}

// -----

// Several elements a thread, as far from each other as there are threads, where all threads have as many and
// 132 multiprocessors a block each. All indices are loaded and checked first; a thread that has a wrong one tells
// it once, and writes zeros; nothing is chosen.
// CHECK-LABEL: func.func private @several
// CHECK: tasks = array<i64: 512>
// THREADS: llvm.func @several(
// THREADS-DAG: %[[T:.*]] = nvvm.read.ptx.sreg.tid.x
// THREADS-DAG: %[[B:.*]] = nvvm.read.ptx.sreg.ctaid.x
// THREADS: %[[FIRST:.*]] = arith.muli %[[B]], %c512_i32
// THREADS: %[[ONE:.*]] = arith.addi %[[FIRST]],
// THREADS-DAG: %[[TWO:.*]] = arith.addi %[[ONE]], %c128_i32
// THREADS-DAG: arith.addi %[[ONE]], %c256_i32
// THREADS-DAG: arith.addi %[[ONE]], %c384_i32
// THREADS-NOT: llvm.store
// THREADS: cf.cond_br %{{.*}} weights([1048576, 1]), ^[[HOLDS:.*]], ^[[FAILS:.*]]
// THREADS-NEXT: ^[[HOLDS]]:
// THREADS-NOT: arith.select
// THREADS-COUNT-4: llvm.store
// THREADS: llvm.return
// THREADS-NEXT: ^[[FAILS]]:
// THREADS: llvm.cmpxchg
// THREADS-NOT: llvm.cmpxchg
// THREADS-COUNT-4: llvm.store %cst,
// THREADS-NEXT: nvvm.exit
// THREADS: gpu.launch_func @kernels::@several blocks in (%c258_i64,
func.func private @several(%index: memref<1024x129xi64>, %x: memref<50xf32>, %out: memref<1024x129xf32>) attributes {mlopt.kernel} {
  %c50 = arith.constant 50 : index
  %c0 = arith.constant 0 : index
  scf.forall (%i, %j) in (1024, 129) {
    %n = memref.load %index[%i, %j] : memref<1024x129xi64>
    %at = arith.index_cast %n : i64 to index
    %ok = arith.cmpi ult, %at, %c50 : index
    cf.assert %ok, "out of range"
    %inside = arith.select %ok, %at, %c0 : index
    %v = memref.load %x[%inside] : memref<50xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<1024x129xf32>
  }
  return
}

// -----

// A loop whose steps are single elements, too: each thread has a sum of its own.
// CHECK-LABEL: func.func private @sums
// CHECK: } {mlopt.schedule = {tasks = array<i64: 128>}}
// THREADS: llvm.func @sums(
// THREADS: scf.if
// THREADS: scf.for
// THREADS-NOT: nvvm.barrier
// THREADS-NOT: nvvm.shfl
// THREADS: llvm.store
func.func private @sums(%x: memref<?x50xf32>, %out: memref<50xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %n = memref.dim %x, %c0 : memref<?x50xf32>
  scf.forall (%j) in (50) {
    %s = scf.for %k = %c0 to %n step %c2 iter_args(%a = %zero) -> (vector<1xf32>) {
      %v = vector.transfer_read %x[%k, %j], %pad {in_bounds = [true, true]} : memref<?x50xf32>, vector<1x1xf32>
      %t = vector.multi_reduction <add>, %v, %a [0] : vector<1x1xf32> to vector<1xf32>
      scf.yield %t : vector<1xf32>
    }
    vector.transfer_write %s, %out[%j] {in_bounds = [true]} : vector<1xf32>, memref<50xf32>
  }
  return
}

// -----

// A flip: a thread has four neighbours, which it loads at once, and backwards. The twin loads one by one.
// CHECK-LABEL: func.func private @flip
// CHECK: neighbours = array<i64: 4>, tasks = array<i64: 512>
// THREADS: llvm.func @flip(
// THREADS: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// THREADS: %[[V:.*]] = vector.from_elements
// THREADS: llvm.store %[[V]], {{.*}} {alignment = 16 : i64} : vector<4xf32>
// THREADS-NOT: llvm.load
// THREADS: llvm.func @flip_unaligned(
// THREADS-COUNT-4: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
func.func private @flip(%x: memref<64x1000xf32>, %out: memref<64x1000xf32>) attributes {mlopt.kernel} {
  %c999 = arith.constant 999 : index
  scf.forall (%i, %j) in (64, 1000) {
    %at = arith.subi %c999, %j : index
    %v = memref.load %x[%i, %at] : memref<64x1000xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<64x1000xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// Pairs: two neighbours a thread, both of whose elements of both parities are one access.
// CHECK-LABEL: func.func private @pairs
// CHECK: neighbours = array<i64: 2>, tasks = array<i64: 256>
// THREADS: llvm.func @pairs(
// THREADS: llvm.load {{.*}} -> vector<4xf32>
// THREADS-NOT: llvm.load
// THREADS: llvm.store {{.*}} : vector<4xf32>
// THREADS: llvm.func @pairs_unaligned(
func.func private @pairs(%x: memref<64x512xf32>, %out: memref<64x256x2xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i, %j) in (64, 256) {
    %e = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
    %o = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%j)
    %even = vector.transfer_read %x[%i, %e], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<1x1xf32>
    %odd = vector.transfer_read %x[%i, %o], %pad {in_bounds = [true, true]} : memref<64x512xf32>, vector<1x1xf32>
    %a = vector.shape_cast %even : vector<1x1xf32> to vector<1x1x1xf32>
    %b = vector.shape_cast %odd : vector<1x1xf32> to vector<1x1x1xf32>
    vector.transfer_write %b, %out[%i, %j, %c0] {in_bounds = [true, true, true]} : vector<1x1x1xf32>, memref<64x256x2xf32>
    vector.transfer_write %a, %out[%i, %j, %c1] {in_bounds = [true, true, true]} : vector<1x1x1xf32>, memref<64x256x2xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// A gather again: a thread loads two places at once, and stores what it finds there at once. Places are checked
// together, before anything is read there; a wrong one has a thread store zeros.
// CHECK-LABEL: func.func private @gather_neighbours
// CHECK: neighbours = array<i64: 2>, tasks = array<i64: 256>
// THREADS: llvm.func @gather_neighbours(
// THREADS: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<2xi64>
// THREADS: cf.cond_br
// THREADS-COUNT-2: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
// THREADS: llvm.store {{.*}} {alignment = 8 : i64} : vector<2xf32>
// THREADS: llvm.cmpxchg
// THREADS: llvm.store {{.*}} {alignment = 8 : i64} : vector<2xf32>
// THREADS-NEXT: nvvm.exit
// THREADS: llvm.func @gather_neighbours_unaligned(
func.func private @gather_neighbours(%n: memref<128x1000xi64>, %x: memref<128x1000xf32>, %out: memref<128x1000xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1000 = arith.constant 1000 : index
  scf.forall (%i, %j) in (128, 1000) {
    %place = memref.load %n[%i, %j] : memref<128x1000xi64>
    %at = arith.index_cast %place : i64 to index
    %fine = arith.cmpi ult, %at, %c1000 : index
    cf.assert %fine, "IndexError: index out of range"
    %safe = arith.select %fine, %at, %c0 : index
    %v = memref.load %x[%i, %safe] : memref<128x1000xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<128x1000xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// One index says the row for all: a thread makes its place once, and reads neighbours of it at once.
// CHECK-LABEL: func.func private @row
// CHECK: neighbours = array<i64: 4>, tasks = array<i64: 512>
// THREADS: llvm.func @row(
// THREADS: llvm.load %arg0 invariant {alignment = 8 : i64} : !llvm.ptr -> i64
// THREADS-NOT: llvm.load
// THREADS: cf.cond_br
// THREADS: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// THREADS-NOT: llvm.load
// THREADS: llvm.func @row_unaligned(
func.func private @row(%n: memref<1xi64>, %x: memref<128x1024xf32>, %out: memref<1024xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  scf.forall (%j) in (1024) {
    %place = memref.load %n[%c0] : memref<1xi64>
    %at = arith.index_cast %place : i64 to index
    %fine = arith.cmpi ult, %at, %c128 : index
    cf.assert %fine, "IndexError: index out of range"
    %safe = arith.select %fine, %at, %c0 : index
    %v = memref.load %x[%safe, %j] : memref<128x1024xf32>
    %t = vector.broadcast %v : f32 to vector<1xf32>
    vector.transfer_write %t, %out[%j] {in_bounds = [true]} : vector<1xf32>, memref<1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1>, warps = array<i64: 4>}}
  return
}

// -----

// What is read after a write may be what was written: all of a task comes before the branch, and the index is
// chosen as before.
// CHECK-LABEL: func.func private @reads_what_it_wrote
// THREADS: llvm.func @reads_what_it_wrote(
// THREADS: arith.select
// THREADS: llvm.store
// THREADS: llvm.load
// THREADS: llvm.store
// THREADS: cf.cond_br
// THREADS: llvm.return
// THREADS: llvm.cmpxchg
// THREADS-NOT: llvm.store
// THREADS: nvvm.exit
func.func private @reads_what_it_wrote(%index: memref<4x128xi64>, %x: memref<50xf32>, %out: memref<4x128xf32>, %again: memref<4x128xf32>) attributes {mlopt.kernel} {
  %c50 = arith.constant 50 : index
  %c0 = arith.constant 0 : index
  scf.forall (%i, %j) in (4, 128) {
    %n = memref.load %index[%i, %j] : memref<4x128xi64>
    %at = arith.index_cast %n : i64 to index
    %ok = arith.cmpi ult, %at, %c50 : index
    cf.assert %ok, "out of range"
    %inside = arith.select %ok, %at, %c0 : index
    %v = memref.load %x[%inside] : memref<50xf32>
    %t = vector.broadcast %v : f32 to vector<1x1xf32>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<4x128xf32>
    %w = memref.load %out[%i, %j] : memref<4x128xf32>
    %s = arith.addf %w, %w : f32
    %u = vector.broadcast %s : f32 to vector<1x1xf32>
    vector.transfer_write %u, %again[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<4x128xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// A slice x[:, 1:]: none of its rows begins where a wide access may. A thread has eight results, which it stores at
// once, and loads the eight elements that its first one is among; the rest are the next lane's, or loaded as well.
// Where it has two rows those of the second one are one element further, in the same words: nothing branches. Five
// words are chosen of eight, and shifted by bytes; four of them again, by two.
// CHECK-LABEL: func.func private @slice
// CHECK: consecutive = array<i64: 8>, min_blocks = array<i64: 8>, tasks = array<i64: 1024>
// THREADS: llvm.func @slice(
// THREADS: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// THREADS: scf.if
// THREADS: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// THREADS-COUNT-4: nvvm.shfl.sync down
// THREADS-NOT: llvm.load
// THREADS-COUNT-9: llvm.intr.fshr
// THREADS: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>
// THREADS-NOT: llvm.store
// THREADS: llvm.func @slice_unaligned(
// THREADS-NOT: alignment = 16
// THREADS-COUNT-8: llvm.load {{.*}} invariant {alignment = 2 : i64} : !llvm.ptr -> f16
// THREADS: func.func private @slice
func.func private @slice(%x: memref<256x512xf16>, %out: memref<256x511xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  scf.forall (%i, %j) in (256, 511) {
    %at = affine.apply affine_map<(d0) -> (d0 + 1)>(%j)
    %v = vector.transfer_read %x[%i, %at], %pad {in_bounds = [true, true]} : memref<256x512xf16>, vector<1x1xf16>
    vector.transfer_write %v, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<256x511xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// Short rows that are padded: what is behind the padding has the elements three places before. Two choices a word,
// and no branch but the one around the second load, and around what a last group stores.
// CHECK-LABEL: func.func private @padded
// CHECK: consecutive = array<i64: 8>
// THREADS: llvm.func @padded(
// THREADS-COUNT-2: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// THREADS-COUNT-4: nvvm.shfl.sync down
// THREADS-NOT: llvm.load
// THREADS-COUNT-8: llvm.intr.fshr
// THREADS: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>
// THREADS: llvm.func @padded_unaligned(
func.func private @padded(%x: memref<24x32xf16>, %out: memref<25x35xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.5 : f16
  scf.forall (%i, %j) in (25, 35) {
    %at = affine.apply affine_map<(d0) -> (d0 - 1)>(%j)
    %v = vector.transfer_read %x[%i, %at], %pad : memref<24x32xf16>, vector<1x1xf16>
    vector.transfer_write %v, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<25x35xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// Every other element of rows that lie apart: the even lanes' groups come before the odd lanes'. A lane loads the half
// that is its own of the windows of two groups, each load an access beside the lane before's, and has two words of its
// group; the other two the lane beside gives it.
// CHECK-LABEL: func.func private @halves
// CHECK: consecutive = array<i64: 4>, min_blocks = array<i64: 8>, tasks = array<i64: 512>
// THREADS: llvm.func @halves(
// THREADS-DAG: %[[BIT:.*]] = arith.andi %{{.*}}, %c1_i32
// THREADS-DAG: %[[ODD:.*]] = arith.cmpi eq, %[[BIT]], %c1_i32
// THREADS: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<2xi64>
// THREADS-COUNT-2: "mov.b64 {$0, $1}, $2;"
// THREADS: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<2xi64>
// THREADS-NOT: llvm.load
// THREADS: %[[SENT:.*]] = arith.select %[[ODD]], %[[FIRST:.*]], %[[SECOND:.*]] : i32
// THREADS: %[[CAME:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[SENT]], %c1_i32
// THREADS: arith.select %[[ODD]], %[[CAME]], %[[FIRST]] : i32
// THREADS: arith.select %[[ODD]], %[[SECOND]], %[[CAME]] : i32
// THREADS: nvvm.shfl.sync bfly
// THREADS-NOT: nvvm.shfl
// THREADS-NOT: scf.if
// THREADS: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>
// THREADS-NOT: llvm.store
// THREADS: llvm.func @halves_unaligned(
// THREADS-NOT: alignment = 16
// THREADS-COUNT-4: llvm.load {{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// THREADS: func.func private @halves
func.func private @halves(%x: memref<64x32x64x2xf32>, %out: memref<64x31x64xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  scf.forall (%i, %j, %k) in (64, 31, 64) {
    %at = affine.apply affine_map<(d0) -> (d0 + 1)>(%j)
    %v = vector.transfer_read %x[%i, %at, %k, %c1], %pad {in_bounds = [true, true, true, true]} : memref<64x32x64x2xf32>, vector<1x1x1x1xf32>
    %t = vector.shape_cast %v : vector<1x1x1x1xf32> to vector<1x1x1xf32>
    vector.transfer_write %t, %out[%i, %j, %k] {in_bounds = [true, true, true]} : vector<1x1x1xf32>, memref<64x31x64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// Every fourth element, whatever rows they are in: four loads, of a word each; two exchanges with one lane, and two
// with another. The last group has fewer than eight tasks: what it loads is in memory, and is stored one by one.
// CHECK-LABEL: func.func private @fourths
// CHECK: consecutive = array<i64: 8>
// THREADS: llvm.func @fourths(
// THREADS: arith.minsi
// THREADS-COUNT-4: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<2xi64>
// THREADS-NOT: llvm.load
// THREADS-COUNT-2: nvvm.shfl.sync bfly %{{.*}}, %c1_i32
// THREADS-COUNT-2: nvvm.shfl.sync bfly %{{.*}}, %c2_i32
// THREADS-NOT: nvvm.shfl
// THREADS: scf.if
// THREADS-NEXT: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>
// THREADS: llvm.func @fourths_unaligned(
func.func private @fourths(%x: memref<34x70x4xf16>, %out: memref<34x70xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  %c3 = arith.constant 3 : index
  scf.forall (%i, %j) in (34, 70) {
    %v = vector.transfer_read %x[%i, %j, %c3], %pad {in_bounds = [true, true, true]} : memref<34x70x4xf16>, vector<1x1x1xf16>
    %t = vector.shape_cast %v : vector<1x1x1xf16> to vector<1x1xf16>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<34x70xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// Results of a wider dtype, and something beside: a thread's own access has all that it wants, and lanes keep theirs.
// CHECK-LABEL: func.func private @wider
// CHECK: consecutive = array<i64: 4>
// THREADS: llvm.func @wider(
// THREADS-DAG: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<2xi64>
// THREADS-DAG: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// THREADS-NOT: nvvm.shfl
// THREADS: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>
// THREADS: llvm.func @wider_unaligned(
func.func private @wider(%x: memref<48x256xf16>, %y: memref<48x128xf32>, %out: memref<48x128xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  %pad32 = arith.constant 0.0 : f32
  scf.forall (%i, %j) in (48, 128) {
    %at = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
    %v = vector.transfer_read %x[%i, %at], %pad {in_bounds = [true, true]} : memref<48x256xf16>, vector<1x1xf16>
    %w = vector.transfer_read %y[%i, %j], %pad32 {in_bounds = [true, true]} : memref<48x128xf32>, vector<1x1xf32>
    %e = arith.extf %v : vector<1x1xf16> to vector<1x1xf32>
    %s = arith.addf %e, %w : vector<1x1xf32>
    vector.transfer_write %s, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf32>, memref<48x128xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// A stack of two along the last dim, three a row: a thread has one task, and stores its neighbours at once.
// CHECK-LABEL: func.func private @stack
// CHECK: neighbours = array<i64: 1>, tasks = array<i64: 128>
// THREADS: llvm.func @stack(
// THREADS: llvm.store {{.*}} {alignment = 4 : i64} : vector<2xf16>
// THREADS-NOT: llvm.store
// THREADS: llvm.func @stack_unaligned(
func.func private @stack(%x: memref<256x8xf16>, %y: memref<256x8xf16>, %out: memref<256x3x2xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i, %j) in (256, 3) {
    %v = vector.transfer_read %x[%i, %j], %pad {in_bounds = [true, true]} : memref<256x8xf16>, vector<1x1xf16>
    %w = vector.transfer_read %y[%i, %j], %pad {in_bounds = [true, true]} : memref<256x8xf16>, vector<1x1xf16>
    %a = vector.shape_cast %v : vector<1x1xf16> to vector<1x1x1xf16>
    vector.transfer_write %a, %out[%i, %j, %c0] {in_bounds = [true, true, true]} : vector<1x1x1xf16>, memref<256x3x2xf16>
    %b = vector.shape_cast %w : vector<1x1xf16> to vector<1x1x1xf16>
    vector.transfer_write %b, %out[%i, %j, %c1] {in_bounds = [true, true, true]} : vector<1x1x1xf16>, memref<256x3x2xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// One row: how far elements are moved is known, so no word is chosen, and one comes from the next lane. Of 4,099
// results some thread has three.
// CHECK-LABEL: func.func private @moved
// CHECK: consecutive = array<i64: 4>
// THREADS: llvm.func @moved(
// THREADS: llvm.load {{.*}} -> vector<4xi32>
// THREADS-COUNT-1: nvvm.shfl.sync down
// THREADS-NOT: nvvm.shfl.sync
// THREADS-NOT: llvm.intr.fshr
// THREADS: llvm.store {{.*}} : vector<4xf32>
// THREADS-COUNT-3: llvm.store {{.*}} : f32
// THREADS: llvm.func @moved_unaligned(
func.func private @moved(%x: memref<4100xf32>, %out: memref<4099xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%j) in (4099) {
    %at = affine.apply affine_map<(d0) -> (d0 + 1)>(%j)
    %v = vector.transfer_read %x[%at], %pad {in_bounds = [true]} : memref<4100xf32>, vector<1xf32>
    vector.transfer_write %v, %out[%j] {in_bounds = [true]} : vector<1xf32>, memref<4099xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1>, warps = array<i64: 4>}}
  return
}

// -----

// Two places of a window of twelve channels, side by side: a thread has all 24, in words of two places where it has
// both. Where a place is inside is asked once for each; what threads have made they store beside each other's.
// CHECK-LABEL: func.func private @windows
// CHECK: inner = array<i64: 24>, min_blocks = array<i64: 8>, tasks = array<i64: 3072>
// THREADS: llvm.func @windows(
// THREADS-COUNT-1: scf.if
// THREADS-COUNT-12: llvm.load {{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> vector<2xf16>
// THREADS-NOT: scf.if
// THREADS-COUNT-3: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<3>
// THREADS: nvvm.barrier0
// THREADS-COUNT-3: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf16>
// THREADS: llvm.func @windows_unaligned(
func.func private @windows(%x: memref<12x129x2xf16>, %out: memref<128x2x12xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  scf.forall (%i, %l, %c) in (128, 2, 12) {
    %at = affine.apply affine_map<(d0) -> (d0 - 1)>(%i)
    %v = vector.transfer_read %x[%c, %at, %l], %pad {in_bounds = [true, false, true]} : memref<12x129x2xf16>, vector<1x1x1xf16>
    vector.transfer_write %v, %out[%i, %l, %c] {in_bounds = [true, true, true]} : vector<1x1x1xf16>, memref<128x2x12xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// Windows of seven places of three channels, at every other place: a thread has four, whose own eight places of a
// row are one access. Of the words before them two come from the lane before, of those behind two from the lane
// behind. Four of them make an even number of accesses: they change places in shared memory. Of 320 groups the last
// block has 64.
// CHECK-LABEL: func.func private @beside
// CHECK: inner = array<i64: 24, 4>, min_blocks = array<i64: 6>, tasks = array<i64: 12288>
// THREADS: llvm.func @beside(
// THREADS: scf.if
// THREADS-COUNT-3: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// THREADS-NOT: llvm.load
// THREADS-DAG: nvvm.shfl.sync up
// THREADS-DAG: nvvm.shfl.sync down
// THREADS: arith.xori
// THREADS-COUNT-12: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<3>
// THREADS: nvvm.barrier0
// THREADS: arith.cmpi sgt
// THREADS: scf.if
// THREADS: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr{{$}}
// THREADS: llvm.func @beside_unaligned(
func.func private @beside(%x: memref<3x20x128xf16>, %out: memref<20x64x8x3xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  scf.forall (%i, %j, %l, %c) in (20, 64, 8, 3) {
    %row = affine.apply affine_map<(d0) -> (d0 - 1)>(%i)
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1 - 3)>(%j, %l)
    %v = vector.transfer_read %x[%c, %row, %at], %pad {in_bounds = [true, false, false]} : memref<3x20x128xf16>, vector<1x1x1xf16>
    %w = vector.shape_cast %v : vector<1x1x1xf16> to vector<1x1x1x1xf16>
    vector.transfer_write %w, %out[%i, %j, %l, %c] {in_bounds = [true, true, true, true]} : vector<1x1x1x1xf16>, memref<20x64x8x3xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// The last group of 28 in a row is in the middle of a warp: where that ends a lane loads the access beside its own.
// CHECK-LABEL: func.func private @across_warps
// CHECK: inner = array<i64: 24, 4>
// THREADS: llvm.func @across_warps(
// THREADS-COUNT-2: scf.if
// THREADS: nvvm.shfl.sync
// THREADS: llvm.func @across_warps_unaligned(
func.func private @across_warps(%x: memref<3x20x224xf16>, %out: memref<20x112x8x3xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  scf.forall (%i, %j, %l, %c) in (20, 112, 8, 3) {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1 - 3)>(%j, %l)
    %v = vector.transfer_read %x[%c, %i, %at], %pad {in_bounds = [true, true, false]} : memref<3x20x224xf16>, vector<1x1x1xf16>
    %w = vector.shape_cast %v : vector<1x1x1xf16> to vector<1x1x1x1xf16>
    vector.transfer_write %w, %out[%i, %j, %l, %c] {in_bounds = [true, true, true, true]} : vector<1x1x1x1xf16>, memref<20x112x8x3xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// A window takes more than the lanes beside have: each is a thread's.
// CHECK-LABEL: func.func private @beyond_beside
// CHECK: inner = array<i64: 24>, min_blocks = array<i64: 8>, tasks = array<i64: 3072>
func.func private @beyond_beside(%x: memref<3x20x128xf16>, %out: memref<20x64x8x3xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  scf.forall (%i, %j, %l, %c) in (20, 64, 8, 3) {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1 - 9)>(%j, %l)
    %v = vector.transfer_read %x[%c, %i, %at], %pad {in_bounds = [true, true, false]} : memref<3x20x128xf16>, vector<1x1x1xf16>
    %w = vector.shape_cast %v : vector<1x1x1xf16> to vector<1x1x1x1xf16>
    vector.transfer_write %w, %out[%i, %j, %l, %c] {in_bounds = [true, true, true, true]} : vector<1x1x1x1xf16>, memref<20x64x8x3xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// Rows that are no whole accesses, of 126 elements, and windows of 62 in a row that are no whole groups of four.
// CHECK-LABEL: func.func private @parts_of_accesses
// CHECK: inner = array<i64: 24>
func.func private @parts_of_accesses(%x: memref<3x64x126xf16>, %out: memref<64x60x8x3xf16>) attributes {mlopt.kernel} {
  scf.forall (%i, %j, %l, %c) in (64, 60, 8, 3) {
    %pad = arith.constant 0.0 : f16
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1)>(%j, %l)
    %v = vector.transfer_read %x[%c, %i, %at], %pad {in_bounds = [true, true, true]} : memref<3x64x126xf16>, vector<1x1x1xf16>
    %w = vector.shape_cast %v : vector<1x1x1xf16> to vector<1x1x1x1xf16>
    vector.transfer_write %w, %out[%i, %j, %l, %c] {in_bounds = [true, true, true, true]} : vector<1x1x1x1xf16>, memref<64x60x8x3xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1, 1>, warps = array<i64: 4>}}
  return
}

// CHECK-LABEL: func.func private @parts_of_groups
// CHECK: inner = array<i64: 24>
func.func private @parts_of_groups(%x: memref<3x64x136xf16>, %out: memref<64x62x8x3xf16>) attributes {mlopt.kernel} {
  scf.forall (%i, %j, %l, %c) in (64, 62, 8, 3) {
    %pad = arith.constant 0.0 : f16
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1)>(%j, %l)
    %v = vector.transfer_read %x[%c, %i, %at], %pad {in_bounds = [true, true, true]} : memref<3x64x136xf16>, vector<1x1x1xf16>
    %w = vector.shape_cast %v : vector<1x1x1xf16> to vector<1x1x1x1xf16>
    vector.transfer_write %w, %out[%i, %j, %l, %c] {in_bounds = [true, true, true, true]} : vector<1x1x1x1xf16>, memref<64x62x8x3xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// A row that is rolled by one. A thread loads the access that its last element lies in, at its own place, where sectors
// begin; the one before is the lane's before, whose last word is wanted, or the last one of the row.
// CHECK-LABEL: func.func private @rolled
// CHECK: consecutive = array<i64: 8>
// THREADS: llvm.func @rolled(
// THREADS: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// THREADS: scf.if
// THREADS: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// THREADS-COUNT-1: nvvm.shfl.sync up
// THREADS-NOT: nvvm.shfl.sync
// THREADS-COUNT-4: llvm.intr.fshr
// THREADS: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>
// THREADS: llvm.func @rolled_unaligned(
// THREADS-NOT: alignment = 16
func.func private @rolled(%x: memref<256x512xf16>, %out: memref<256x512xf16>) attributes {mlopt.kernel} {
  %c511 = arith.constant 511 : index
  %c1 = arith.constant 1 : index
  %back = arith.constant -1 : index
  scf.forall (%i, %j) in (256, 512) {
    %before = arith.addi %j, %back : index
    %first = arith.cmpi ult, %j, %c1 : index
    %at = arith.select %first, %c511, %before : index
    %v = memref.load %x[%i, %at] : memref<256x512xf16>
    %t = vector.broadcast %v : f16 to vector<1x1xf16>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<256x512xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}

// -----

// Rows between what is reflected: as between padding, whose elements are loaded one by one where a group has some.
// CHECK-LABEL: func.func private @reflected
// CHECK: consecutive = array<i64: 8>
// THREADS: llvm.func @reflected(
// THREADS-COUNT-2: llvm.load {{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// THREADS: scf.if
// THREADS-COUNT-8: llvm.load {{.*}} invariant {alignment = 2 : i64} : !llvm.ptr -> f16
// THREADS-COUNT-4: nvvm.shfl.sync down
// THREADS-NOT: llvm.load
// THREADS: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>
// THREADS: llvm.func @reflected_unaligned(
func.func private @reflected(%x: memref<24x512xf16>, %out: memref<24x515xf16>) attributes {mlopt.kernel} {
  %c2 = arith.constant 2 : index
  %c514 = arith.constant 514 : index
  %c1024 = arith.constant 1024 : index
  %back = arith.constant -2 : index
  scf.forall (%i, %j) in (24, 515) {
    %behind = arith.subi %c1024, %j : index
    %own = arith.addi %j, %back : index
    %inside = arith.cmpi ult, %j, %c514 : index
    %rest = arith.select %inside, %own, %behind : index
    %turned = arith.subi %c2, %j : index
    %before = arith.cmpi ult, %j, %c2 : index
    %at = arith.select %before, %turned, %rest : index
    %v = memref.load %x[%i, %at] : memref<24x512xf16>
    %t = vector.broadcast %v : f16 to vector<1x1xf16>
    vector.transfer_write %t, %out[%i, %j] {in_bounds = [true, true]} : vector<1x1xf16>, memref<24x515xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 1>, warps = array<i64: 4>}}
  return
}
