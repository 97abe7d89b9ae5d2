// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-last-blocks,mlopt-gpu-distribute)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-assign-layouts,mlopt-gpu-last-blocks,mlopt-gpu-distribute,mlopt-gpu-entry)' | FileCheck %s --check-prefix=ENTRY

// One thread counts, between fences for the device, and tells the others. What blocks read of each other is not
// said to be nobody else's, nor constant; what only one of them writes is.
// CHECK-LABEL: llvm.func @whole(
// CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[P:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr {llvm.noalias}, %[[COUNTERS:.*]]: !llvm.ptr {mlopt.counters})
// CHECK-SAME: mlopt.counted = 24 : i64
// CHECK: llvm.getelementptr %[[P]]
// CHECK: llvm.store {{.*}} vector<4xf32>
// CHECK: %[[COUNTER:.*]] = llvm.getelementptr %[[COUNTERS]][%{{.*}}] : {{.*}}, i32
// CHECK: nvvm.barrier0
// CHECK: scf.if
// CHECK-NEXT: llvm.fence syncscope("device") acq_rel
// CHECK-NEXT: %[[BEFORE:.*]] = llvm.atomicrmw uinc_wrap %[[COUNTER]], %[[MOST:.*]] syncscope("device") monotonic
// CHECK-NEXT: llvm.fence syncscope("device") acq_rel
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %[[BEFORE]], %[[MOST]]
// CHECK: llvm.store
// CHECK: nvvm.barrier0
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> i32
// CHECK: scf.if
// CHECK: scf.for %
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>

// The address of counters comes with each call, behind the stream.
// ENTRY-LABEL: func.func private @whole(
// ENTRY-SAME: %[[STREAM:[a-z0-9]+]]: !llvm.ptr {mlopt.stream}, %[[COUNTERS:[a-z0-9]+]]: !llvm.ptr {mlopt.counters})
// ENTRY: gpu.launch_func <%[[STREAM]] : !llvm.ptr> @kernels::@whole {{.*}} %[[COUNTERS]] : !llvm.ptr)
// ENTRY: func.func @mlopt_main(%[[ARGS:.*]]: !llvm.ptr) -> i32
// ENTRY: %[[AT:.*]] = llvm.getelementptr %[[ARGS]][6]
// ENTRY: llvm.load %[[AT]] : !llvm.ptr -> !llvm.ptr
func.func private @whole(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 1, 64, 64, 64>, warps = array<i64: 4>}, mlopt.sums = {tile = array<i64: 16, 64, 0>, warps = array<i64: 4>}} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sums = arith.constant dense<0.0> : vector<16x64xf32>
  %t = arith.constant dense<1.0> : vector<1x64x64xf32>
  scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
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

func.func @main(%a: memref<128x4x768xbf16>, %bias: memref<768xf32>, %p: memref<4x128x768xf32>, %out: memref<128x768xf32>) {
  call @whole(%a, %bias, %p, %out) : (memref<128x4x768xbf16>, memref<768xf32>, memref<4x128x768xf32>, memref<128x768xf32>) -> ()
  return
}
