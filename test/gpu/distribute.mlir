// RUN: mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-distribute,canonicalize,cse)' | FileCheck %s

// 16 bytes an access, both loads before the first use; ragged rows are guarded. The twin for pointers that
// are not aligned, which gets more registers, and the launch that chooses.
// CHECK: gpu.module @kernels
// CHECK: llvm.func @relu(%[[X:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[OUT:.*]]: !llvm.ptr {llvm.noalias})
// CHECK-SAME: gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>, nvvm.minctasm = 4 : i32
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[HALF:.*]] = arith.shrui %[[TID]], %c6_i32
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[HALF]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[ROW]], %c1001_i32
// CHECK: scf.if %[[INSIDE]] -> (f32, f32, f32, f32)
// CHECK:   llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: scf.if %{{.*}} -> (f32, f32, f32, f32)
// CHECK:   llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-COUNT-8: arith.maximumf %{{.*}} : f32
// CHECK: scf.if %[[INSIDE]]
// CHECK:   llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// CHECK: llvm.func @relu_unaligned(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr {llvm.noalias})
// CHECK-SAME: nvvm.minctasm = 3 : i32
// CHECK-COUNT-8: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: func.func private @relu(%[[A:.*]]: memref<1001x256xf32>, %[[B:.*]]: memref<1001x256xf32>)
// CHECK-SAME: mlopt.shared = 0
// CHECK: %[[A0:.*]] = memref.extract_aligned_pointer_as_index %[[A]]
// CHECK: %[[A1:.*]] = arith.index_cast %[[A0]] : index to i64
// CHECK: %[[A2:.*]] = llvm.inttoptr %[[A1]]
// CHECK: %[[EVERY:.*]] = arith.ori %[[A1]]
// CHECK: %[[LOW:.*]] = arith.andi %[[EVERY]], %c15_i64
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %[[LOW]], %c0_i64
// CHECK: scf.if %[[ALIGNED]]
// CHECK:   gpu.launch_func @kernels::@relu blocks in (%c251_i64, %c1_i64, %c1_i64) threads in (%c128_i64, %c1_i64, %c1_i64) : i64 dynamic_shared_memory_size %c0_i32 args(%[[A2]] : !llvm.ptr, %{{.*}} : !llvm.ptr)
// CHECK: else
// CHECK:   gpu.launch_func @kernels::@relu_unaligned
func.func private @relu(%x: memref<1001x256xf32>, %out: memref<1001x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x256xf32>
  scf.forall (%i) = (0) to (1001) step (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [false, true]} : memref<1001x256xf32>, vector<4x256xf32>
    %y = arith.maximumf %v, %zero : vector<4x256xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [false, true]} : vector<4x256xf32>, memref<1001x256xf32>
  } {mlopt.schedule = {tile = array<i64: 4, 0>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// A row of 300 for four warps: what lies beyond does not count; lanes by butterflies, warps through shared
// memory, where all lanes store their one total; one thread writes.
// CHECK: llvm.mlir.global external @dyn() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.func @sum
// CHECK: %[[BASE:.*]] = llvm.mlir.addressof @dyn
// CHECK: %[[V:.*]] = scf.if
// CHECK: %[[LAST:.*]] = arith.select %{{.*}}, %{{.*}}, %cst{{.*}} : f32
// CHECK-COUNT-5: nvvm.shfl.sync  bfly
// CHECK-NOT: scf.if
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-COUNT-4: arith.addf
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr
// CHECK: func.func private @sum
// CHECK-SAME: mlopt.shared = 16
func.func private @sum(%x: memref<10x300xf32>, %out: memref<10xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<10x300xf32>, vector<1x300xf32>
    %s = vector.multi_reduction <add>, %v, %zero [1] : vector<1x300xf32> to vector<1xf32>
    vector.transfer_write %s, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<10xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// A tile is turned through shared memory.
// CHECK: llvm.func @turned
// CHECK-COUNT-2: llvm.load %{{.*}} invariant {alignment = 16 : i64}
// CHECK: llvm.store %{{.*}} !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} !llvm.ptr<3>
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
func.func private @turned(%x: memref<64x96xf32>, %out: memref<96x64xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  scf.forall (%i, %j) = (0, 0) to (96, 64) step (32, 32) {
    %v = vector.transfer_read %x[%j, %i], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<64x96xf32>, vector<32x32xf32>
    vector.transfer_write %v, %out[%i, %j] {in_bounds = [true, true]} : vector<32x32xf32>, memref<96x64xf32>
  } {mlopt.schedule = {tile = array<i64: 32, 32>, warps = array<i64: 4>}}
  return
}

// -----

// A loop carries each thread's registers.
// CHECK: llvm.func @steps(%{{.*}}: !llvm.ptr {{.*}}, %{{.*}}: !llvm.ptr {{.*}}, %[[N:.*]]: i64)
// CHECK: scf.for %{{.*}} = %c0_i64 to %[[N]] step %c8_i64 iter_args({{.*}}) -> (f32, f32, f32, f32) : i64
// CHECK: func.func private @steps
// CHECK: %[[SIZE:.*]] = memref.dim %{{.*}}, %c0
// CHECK: %[[SIZE64:.*]] = arith.index_cast %[[SIZE]] : index to i64
// CHECK: gpu.launch_func {{.*}}args(%{{.*}} : !llvm.ptr, %{{.*}} : !llvm.ptr, %[[SIZE64]] : i64)
func.func private @steps(%x: memref<?x256xf32>, %out: memref<256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?x256xf32>
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<256xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    %s = scf.for %k = %c0 to %n step %c8 iter_args(%acc = %zero) -> (vector<256xf32>) {
      %v = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [false, true]} : memref<?x256xf32>, vector<8x256xf32>
      %t = vector.multi_reduction <add>, %v, %acc [0] : vector<8x256xf32> to vector<256xf32>
      scf.yield %t : vector<256xf32>
    }
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<256xf32>, memref<256xf32>
  } {mlopt.schedule = {tile = array<i64: 0, 0>, warps = array<i64: 4>}}
  return
}

// -----

// A row at an index from memory; a failed check leaves its number in the status cell, once, and behind all loads:
// LLVM would move those that come before a branch behind it.
// CHECK: module attributes {gpu.container_module, mlopt.asserts = ["IndexError: index out of range"]}
// CHECK: llvm.func @gather(%{{.*}}, %{{.*}}, %{{.*}}, %[[STATUS:.*]]: !llvm.ptr {mlopt.status})
// CHECK: %[[I:.*]] = llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK: llvm.store
// CHECK: llvm.cmpxchg %[[STATUS]], %c0_i32, %c1_i32 monotonic monotonic
// CHECK: func.func private @gather(%{{.*}}: memref<50x64xf32>, %{{.*}}: memref<7xi64>, %{{.*}}: memref<7x64xf32>) attributes
func.func private @gather(%table: memref<50x64xf32>, %index: memref<7xi64>, %out: memref<7x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c50 = arith.constant 50 : i64
  %zero = arith.constant 0 : i64
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (7) step (1) {
    %n = memref.load %index[%i] : memref<7xi64>
    %fine = arith.cmpi ult, %n, %c50 : i64
    cf.assert %fine, "IndexError: index out of range"
    %safe = arith.select %fine, %n, %zero : i64
    %row = arith.index_cast %safe : i64 to index
    %v = vector.transfer_read %table[%row, %c0], %pad {in_bounds = [true, true]} : memref<50x64xf32>, vector<1x64xf32>
    vector.transfer_write %v, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x64xf32>, memref<7x64xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// Positions have 32 bits where those from memory are checked: as the 64 bits that they are there.
// CHECK-LABEL: llvm.func @checked(
// CHECK: %[[I:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK-DAG: %[[PLACE:.*]] = arith.trunci %[[I]] : i64 to i32
// CHECK-DAG: %[[FINE:.*]] = arith.cmpi ult, %[[I]], %{{.*}} : i64
// CHECK: arith.select %[[FINE]], %[[PLACE]], %c0_i32 : i32
// CHECK-LABEL: llvm.func @checked_unaligned(
func.func private @checked(%table: memref<50x64xf32>, %index: memref<7xi64>, %out: memref<7x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c50 = arith.constant 50 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (7) step (1) {
    %n = memref.load %index[%i] : memref<7xi64>
    %place = arith.index_cast %n : i64 to index
    %fine = arith.cmpi ult, %place, %c50 : index
    cf.assert %fine, "IndexError: index out of range"
    %row = arith.select %fine, %place, %c0 : index
    %v = vector.transfer_read %table[%row, %c0], %pad {in_bounds = [true, true]} : memref<50x64xf32>, vector<1x64xf32>
    vector.transfer_write %v, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x64xf32>, memref<7x64xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// Of one that is used unchecked all of its bits may be needed.
// CHECK-LABEL: llvm.func @unchecked(
// CHECK-NOT: arith.trunci
// CHECK-LABEL: llvm.func @unchecked_unaligned(
func.func private @unchecked(%table: memref<50x64xf32>, %index: memref<7xi64>, %out: memref<7x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c50 = arith.constant 50 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (7) step (1) {
    %n = memref.load %index[%i] : memref<7xi64>
    %place = arith.index_cast %n : i64 to index
    %fine = arith.cmpi ult, %place, %c50 : index
    cf.assert %fine, "IndexError: index out of range"
    %v = vector.transfer_read %table[%place, %c0], %pad {in_bounds = [true, true]} : memref<50x64xf32>, vector<1x64xf32>
    vector.transfer_write %v, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x64xf32>, memref<7x64xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// Without tasks there is no launch.
// CHECK-LABEL: func.func private @nothing
// CHECK-NEXT: return
func.func private @nothing(%x: memref<0x4xf32>, %out: memref<0x4xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (0) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<0x4xf32>, vector<1x4xf32>
    vector.transfer_write %v, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x4xf32>, memref<0x4xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// A number of blocks that is not known is checked before the launch; without any there is none.
// CHECK: func.func private @grid(%[[X:.*]]: memref<?x256xf32>
// CHECK: %[[ROWS:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: %[[BLOCKS:.*]] = arith.divui
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %[[BLOCKS]], %c0_i64
// CHECK: scf.if %[[SOME]] {
// CHECK: %[[FITS:.*]] = arith.cmpi ule, %[[BLOCKS]], %c2147483647_i64
// CHECK: cf.assert %[[FITS]], "RuntimeError: kernel 'grid' needs more than the 2147483647 blocks
// CHECK: gpu.launch_func @kernels::@grid blocks in (%[[BLOCKS]], %c1_i64, %c1_i64)
func.func private @grid(%x: memref<?x256xf32>, %out: memref<?x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x256xf32>
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x256xf32>
  scf.forall (%i) = (0) to (%n) step (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [false, true]} : memref<?x256xf32>, vector<4x256xf32>
    %y = arith.maximumf %v, %zero : vector<4x256xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [false, true]} : vector<4x256xf32>, memref<?x256xf32>
  } {mlopt.schedule = {tile = array<i64: 4, 0>, warps = array<i64: 4>, min_blocks = array<i64: 4>}}
  return
}

// -----

// What covers an earlier tile waits for it: other threads may have written that. Parts that lie apart do not wait.
// CHECK: llvm.func @padded
// CHECK: llvm.store
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.store
// CHECK: nvvm.barrier0
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.store
// CHECK: func.func private @padded
func.func private @padded(%x: memref<64xf32>, %out: memref<256xf32>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128xf32>
  scf.forall (%i) = (0) to (1) step (1) {
    vector.transfer_write %zero, %out[%c0] {in_bounds = [true]} : vector<128xf32>, memref<256xf32>
    vector.transfer_write %zero, %out[%c128] {in_bounds = [true]} : vector<128xf32>, memref<256xf32>
    %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<64xf32>, vector<64xf32>
    vector.transfer_write %v, %out[%c8] {in_bounds = [true]} : vector<64xf32>, memref<256xf32>
  } {mlopt.schedule = {tile = array<i64>, warps = array<i64: 4>}}
  return
}

// -----

// 2^31 - 1000 elements: the last task's tile, of 1024 rows, computes positions that 32 bits do not hold.
// CHECK: llvm.func @near_the_end
// CHECK: arith.extui %{{.*}} : i32 to i64
// CHECK: func.func private @near_the_end
func.func private @near_the_end(%x: memref<2147482648xi8>, %out: memref<2147482648xi8>) attributes {mlopt.kernel} {
  %pad = arith.constant 0 : i8
  scf.forall (%i) = (0) to (2147482648) step (1024) {
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [false]} : memref<2147482648xi8>, vector<1024xi8>
    vector.transfer_write %v, %out[%i] {in_bounds = [false]} : vector<1024xi8>, memref<2147482648xi8>
  } {mlopt.schedule = {tile = array<i64: 1024>, warps = array<i64: 4>}}
  return
}

// -----

// Four accesses of a thread, of which one may end beyond the buffer: all whole ones come first, and behind one
// branch for all what is inside of one that is not, so that no access waits for the branch of another one.
// CHECK: llvm.func @ragged(
// CHECK-COUNT-4: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr -> vector<8xf16>
// CHECK: scf.if %{{.*}} -> ({{(f16, ){27}f16}}) {
// CHECK: } else {
// CHECK-COUNT-28: llvm.load %{{.*}} invariant {alignment = 2 : i64} : !llvm.ptr -> f16
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xf16>
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: } else {
// CHECK-COUNT-28: llvm.store %{{.*}} {alignment = 2 : i64} : f16
// CHECK: llvm.func @ragged_unaligned(
func.func private @ragged(%x: memref<5003xf16>, %out: memref<5003xf16>) attributes {mlopt.kernel} {
  %pad = arith.constant 0.0 : f16
  scf.forall (%i) = (0) to (5003) step (4096) {
    %v = vector.transfer_read %x[%i], %pad {in_bounds = [false]} : memref<5003xf16>, vector<4096xf16>
    vector.transfer_write %v, %out[%i] {in_bounds = [false]} : vector<4096xf16>, memref<5003xf16>
  } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 4096>, warps = array<i64: 4>}}
  return
}

// -----

// A thread that makes do with fewer registers than its blocks leave to it is told so: as many blocks as have
// room with these, also of the twin.
// CHECK: llvm.func @lean(
// CHECK-SAME: nvvm.minctasm = 10 : i32
// CHECK: llvm.func @lean_unaligned(
// CHECK-SAME: nvvm.minctasm = 7 : i32
func.func private @lean(%x: memref<64x256xf32>, %out: memref<64x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (64) step (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x256xf32>, vector<4x256xf32>
    %y = arith.addf %v, %v : vector<4x256xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x256xf32>, memref<64x256xf32>
  } {mlopt.schedule = {tile = array<i64: 4, 0>, warps = array<i64: 4>, min_blocks = array<i64: 4>, registers = array<i64: 48, 72>}}
  return
}

// -----

// No more blocks than a multiprocessor has threads for, whatever room their registers leave: 2048.
// CHECK: llvm.func @leaner(
// CHECK-SAME: nvvm.minctasm = 16 : i32
// CHECK: llvm.func @leaner_unaligned(
// CHECK-SAME: nvvm.minctasm = 16 : i32
func.func private @leaner(%x: memref<64x256xf32>, %out: memref<64x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (64) step (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x256xf32>, vector<4x256xf32>
    %y = arith.addf %v, %v : vector<4x256xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x256xf32>, memref<64x256xf32>
  } {mlopt.schedule = {tile = array<i64: 4, 0>, warps = array<i64: 4>, min_blocks = array<i64: 4>, registers = array<i64: 24, 24>}}
  return
}

// -----

// One block of 1024 threads leaves 64 registers to each: a number tells that 48 are enough, also for the twin.
// CHECK: llvm.func @long_row(
// CHECK-SAME: nvvm.maxnreg = 48 : i32, nvvm.maxntid = array<i32: 1024, 1, 1>, nvvm.minctasm = 1 : i32
// CHECK: llvm.func @long_row_unaligned(
// CHECK-SAME: nvvm.maxnreg = 48 : i32
func.func private @long_row(%x: memref<64x4096xf32>, %out: memref<64x4096xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (64) step (1) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x4096xf32>, vector<1x4096xf32>
    %y = arith.addf %v, %v : vector<1x4096xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<1x4096xf32>, memref<64x4096xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 32>, min_blocks = array<i64: 1>, most_registers = array<i64: 48>}}
  return
}

// -----

// What the task has written is read, and written again, by whatever threads: a barrier before either.
// CHECK-LABEL: llvm.func @again(
// CHECK: llvm.store
// CHECK: nvvm.barrier0
// CHECK: llvm.load
// CHECK-NOT: invariant
// CHECK: nvvm.barrier0
// CHECK: llvm.store
// CHECK-LABEL: llvm.func @again_unaligned(
func.func private @again(%x: memref<8x128xf32>, %out: memref<8x128xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) in (8) {
    %t = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : memref<8x128xf32>, vector<128xf32>
    %u = arith.addf %t, %t : vector<128xf32>
    vector.transfer_write %u, %out[%i, %c0] {in_bounds = [true]} : vector<128xf32>, memref<8x128xf32>
    %v = vector.transfer_read %out[%i, %c0], %pad {in_bounds = [true]} : memref<8x128xf32>, vector<128xf32>
    %w = arith.mulf %v, %v : vector<128xf32>
    vector.transfer_write %w, %out[%i, %c0] {in_bounds = [true]} : vector<128xf32>, memref<8x128xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// -----

// Maxima of eight columns of 16 bits: two at once, so that four words cross the lanes; so do those of warps.
// CHECK: llvm.func @columns(
// CHECK-COUNT-8: vector.from_elements %{{.*}} : vector<2xi16>
// CHECK: %[[OWN:.*]] = arith.maxsi %{{.*}} : vector<2xi16>
// CHECK: %[[WORD:.*]] = llvm.bitcast %[[OWN]] : vector<2xi16> to i32
// CHECK: %[[CAME:.*]] = nvvm.shfl.sync  bfly %{{.*}}, %[[WORD]]
// CHECK: %[[OTHER:.*]] = llvm.bitcast %[[CAME]] : i32 to vector<2xi16>
// CHECK: arith.maxsi %[[OWN]], %[[OTHER]] : vector<2xi16>
// CHECK-COUNT-11: nvvm.shfl.sync  bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: nvvm.barrier0
// CHECK-COUNT-12: nvvm.shfl.sync  bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.func @columns_unaligned(
func.func private @columns(%x: memref<256x32xi16>, %out: memref<32xi16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i16
  %least = arith.constant dense<-32768> : vector<32xi16>
  scf.forall (%j) = (0) to (32) step (32) {
    %v = vector.transfer_read %x[%c0, %j], %pad {in_bounds = [true, true]} : memref<256x32xi16>, vector<256x32xi16>
    %m = vector.multi_reduction <maxsi>, %v, %least [0] : vector<256x32xi16> to vector<32xi16>
    vector.transfer_write %m, %out[%j] {in_bounds = [true]} : vector<32xi16>, memref<32xi16>
  } {mlopt.schedule = {tile = array<i64: 32, 256>, warps = array<i64: 16>}}
  return
}
