// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-launch)' | FileCheck %s

// A kernel that takes a tensor map by value is launched with its address in the place of a cell's.
module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @first(%x: !llvm.ptr, %map: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr, %[[ROWS:.*]]: i64, %[[STREAM:.*]]: !llvm.ptr
// CHECK-DAG: %[[ROOM:.*]] = llvm.alloca %{{.*}} x !llvm.array<16 x i64> {alignment = 64 : i64}
// CHECK-DAG: %[[PARAMS:.*]] = llvm.alloca %{{.*}} x !llvm.array<2 x ptr>
// CHECK: %[[MADE:.*]] = llvm.call @mlopt_map_0(%[[ROOM]], %[[X]], %[[ROWS]]) : (!llvm.ptr, !llvm.ptr, i64) -> i1
// CHECK-NEXT: cf.assert %[[MADE]]
// CHECK: %[[P1:.*]] = llvm.getelementptr %[[PARAMS]][1]
// CHECK-NEXT: llvm.store %[[ROOM]], %[[P1]]
func.func @main(%x: !llvm.ptr, %rows: i64, %stream: !llvm.ptr {mlopt.stream}) {
  %one = arith.constant 1 : index
  %map, %made = "mlopt.tensor_map"(%x, %rows) {sizes = array<i64: 3, -9223372036854775808, 96>, box = array<i64: 1, 128, 32>, element_bytes = 1 : i64, span = 32 : i64} : (!llvm.ptr, i64) -> (!llvm.ptr, i1)
  cf.assert %made, "none"
  gpu.launch_func <%stream : !llvm.ptr> @kernels::@first blocks in (%one, %one, %one) threads in (%one, %one, %one) args(%x : !llvm.ptr, %map : !llvm.ptr)
  return
}

func.func @rounded(%x: !llvm.ptr, %stream: !llvm.ptr {mlopt.stream}) {
  %map, %made = "mlopt.tensor_map"(%x) {sizes = array<i64: 64, 96>, box = array<i64: 64, 32>, element_bytes = 4 : i64, rounds, span = 128 : i64} : (!llvm.ptr) -> (!llvm.ptr, i1)
  cf.assert %made, "none"
  return
}
}

// 64 places: the map, its key, whether a thread is at it.
// CHECK: llvm.mlir.global internal @mlopt_map_0_kept() {{.*}} : !llvm.array<64 x struct<(array<16 x i64>, array<2 x i64>, i64)>>
// CHECK: llvm.func internal @mlopt_map_0(%[[TO:.*]]: !llvm.ptr, %[[ADDRESS:.*]]: !llvm.ptr, %[[SIZE:.*]]: i64) -> i1
// CHECK: %[[KEPT:.*]] = llvm.getelementptr %{{.*}}[0, %{{.*}}]
// CHECK: %[[CLAIM:.*]] = llvm.cmpxchg %[[BUSY:.*]], %{{.*}}, %{{.*}} acquire monotonic
// CHECK: %[[MINE:.*]] = llvm.extractvalue %[[CLAIM]][1]
// CHECK: llvm.cond_br %[[MINE]], ^[[LOOK:.*]], ^[[MAKE:.*]]
// CHECK: ^[[LOOK]]:
// CHECK: llvm.icmp "eq" %{{.*}}, %[[SIZE]]
// CHECK: llvm.cond_br %{{.*}}, ^[[TAKE:.*]], ^[[MAKE]]
// CHECK: ^[[TAKE]]:
// CHECK: "llvm.intr.memcpy"(%[[TO]], %[[KEPT]],
// CHECK-NEXT: llvm.store %{{.*}}, %[[BUSY]] atomic release
// CHECK: ^[[MAKE]]:
// CHECK: "llvm.intr.memset"(%[[TO]],
// Sizes and the box from the innermost on; strides in bytes of all but that: 96, and 96 times the rows.
// CHECK: %[[DIM0:.*]] = llvm.mlir.constant(96 : i64)
// CHECK: llvm.store %[[DIM0]],
// CHECK: %[[APART1:.*]] = llvm.mul %{{.*}}, %[[DIM0]]
// CHECK: llvm.store %[[APART1]],
// CHECK: llvm.store %[[SIZE]],
// CHECK: %[[APART2:.*]] = llvm.mul %[[APART1]], %[[SIZE]]
// CHECK: llvm.store %[[APART2]],
// CHECK: llvm.mlir.constant(3 : i64)
// CHECK: llvm.mlir.constant(32 : i32)
// CHECK: llvm.mlir.constant(128 : i32)
// CHECK: llvm.mlir.constant(1 : i32)
// The type of single bytes, three dims; no interleaving, a swizzle of 32 bytes, 128 of the L2 cache, zeros beyond.
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[RANK:.*]] = llvm.mlir.constant(3 : i32)
// CHECK: %[[PLAIN:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[SWIZZLE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: %[[PROMOTION:.*]] = llvm.mlir.constant(2 : i32)
// CHECK: llvm.getelementptr %{{.*}}[4]
// CHECK: llvm.call %{{.*}}(%[[TO]], %[[BYTES]], %[[RANK]], %[[ADDRESS]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[PLAIN]], %[[SWIZZLE]], %[[PROMOTION]], %[[PLAIN]])
// CHECK: %[[THERE:.*]] = llvm.icmp "ne"
// CHECK: llvm.cond_br %[[MINE]], ^[[KEEP:.*]], ^[[END:.*]]
// CHECK: ^[[KEEP]]:
// CHECK: "llvm.intr.memcpy"(%[[KEPT]], %[[TO]],
// CHECK: llvm.select %[[THERE]],
// CHECK: llvm.store %{{.*}}, %[[BUSY]] atomic release
// CHECK: llvm.return %[[THERE]]

// Of f32 that is to be rounded the type is TF32.
// CHECK: llvm.func internal @mlopt_map_1(
// CHECK: %[[TF32:.*]] = llvm.mlir.constant(11 : i32)
// CHECK: llvm.call %{{.*}}(%{{.*}}, %[[TF32]],
