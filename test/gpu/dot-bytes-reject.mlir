// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-dot-bytes)' | FileCheck %s

// Three of a word.
// CHECK-LABEL: llvm.func @three
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @three(%x: vector<8xi8>, %y: vector<8xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<8xi8>
  %y0 = vector.extract %y[0] : i8 from vector<8xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1] : i8 from vector<8xi8>
  %y1 = vector.extract %y[1] : i8 from vector<8xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2] : i8 from vector<8xi8>
  %y2 = vector.extract %y[2] : i8 from vector<8xi8>
  %f2 = arith.extsi %x2 : i8 to i32
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  llvm.store %s1, %out : i32, !llvm.ptr
  llvm.return
}

// Neighbours of two words.
// CHECK-LABEL: llvm.func @across
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @across(%x: vector<8xi8>, %y: vector<8xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[2] : i8 from vector<8xi8>
  %y0 = vector.extract %y[2] : i8 from vector<8xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[3] : i8 from vector<8xi8>
  %y1 = vector.extract %y[3] : i8 from vector<8xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[4] : i8 from vector<8xi8>
  %y2 = vector.extract %y[4] : i8 from vector<8xi8>
  %f2 = arith.extsi %x2 : i8 to i32
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[5] : i8 from vector<8xi8>
  %y3 = vector.extract %y[5] : i8 from vector<8xi8>
  %f3 = arith.extsi %x3 : i8 to i32
  %g3 = arith.extsi %y3 : i8 to i32
  %p3 = arith.muli %f3, %g3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  llvm.return
}

// A product of bytes that are not at the same place of their words.
// CHECK-LABEL: llvm.func @turned
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @turned(%x: vector<8xi8>, %y: vector<8xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<8xi8>
  %y0 = vector.extract %y[1] : i8 from vector<8xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1] : i8 from vector<8xi8>
  %y1 = vector.extract %y[2] : i8 from vector<8xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2] : i8 from vector<8xi8>
  %y2 = vector.extract %y[3] : i8 from vector<8xi8>
  %f2 = arith.extsi %x2 : i8 to i32
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[3] : i8 from vector<8xi8>
  %y3 = vector.extract %y[0] : i8 from vector<8xi8>
  %f3 = arith.extsi %x3 : i8 to i32
  %g3 = arith.extsi %y3 : i8 to i32
  %p3 = arith.muli %f3, %g3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  llvm.return
}

// dp4a would wrap at 32 bits.
// CHECK-LABEL: llvm.func @wide
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @wide(%x: vector<8xi8>, %y: vector<8xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<8xi8>
  %y0 = vector.extract %y[0] : i8 from vector<8xi8>
  %f0 = arith.extsi %x0 : i8 to i64
  %g0 = arith.extsi %y0 : i8 to i64
  %p0 = arith.muli %f0, %g0 : i64
  %x1 = vector.extract %x[1] : i8 from vector<8xi8>
  %y1 = vector.extract %y[1] : i8 from vector<8xi8>
  %f1 = arith.extsi %x1 : i8 to i64
  %g1 = arith.extsi %y1 : i8 to i64
  %p1 = arith.muli %f1, %g1 : i64
  %x2 = vector.extract %x[2] : i8 from vector<8xi8>
  %y2 = vector.extract %y[2] : i8 from vector<8xi8>
  %f2 = arith.extsi %x2 : i8 to i64
  %g2 = arith.extsi %y2 : i8 to i64
  %p2 = arith.muli %f2, %g2 : i64
  %x3 = vector.extract %x[3] : i8 from vector<8xi8>
  %y3 = vector.extract %y[3] : i8 from vector<8xi8>
  %f3 = arith.extsi %x3 : i8 to i64
  %g3 = arith.extsi %y3 : i8 to i64
  %p3 = arith.muli %f3, %g3 : i64
  %s0 = arith.addi %p0, %p1 : i64
  %s1 = arith.addi %s0, %p2 : i64
  %s2 = arith.addi %s1, %p3 : i64
  llvm.store %s2, %out : i64, !llvm.ptr
  llvm.return
}

// A product that something else reads, too.
// CHECK-LABEL: llvm.func @seen
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @seen(%x: vector<8xi8>, %y: vector<8xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<8xi8>
  %y0 = vector.extract %y[0] : i8 from vector<8xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1] : i8 from vector<8xi8>
  %y1 = vector.extract %y[1] : i8 from vector<8xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2] : i8 from vector<8xi8>
  %y2 = vector.extract %y[2] : i8 from vector<8xi8>
  %f2 = arith.extsi %x2 : i8 to i32
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[3] : i8 from vector<8xi8>
  %y3 = vector.extract %y[3] : i8 from vector<8xi8>
  %f3 = arith.extsi %x3 : i8 to i32
  %g3 = arith.extsi %y3 : i8 to i32
  %p3 = arith.muli %f3, %g3 : i32
  llvm.store %p3, %out : i32, !llvm.ptr
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  llvm.return
}

// Words have two halves.
// CHECK-LABEL: llvm.func @halves
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @halves(%x: vector<8xi16>, %y: vector<8xi16>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i16 from vector<8xi16>
  %f0 = arith.extsi %x0 : i16 to i32
  %y0 = vector.extract %y[0] : i16 from vector<8xi16>
  %g0 = arith.extsi %y0 : i16 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1] : i16 from vector<8xi16>
  %f1 = arith.extsi %x1 : i16 to i32
  %y1 = vector.extract %y[1] : i16 from vector<8xi16>
  %g1 = arith.extsi %y1 : i16 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2] : i16 from vector<8xi16>
  %f2 = arith.extsi %x2 : i16 to i32
  %y2 = vector.extract %y[2] : i16 from vector<8xi16>
  %g2 = arith.extsi %y2 : i16 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[3] : i16 from vector<8xi16>
  %f3 = arith.extsi %x3 : i16 to i32
  %y3 = vector.extract %y[3] : i16 from vector<8xi16>
  %g3 = arith.extsi %y3 : i16 to i32
  %p3 = arith.muli %f3, %g3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  llvm.return
}

// A column: its bytes are not neighbours.
// CHECK-LABEL: llvm.func @column
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @column(%xs: vector<8xi8>, %ys: vector<8xi8>, %out: !llvm.ptr) {
  %x = vector.shape_cast %xs : vector<8xi8> to vector<4x2xi8>
  %y = vector.shape_cast %ys : vector<8xi8> to vector<4x2xi8>
  %x0 = vector.extract %x[0, 0] : i8 from vector<4x2xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %y0 = vector.extract %y[0, 0] : i8 from vector<4x2xi8>
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1, 0] : i8 from vector<4x2xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %y1 = vector.extract %y[1, 0] : i8 from vector<4x2xi8>
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2, 0] : i8 from vector<4x2xi8>
  %f2 = arith.extsi %x2 : i8 to i32
  %y2 = vector.extract %y[2, 0] : i8 from vector<4x2xi8>
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[3, 0] : i8 from vector<4x2xi8>
  %f3 = arith.extsi %x3 : i8 to i32
  %y3 = vector.extract %y[3, 0] : i8 from vector<4x2xi8>
  %g3 = arith.extsi %y3 : i8 to i32
  %p3 = arith.muli %f3, %g3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  llvm.return
}

// No whole words.
// CHECK-LABEL: llvm.func @ragged
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @ragged(%x: vector<6xi8>, %y: vector<6xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<6xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %y0 = vector.extract %y[0] : i8 from vector<6xi8>
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1] : i8 from vector<6xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %y1 = vector.extract %y[1] : i8 from vector<6xi8>
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2] : i8 from vector<6xi8>
  %f2 = arith.extsi %x2 : i8 to i32
  %y2 = vector.extract %y[2] : i8 from vector<6xi8>
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[3] : i8 from vector<6xi8>
  %f3 = arith.extsi %x3 : i8 to i32
  %y3 = vector.extract %y[3] : i8 from vector<6xi8>
  %g3 = arith.extsi %y3 : i8 to i32
  %p3 = arith.muli %f3, %g3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  llvm.return
}

// A word whose bytes are not all signed.
// CHECK-LABEL: llvm.func @signs
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @signs(%x: vector<8xi8>, %y: vector<8xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<8xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %y0 = vector.extract %y[0] : i8 from vector<8xi8>
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1] : i8 from vector<8xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %y1 = vector.extract %y[1] : i8 from vector<8xi8>
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2] : i8 from vector<8xi8>
  %f2 = arith.extui %x2 : i8 to i32
  %y2 = vector.extract %y[2] : i8 from vector<8xi8>
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[3] : i8 from vector<8xi8>
  %f3 = arith.extsi %x3 : i8 to i32
  %y3 = vector.extract %y[3] : i8 from vector<8xi8>
  %g3 = arith.extsi %y3 : i8 to i32
  %p3 = arith.muli %f3, %g3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  llvm.return
}

// Two of the four are added up for somebody else, too.
// CHECK-LABEL: llvm.func @shared
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @shared(%x: vector<8xi8>, %y: vector<8xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<8xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %y0 = vector.extract %y[0] : i8 from vector<8xi8>
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1] : i8 from vector<8xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %y1 = vector.extract %y[1] : i8 from vector<8xi8>
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2] : i8 from vector<8xi8>
  %f2 = arith.extsi %x2 : i8 to i32
  %y2 = vector.extract %y[2] : i8 from vector<8xi8>
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[3] : i8 from vector<8xi8>
  %f3 = arith.extsi %x3 : i8 to i32
  %y3 = vector.extract %y[3] : i8 from vector<8xi8>
  %g3 = arith.extsi %y3 : i8 to i32
  %p3 = arith.muli %f3, %g3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  llvm.store %s0, %out : i32, !llvm.ptr
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  llvm.return
}

// A sum that is read twice is one of its own, once.
// CHECK-LABEL: llvm.func @twice
// CHECK: %[[SUM:.*]] = nvvm.dot
// CHECK: llvm.store %[[SUM]]
// CHECK: arith.addi %[[SUM]], %
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @twice(%x: vector<8xi8>, %y: vector<8xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<8xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %y0 = vector.extract %y[0] : i8 from vector<8xi8>
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1] : i8 from vector<8xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %y1 = vector.extract %y[1] : i8 from vector<8xi8>
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2] : i8 from vector<8xi8>
  %f2 = arith.extsi %x2 : i8 to i32
  %y2 = vector.extract %y[2] : i8 from vector<8xi8>
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[3] : i8 from vector<8xi8>
  %f3 = arith.extsi %x3 : i8 to i32
  %y3 = vector.extract %y[3] : i8 from vector<8xi8>
  %g3 = arith.extsi %y3 : i8 to i32
  %p3 = arith.muli %f3, %g3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  %t = arith.addi %s2, %f0 : i32
  llvm.store %t, %out : i32, !llvm.ptr
  llvm.return
}

// What a loop adds to is no part of the sums in there: it is made once, before.
// CHECK-LABEL: llvm.func @before
// CHECK: nvvm.dot
// CHECK: scf.for
// CHECK-NOT: nvvm.dot
// CHECK: llvm.return
llvm.func @before(%x: vector<8xi8>, %y: vector<8xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<8xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %y0 = vector.extract %y[0] : i8 from vector<8xi8>
  %g0 = arith.extsi %y0 : i8 to i32
  %p0 = arith.muli %f0, %g0 : i32
  %x1 = vector.extract %x[1] : i8 from vector<8xi8>
  %f1 = arith.extsi %x1 : i8 to i32
  %y1 = vector.extract %y[1] : i8 from vector<8xi8>
  %g1 = arith.extsi %y1 : i8 to i32
  %p1 = arith.muli %f1, %g1 : i32
  %x2 = vector.extract %x[2] : i8 from vector<8xi8>
  %f2 = arith.extsi %x2 : i8 to i32
  %y2 = vector.extract %y[2] : i8 from vector<8xi8>
  %g2 = arith.extsi %y2 : i8 to i32
  %p2 = arith.muli %f2, %g2 : i32
  %x3 = vector.extract %x[3] : i8 from vector<8xi8>
  %f3 = arith.extsi %x3 : i8 to i32
  %y3 = vector.extract %y[3] : i8 from vector<8xi8>
  %g3 = arith.extsi %y3 : i8 to i32
  %p3 = arith.muli %f3, %g3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %none = arith.constant 0 : i32
  %all = scf.for %i = %c0 to %c9 step %c1 iter_args(%so_far = %none) -> i32 {
    %more = arith.addi %so_far, %s2 : i32
    scf.yield %more : i32
  }
  llvm.store %all, %out : i32, !llvm.ptr
  llvm.return
}
