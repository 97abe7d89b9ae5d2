// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-hooks)' --split-input-file | FileCheck %s

// CHECK: func.func private @softmax_0(%{{.*}}: memref<4xf32>, %[[H:.*]]: !llvm.ptr {mlopt.hook})
// CHECK-SAME: attributes {mlopt.kernel}
// CHECK-NEXT: %[[NAME:.*]] = llvm.mlir.addressof @softmax_0_name : !llvm.ptr
// CHECK-NEXT: %[[BEGIN:.*]] = arith.constant 1 : i32
// CHECK-NEXT: call @mlopt_hook(%[[H]], %[[NAME]], %[[BEGIN]]) : (!llvm.ptr, !llvm.ptr, i32) -> ()
// CHECK-NEXT: scf.forall
// CHECK: %[[NAME:.*]] = llvm.mlir.addressof @softmax_0_name : !llvm.ptr
// CHECK-NEXT: %[[END:.*]] = arith.constant 0 : i32
// CHECK-NEXT: call @mlopt_hook(%[[H]], %[[NAME]], %[[END]])
// CHECK-NEXT: return
func.func private @softmax_0(%x: memref<4xf32>) attributes {mlopt.kernel} {
  scf.forall (%i) in (4) {
  }
  return
}

// CHECK: func.func private @never_called(%{{.*}}: memref<4xf32>) attributes {mlopt.kernel}
// CHECK-NEXT: return
func.func private @never_called(%x: memref<4xf32>) attributes {mlopt.kernel} {
  return
}

// A function in between passes the hook on, after its own arguments.
// CHECK: func.func private @part(%{{.*}}: memref<4xf32>, %[[H:.*]]: !llvm.ptr {mlopt.hook})
// CHECK: scf.for %
// CHECK-NEXT: call @softmax_0(%{{.*}}, %[[H]])
func.func private @part(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    func.call @softmax_0(%x) : (memref<4xf32>) -> ()
  }
  return
}

// CHECK: func.func @main(%{{.*}}: memref<4xf32>, %[[M:.*]]: !llvm.ptr {mlopt.hook})
// CHECK: call @part(%{{.*}}, %[[M]]) : (memref<4xf32>, !llvm.ptr) -> ()
func.func @main(%x: memref<4xf32>) {
  call @part(%x) : (memref<4xf32>) -> ()
  return
}

// What calls no kernel stays as it is.
// CHECK: func.func @prepare(%{{.*}}: memref<4xf32>) {
// CHECK-NEXT: return
func.func @prepare(%x: memref<4xf32>) {
  return
}

// CHECK: func.func private @mlopt_hook(%[[F:.*]]: !llvm.ptr, %[[K:.*]]: !llvm.ptr, %[[B:.*]]: i32)
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: %[[IS:.*]] = llvm.icmp "ne" %[[F]], %[[NULL]] : !llvm.ptr
// CHECK: scf.if %[[IS]] {
// CHECK-NEXT: llvm.call %[[F]](%[[K]], %[[B]]) : !llvm.ptr, (!llvm.ptr, i32) -> ()
// CHECK: llvm.mlir.global internal constant @softmax_0_name("softmax_0\00")
// CHECK-NOT: @never_called_name

// -----

// Without kernels there is nothing to hook.
// CHECK: module {
// CHECK-NEXT: func.func @main(%{{.*}}: memref<4xf32>) {
// CHECK-NEXT: return
func.func @main(%x: memref<4xf32>) {
  return
}
