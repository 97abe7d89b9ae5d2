// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-tma-stores)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-tensor-cores,mlopt-gpu-warpgroup-products,mlopt-gpu-assign-layouts,mlopt-gpu-warpgroup-loads,mlopt-gpu-tma-loads,mlopt-gpu-tma-stores,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=THREAD
#a = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// What warpgroups have of a tile of half floats, 16 bytes of which no thread has, is stored from shared memory.
// CHECK-LABEL: @product
// CHECK: %[[H:[a-z0-9_]+]] = arith.truncf
// CHECK-NEXT: %[[T:[a-z0-9_]+]] = "mlopt.tma_tile"(%[[H]]) {mlopt.layout = "reg
// CHECK-NOT: mlopt.convert_layout
// CHECK: vector.transfer_write %[[T]], %arg2

// Behind the arguments is a map of the result's boxes. A warp puts 16 x 128 into shared memory, four matrices at once;
// rows of 256 bytes are two boxes, one behind the other, for which one thread asks when all have come.
// THREAD-LABEL: llvm.func @product(
// THREAD-SAME: %[[MA:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// THREAD-SAME: %[[MB:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// THREAD-SAME: %[[MC:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant})
// THREAD: wgmma.wait_group.sync.aligned 0
// THREAD: nvvm.barrier0
// THREAD-COUNT-8: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<row>
// THREAD-NOT: nvvm.stmatrix
// THREAD: nvvm.fence.proxy
// THREAD-NEXT: nvvm.barrier0
// THREAD-NOT: llvm.store
// THREAD: scf.if
// THREAD: nvvm.cp.async.bulk.tensor.global.shared.cta %[[MC]], %{{[a-z0-9_]+}}, box[
// THREAD: llvm.getelementptr %{{[a-z0-9_]+}}[8192]
// THREAD: nvvm.cp.async.bulk.tensor.global.shared.cta %[[MC]], %{{[a-z0-9_]+}}, box[
// THREAD-NEXT: nvvm.cp.async.bulk.commit.group
// THREAD-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// The twin's threads change hands, and store.
// THREAD-LABEL: llvm.func @product_unaligned
// THREAD-NOT: stmatrix
// THREAD-NOT: bulk
// THREAD: llvm.store
func.func private @product(%a: memref<64x512xbf16>, %b: memref<128x512xbf16>, %out: memref<64x128xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x128xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x512xbf16>, vector<128x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<128x64xbf16> into vector<64x128xf32>
      scf.yield %r : vector<64x128xf32>
    }
    %h = arith.truncf %d : vector<64x128xf32> to vector<64x128xbf16>
    vector.transfer_write %h, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xbf16>, memref<64x128xbf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// Columns along memory: matrices are turned on the way. What is not read again leaves the cache first.
// CHECK-LABEL: @turned
// CHECK: "mlopt.tma_tile"
// THREAD-LABEL: llvm.func @turned(
// THREAD-COUNT-4: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<col>
// THREAD-NOT: nvvm.stmatrix
// THREAD: createpolicy.fractional.L2::evict_first
// THREAD: nvvm.cp.async.bulk.tensor.global.shared.cta {{.*}} l2_cache_hint
func.func private @turned(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<64x64xbf16> {mlopt.streamed}) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    vector.transfer_write %h, %out[%c0, %c0] {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<64x64xbf16>, memref<64x64xbf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}

// The launch has the map of the result, and asks what its dynamic sizes are.
// THREAD-LABEL: func.func private @dynamic(
// THREAD: box = array<i64: 64, 64>, element_bytes = 2 : i64, sizes = array<i64: -9223372036854775808, 64>, span = 128 : i64
// THREAD: gpu.launch_func @kernels::@dynamic
func.func private @dynamic(%a: memref<64x512xbf16>, %b: memref<64x512xbf16>, %out: memref<?x64xbf16>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %step = arith.constant 64 : index
  %end = arith.constant 512 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%i) in (1) {
    %d = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (vector<64x64xf32>) {
      %x = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %y = vector.transfer_read %b[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x512xbf16>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#a, #u, #c], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %y, %s : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %h = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    vector.transfer_write %h, %out[%i, %c0] {in_bounds = [false, true]} : vector<64x64xbf16>, memref<?x64xbf16>
  } {mlopt.schedule = {stages = array<i64: 2>, warps = array<i64: 4>}}
  return
}
