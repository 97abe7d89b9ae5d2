// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-arena,canonicalize)' --split-input-file | FileCheck %s

func.func private @k(memref<100xf32>, memref<100xf32>)

// 100 floats take 448 bytes. The third buffer takes the place of the first, which nobody reads any more.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[WS:[a-z0-9]+]]: memref<?xi8> {mlopt.workspace}) attributes {mlopt.workspace = 896 : i64}
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C448:.*]] = arith.constant 448 : index
// CHECK: %[[A:.*]] = memref.view %[[WS]][%[[C0]]][] : memref<?xi8> to memref<100xf32>
// CHECK: %[[B:.*]] = memref.view %[[WS]][%[[C448]]][]
// CHECK: %[[C:.*]] = memref.view %[[WS]][%[[C0]]][]
// CHECK: call @k(%{{.*}}, %[[A]])
// CHECK: call @k(%[[A]], %[[B]])
// CHECK: call @k(%[[B]], %[[C]])
// CHECK-NOT: memref.dealloc
func.func @chain(%x: memref<100xf32>, %out: memref<100xf32>) {
  %a = memref.alloc() : memref<100xf32>
  %b = memref.alloc() : memref<100xf32>
  %c = memref.alloc() : memref<100xf32>
  call @k(%x, %a) : (memref<100xf32>, memref<100xf32>) -> ()
  call @k(%a, %b) : (memref<100xf32>, memref<100xf32>) -> ()
  call @k(%b, %c) : (memref<100xf32>, memref<100xf32>) -> ()
  call @k(%c, %out) : (memref<100xf32>, memref<100xf32>) -> ()
  memref.dealloc %a : memref<100xf32>
  return
}

// -----

func.func private @k(memref<10xf32>, memref<10xf32>)
func.func private @v(memref<2x5xf32>, memref<10xf32>)

// A view keeps its buffer alive.
// CHECK-LABEL: func.func @views
// CHECK-SAME: attributes {mlopt.workspace = 128 : i64}
func.func @views(%x: memref<10xf32>, %out: memref<10xf32>) {
  %a = memref.alloc() : memref<10xf32>
  %b = memref.alloc() : memref<10xf32>
  call @k(%x, %a) : (memref<10xf32>, memref<10xf32>) -> ()
  %v = memref.expand_shape %a [[0, 1]] output_shape [2, 5] : memref<10xf32> into memref<2x5xf32>
  call @k(%x, %b) : (memref<10xf32>, memref<10xf32>) -> ()
  call @v(%v, %out) : (memref<2x5xf32>, memref<10xf32>) -> ()
  call @k(%b, %out) : (memref<10xf32>, memref<10xf32>) -> ()
  return
}

// -----

// Nothing to place: no argument.
// CHECK-LABEL: func.func @empty(%{{.*}}: memref<4xf32>) attributes {mlopt.workspace = 0 : i64}
func.func @empty(%x: memref<4xf32>) {
  return
}

// -----

func.func private @k(memref<?x4xf32>, memref<?x4xf32>)

// Dynamic sizes: the bytes follow from the arguments.
// CHECK-LABEL: func.func private @dynamic_workspace
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x4xf32>, %{{.*}}: memref<?x4xf32>) -> index
// CHECK: %[[D:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[BYTES:.*]] = arith.muli %[[D]], %c16
// CHECK: %[[UNITS:.*]] = arith.ceildivui %[[BYTES]], %c64
// CHECK: arith.muli %[[UNITS]], %c64
// CHECK-LABEL: func.func @dynamic(
// CHECK-NOT: mlopt.workspace =
// CHECK: memref.view %{{.*}}[%c0][%{{.*}}] : memref<?xi8> to memref<?x4xf32>
func.func @dynamic(%x: memref<?x4xf32>, %out: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %d = memref.dim %x, %c0 : memref<?x4xf32>
  %a = memref.alloc(%d) : memref<?x4xf32>
  call @k(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  call @k(%a, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  return
}

// -----

// A function that is called gets its part of the caller's workspace.
// CHECK-LABEL: func.func private @helper
// CHECK-SAME: %{{.*}}: memref<?xi8> {mlopt.workspace})
// CHECK: memref.view
func.func private @helper(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<16xf32>
  %v = memref.load %x[%c0] : memref<4xf32>
  memref.store %v, %a[%c0] : memref<16xf32>
  %w = memref.load %a[%c0] : memref<16xf32>
  memref.store %w, %x[%c0] : memref<4xf32>
  return
}
// CHECK-LABEL: func.func @caller
// CHECK: %[[VIEW:.*]] = memref.view %{{.*}} : memref<?xi8> to memref<64xi8>
// CHECK: %[[PART:.*]] = memref.cast %[[VIEW]]
// CHECK: call @helper(%{{.*}}, %[[PART]])
func.func @caller(%x: memref<4xf32>) {
  call @helper(%x) : (memref<4xf32>) -> ()
  return
}

// -----

// What the next iteration reads is copied to a buffer from outside; both have a place.
// CHECK-LABEL: func.func @carried
// CHECK-SAME: attributes {mlopt.workspace = 128 : i64}
// CHECK: %[[OUTER:.*]] = memref.view %{{.*}}[%c0][]
// CHECK: scf.for {{.*}} iter_args(%[[LAST:.*]] = %arg0)
// CHECK:   %[[NEW:.*]] = memref.view %{{.*}}[%c64][]
// CHECK:   memref.copy %[[LAST]], %[[NEW]]
// CHECK:   memref.copy %[[NEW]], %[[OUTER]]
// CHECK:   scf.yield %[[OUTER]]
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @carried(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%b = %x) -> memref<4xf32> {
    %n = memref.alloc() : memref<4xf32>
    memref.copy %b, %n : memref<4xf32> to memref<4xf32>
    scf.yield %n : memref<4xf32>
  }
  memref.copy %r, %x : memref<4xf32> to memref<4xf32>
  return
}
