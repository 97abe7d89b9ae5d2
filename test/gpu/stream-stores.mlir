// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-stream-stores)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-stream-stores{machine=h100})' | FileCheck %s --check-prefix=H100
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-stream-stores,mlopt-gpu-assign-layouts,mlopt-gpu-distribute)' | FileCheck %s --check-prefix=CODE

// A result of 42 MB: more than an A100's cache, less than an H100's.
// CHECK: func.func private @large(%{{.*}}: memref<10500x1000xf32>, %{{.*}}: memref<10500x1000xf32> {mlopt.streamed})
// H100: func.func private @large(%{{.*}}: memref<10500x1000xf32>, %{{.*}}: memref<10500x1000xf32>) attributes
// CODE-LABEL: llvm.func @large(
// CODE: %[[WORDS:.*]] = vector.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CODE: %[[AT:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr to !llvm.ptr<1>
// CODE: llvm.inline_asm has_side_effects "st.global.cs.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r" %[[AT]],
func.func private @large(%x: memref<10500x1000xf32>, %out: memref<10500x1000xf32>) attributes {mlopt.kernel, mlopt.bytes = 84000000 : i64} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (10500) step (1) {
    %t = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : memref<10500x1000xf32>, vector<1000xf32>
    vector.transfer_write %t, %out[%i, %c0] {in_bounds = [true]} : vector<1000xf32>, memref<10500x1000xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

func.func @main(%x: memref<10500x1000xf32>, %out: memref<10500x1000xf32> {mlopt.result = 0 : i64}) {
  call @large(%x, %out) : (memref<10500x1000xf32>, memref<10500x1000xf32>) -> ()
  return
}

// 8 KB in f64, which is read after a kernel that moves 84 MB: words of 64 bits.
// CHECK: func.func private @early(%{{.*}}: memref<1024xf64>, %{{.*}}: memref<1024xf64> {mlopt.streamed})
// CODE-LABEL: llvm.func @early(
// CODE: llvm.inline_asm has_side_effects "st.global.cs.v2.b64 [$0], {$1, $2};", "l,l,l"
func.func private @early(%x: memref<1024xf64>, %out: memref<1024xf64>) attributes {mlopt.kernel, mlopt.bytes = 16384 : i64} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  scf.forall (%i) = (0) to (1024) step (1024) {
    %t = vector.transfer_read %x[%i], %pad {in_bounds = [true]} : memref<1024xf64>, vector<1024xf64>
    vector.transfer_write %t, %out[%i] {in_bounds = [true]} : vector<1024xf64>, memref<1024xf64>
  } {mlopt.schedule = {tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}

// What is read next stays in the cache, seen through views; the result of the last kernel, too.
// CHECK: func.func private @last(%{{.*}}: memref<1024xf64>, %{{.*}}: memref<1024xf64>)
// CODE-LABEL: llvm.func @last(
// CODE-NOT: st.global
func.func private @last(%x: memref<1024xf64>, %out: memref<1024xf64>) attributes {mlopt.kernel, mlopt.bytes = 16384 : i64} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  scf.forall (%i) = (0) to (1024) step (1024) {
    %t = vector.transfer_read %x[%i], %pad {in_bounds = [true]} : memref<1024xf64>, vector<1024xf64>
    vector.transfer_write %t, %out[%i] {in_bounds = [true]} : vector<1024xf64>, memref<1024xf64>
  } {mlopt.schedule = {tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}

func.func @several(%x: memref<1024xf64>, %y: memref<10500x1000xf32>, %out: memref<1024xf64> {mlopt.result = 0 : i64}, %z: memref<10500x1000xf32> {mlopt.result = 1 : i64}) {
  %a = memref.alloc() : memref<1x1024xf64>
  %b = memref.alloc() : memref<1024xf64>
  %w = memref.collapse_shape %a [[0, 1]] : memref<1x1024xf64> into memref<1024xf64>
  call @early(%x, %w) : (memref<1024xf64>, memref<1024xf64>) -> ()
  call @large(%y, %z) : (memref<10500x1000xf32>, memref<10500x1000xf32>) -> ()
  %v = memref.collapse_shape %a [[0, 1]] : memref<1x1024xf64> into memref<1024xf64>
  call @last(%v, %b) : (memref<1024xf64>, memref<1024xf64>) -> ()
  call @last(%b, %out) : (memref<1024xf64>, memref<1024xf64>) -> ()
  return
}
