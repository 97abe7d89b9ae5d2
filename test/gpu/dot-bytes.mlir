// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-dot-bytes,canonicalize)' | FileCheck %s

// The second words of two vectors, signed by unsigned, in a tree beside what is no product of bytes.
// CHECK-LABEL: llvm.func @words
// CHECK-SAME: (%[[X:.*]]: vector<8xi8>, %[[Y:.*]]: vector<8xi8>, %[[A:.*]]: i32,
// CHECK-DAG: %[[P:.*]] = vector.bitcast %[[X]] : vector<8xi8> to vector<2xi32>
// CHECK-DAG: %[[Q:.*]] = vector.bitcast %[[Y]] : vector<8xi8> to vector<2xi32>
// CHECK-DAG: %[[L:.*]] = vector.extract %[[P]][1]
// CHECK-DAG: %[[R:.*]] = vector.extract %[[Q]][1]
// CHECK-DAG: %[[F:.*]] = llvm.bitcast %[[L]] : i32 to vector<4xi8>
// CHECK-DAG: %[[G:.*]] = llvm.bitcast %[[R]] : i32 to vector<4xi8>
// CHECK: %[[S:.*]] = nvvm.dot.accumulate.4way %[[F]] <signed>, %[[G]] <unsigned>, %[[A]]
// CHECK-NOT: arith.
// CHECK: llvm.store %[[S]]
llvm.func @words(%x: vector<8xi8>, %y: vector<8xi8>, %a: i32, %out: !llvm.ptr) {
  %x4 = vector.extract %x[4] : i8 from vector<8xi8>
  %x5 = vector.extract %x[5] : i8 from vector<8xi8>
  %x6 = vector.extract %x[6] : i8 from vector<8xi8>
  %x7 = vector.extract %x[7] : i8 from vector<8xi8>
  %y4 = vector.extract %y[4] : i8 from vector<8xi8>
  %y5 = vector.extract %y[5] : i8 from vector<8xi8>
  %y6 = vector.extract %y[6] : i8 from vector<8xi8>
  %y7 = vector.extract %y[7] : i8 from vector<8xi8>
  %f4 = arith.extsi %x4 : i8 to i32
  %f5 = arith.extsi %x5 : i8 to i32
  %f6 = arith.extsi %x6 : i8 to i32
  %f7 = arith.extsi %x7 : i8 to i32
  %g4 = arith.extui %y4 : i8 to i32
  %g5 = arith.extui %y5 : i8 to i32
  %g6 = arith.extui %y6 : i8 to i32
  %g7 = arith.extui %y7 : i8 to i32
  %p4 = arith.muli %f4, %g4 : i32
  %p5 = arith.muli %f5, %g5 : i32
  %p6 = arith.muli %f6, %g6 : i32
  %p7 = arith.muli %f7, %g7 : i32
  %s0 = arith.addi %p4, %p5 : i32
  %s1 = arith.addi %p6, %p7 : i32
  %s2 = arith.addi %s0, %s1 : i32
  %s3 = arith.addi %s2, %a : i32
  llvm.store %s3, %out : i32, !llvm.ptr
  llvm.return
}

// Nothing else is added: from 0 on. Both factors are one vector.
// CHECK-LABEL: llvm.func @squares
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: nvvm.dot.accumulate.4way %{{.*}} <signed>, %{{.*}} <signed>, %[[ZERO]]
llvm.func @squares(%x: vector<4xi8>, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<4xi8>
  %x1 = vector.extract %x[1] : i8 from vector<4xi8>
  %x2 = vector.extract %x[2] : i8 from vector<4xi8>
  %x3 = vector.extract %x[3] : i8 from vector<4xi8>
  %f0 = arith.extsi %x0 : i8 to i32
  %f1 = arith.extsi %x1 : i8 to i32
  %f2 = arith.extsi %x2 : i8 to i32
  %f3 = arith.extsi %x3 : i8 to i32
  %p0 = arith.muli %f0, %f0 : i32
  %p1 = arith.muli %f1, %f1 : i32
  %p2 = arith.muli %f2, %f2 : i32
  %p3 = arith.muli %f3, %f3 : i32
  %s0 = arith.addi %p0, %p1 : i32
  %s1 = arith.addi %s0, %p2 : i32
  %s2 = arith.addi %s1, %p3 : i32
  llvm.store %s2, %out : i32, !llvm.ptr
  llvm.return
}

// Bytes that are only added up are multiplied by one.
// CHECK-LABEL: llvm.func @total
// CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1> : vector<4xi8>
// CHECK: nvvm.dot.accumulate.4way %{{.*}} <unsigned>, %[[ONES]] <signed>, %{{.*}}
// CHECK-NOT: arith.addi
// CHECK: llvm.store
llvm.func @total(%x: vector<4xi8>, %a: i32, %out: !llvm.ptr) {
  %x0 = vector.extract %x[0] : i8 from vector<4xi8>
  %x1 = vector.extract %x[1] : i8 from vector<4xi8>
  %x2 = vector.extract %x[2] : i8 from vector<4xi8>
  %x3 = vector.extract %x[3] : i8 from vector<4xi8>
  %f0 = arith.extui %x0 : i8 to i32
  %f1 = arith.extui %x1 : i8 to i32
  %f2 = arith.extui %x2 : i8 to i32
  %f3 = arith.extui %x3 : i8 to i32
  %s0 = arith.addi %f0, %f1 : i32
  %s1 = arith.addi %f2, %f3 : i32
  %s2 = arith.addi %s0, %s1 : i32
  %s3 = arith.addi %s2, %a : i32
  llvm.store %s3, %out : i32, !llvm.ptr
  llvm.return
}
