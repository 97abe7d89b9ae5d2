// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-scratch)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-scratch{stack=32768})' | FileCheck %s --check-prefix=STACK

// Three buffers, whole cache lines each, one after the other in the thread's memory: 16384 + 64 + 64 bytes.
// CHECK-LABEL: func.func private @kernel
// CHECK-NOT: memref.alloca
// CHECK: %[[ALL:.*]] = arith.constant 16512 : i64
// CHECK: %[[FIRST:.*]] = arith.constant 0 : i64
// CHECK: %[[PANEL:.*]] = func.call @mlopt_scratch(%[[ALL]], %[[FIRST]]) : (i64, i64) -> !llvm.ptr
// CHECK: %[[NUMBER:.*]] = llvm.ptrtoint %[[PANEL]]
// CHECK: %[[GIVEN:.*]] = arith.cmpi ne, %[[NUMBER]]
// CHECK: cf.assert %[[GIVEN]], "MemoryError: no memory for the 16512 bytes of scratch of a thread"
// CHECK: llvm.insertvalue %[[PANEL]]
// CHECK: %[[SECOND:.*]] = arith.constant 16384 : i64
// CHECK: func.call @mlopt_scratch(%{{.*}}, %[[SECOND]])
// CHECK: %[[THIRD:.*]] = arith.constant 16448 : i64
// CHECK: func.call @mlopt_scratch(%{{.*}}, %[[THIRD]])
// CHECK-NOT: cf.assert
// CHECK: vector.store %{{.*}}, %{{.*}} : memref<64x64xf32>, vector<64xf32>
// STACK-LABEL: func.func private @kernel
// STACK-COUNT-3: memref.alloca
// STACK-NOT: mlopt_scratch
func.func private @kernel(%x: memref<64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (8) step (1) {
    %panel = memref.alloca() {alignment = 64 : i64} : memref<64x64xf32>
    %flag = memref.alloca() : memref<3xi8>
    %one = memref.alloca() : memref<f64>
    %v = vector.load %x[%c0] : memref<64xf32>, vector<64xf32>
    vector.store %v, %panel[%i, %c0] : memref<64x64xf32>, vector<64xf32>
    %w = memref.load %one[] : memref<f64>
    %f = memref.load %flag[%c0] : memref<3xi8>
  }
  return
}

// A single task without its scf.forall.
// CHECK-LABEL: func.func private @single
// CHECK: call @mlopt_scratch
// CHECK-NOT: memref.alloca
// STACK-LABEL: func.func private @single
// STACK: memref.alloca
func.func private @single() attributes {mlopt.kernel} {
  %0 = memref.alloca() : memref<8192xf32>
  return
}

// What fits the stack stays there, and so does what no task allocates.
// CHECK-LABEL: func.func private @small
// CHECK: memref.alloca() : memref<4096xf32>
func.func private @small() attributes {mlopt.kernel} {
  scf.forall (%i) = (0) to (8) step (1) {
    %0 = memref.alloca() : memref<4096xf32>
  }
  return
}
// CHECK-LABEL: func.func @host
// CHECK: memref.alloca() : memref<8192xf32>
func.func @host() {
  %0 = memref.alloca() : memref<8192xf32>
  return
}

// The address is nobody else's, and starts on a cache line.
// CHECK: func.func private @mlopt_scratch(i64, i64) -> (!llvm.ptr {llvm.align = 64 : i64})
