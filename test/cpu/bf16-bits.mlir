// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-bf16-bits)' | FileCheck %s

// CHECK-LABEL: llvm.func @masked_load
// CHECK-SAME: (%[[POINTER:.*]]: !llvm.ptr, %[[MASK:.*]]: vector<64xi1>, %[[ELSE:.*]]: vector<64xbf16>)
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[ELSE]] : vector<64xbf16> to vector<64xi16>
// CHECK: %[[LOADED:.*]] = llvm.intr.masked.load %[[POINTER]], %[[MASK]], %[[BITS]] {alignment = 2 : i32} : (!llvm.ptr, vector<64xi1>, vector<64xi16>) -> vector<64xi16>
// CHECK: %[[VALUE:.*]] = llvm.bitcast %[[LOADED]] : vector<64xi16> to vector<64xbf16>
// CHECK: llvm.return %[[VALUE]]
llvm.func @masked_load(%p: !llvm.ptr, %mask: vector<64xi1>, %else: vector<64xbf16>) -> vector<64xbf16> {
  %v = llvm.intr.masked.load %p, %mask, %else {alignment = 2 : i32} : (!llvm.ptr, vector<64xi1>, vector<64xbf16>) -> vector<64xbf16>
  llvm.return %v : vector<64xbf16>
}

// CHECK-LABEL: llvm.func @masked_store
// CHECK: %[[BITS:.*]] = llvm.bitcast %{{.*}} : vector<16xbf16> to vector<16xi16>
// CHECK: llvm.intr.masked.store %[[BITS]], %{{.*}}, %{{.*}} {alignment = 2 : i32} : vector<16xi16>, vector<16xi1> into !llvm.ptr
llvm.func @masked_store(%v: vector<16xbf16>, %p: !llvm.ptr, %mask: vector<16xi1>) {
  llvm.intr.masked.store %v, %p, %mask {alignment = 2 : i32} : vector<16xbf16>, vector<16xi1> into !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @gather_and_scatter
// CHECK: llvm.intr.masked.gather {{.*}} -> vector<16xi16>
// CHECK: llvm.intr.masked.scatter {{.*}} : vector<16xi16>, vector<16xi1> into vector<16x!llvm.ptr>
llvm.func @gather_and_scatter(%p: vector<16x!llvm.ptr>, %mask: vector<16xi1>, %else: vector<16xbf16>) {
  %v = llvm.intr.masked.gather %p, %mask, %else {alignment = 2 : i32} : (vector<16x!llvm.ptr>, vector<16xi1>, vector<16xbf16>) -> vector<16xbf16>
  llvm.intr.masked.scatter %v, %p, %mask {alignment = 2 : i32} : vector<16xbf16>, vector<16xi1> into vector<16x!llvm.ptr>
  llvm.return
}

// A copy has no bf16 left: the casts cancel. Streaming and alignment stay; scalars, too.
// CHECK-LABEL: llvm.func @copy
// CHECK: llvm.load %{{.*}} {alignment = 64 : i64} : !llvm.ptr -> vector<32xi16>
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 64 : i64, nontemporal} : vector<32xi16>, !llvm.ptr
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i16
// CHECK: llvm.store %{{.*}}, %{{.*}} : i16, !llvm.ptr
llvm.func @copy(%p: !llvm.ptr, %q: !llvm.ptr) {
  %v = llvm.load %p {alignment = 64 : i64} : !llvm.ptr -> vector<32xbf16>
  llvm.store %v, %q {alignment = 64 : i64, nontemporal} : vector<32xbf16>, !llvm.ptr
  %s = llvm.load %p : !llvm.ptr -> bf16
  llvm.store %s, %q : bf16, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @shuffle
// CHECK-COUNT-2: llvm.bitcast %{{.*}} : vector<4xbf16> to vector<4xi16>
// CHECK: %[[TURNED:.*]] = llvm.shufflevector %{{.*}}, %{{.*}} [0, 4, 1, 5] : vector<4xi16>
// CHECK: %[[VALUE:.*]] = llvm.bitcast %[[TURNED]] : vector<4xi16> to vector<4xbf16>
// CHECK: llvm.return %[[VALUE]]
llvm.func @shuffle(%a: vector<4xbf16>, %b: vector<4xbf16>) -> vector<4xbf16> {
  %v = llvm.shufflevector %a, %b [0, 4, 1, 5] : vector<4xbf16>
  llvm.return %v : vector<4xbf16>
}
