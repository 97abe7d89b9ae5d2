// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-late-stores)' | FileCheck %s

// Exponentials that are kept, and divided in a loop of their own.
// CHECK-LABEL: func.func private @rows
// The first row: nothing is stored yet, and the third row is asked for.
// CHECK: scf.for %[[C:.*]] = {{.*}} iter_args
// CHECK: %[[SECOND:.*]] = arith.addi %c0, %c1
// CHECK: %[[THIRD:.*]] = arith.addi %[[SECOND]], %c1
// CHECK: %[[LAST:.*]] = arith.minsi %[[THIRD]], %c7
// CHECK: memref.prefetch %arg0[%[[LAST]], %[[C]]]
// CHECK-NOT: nontemporal
// CHECK: vector.store %{{.*}}, %[[ROW:.*]][%c0, %[[C]]]
// CHECK: %[[N:.*]] = vector.reduction
// Each other row keeps its strip once that of the row before is stored.
// CHECK: %[[E:.*]]:2 = scf.for %[[R:.*]] = %{{.*}} to %c8 step %c1 iter_args({{.*}})
// CHECK: scf.for %[[C:.*]] = {{.*}} iter_args
// CHECK: memref.prefetch
// CHECK: %[[POWER:.*]] = math.exp
// CHECK: %[[OLD:.*]] = vector.load %[[ROW]][%c0, %[[C]]]
// CHECK: arith.mulf %[[OLD]]
// CHECK: vector.store %{{.*}}, %arg1[%{{.*}}, %[[C]]] {alignment = 64 : i64, nontemporal = true}
// CHECK: vector.store %[[POWER]], %[[ROW]][%c0, %[[C]]]
// CHECK: %[[M:.*]] = vector.reduction
// CHECK: scf.yield {{.*}}%[[M]]
// The last row's results ask for nothing.
// CHECK: scf.for %[[C:.*]] = %c0
// CHECK-NOT: memref.prefetch
// CHECK: vector.load %[[ROW]][%c0, %[[C]]]
// CHECK: vector.store %{{.*}}, %arg1[%{{.*}}, %[[C]]]
// CHECK: return
func.func private @rows(%x: memref<8x64xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %row = memref.alloca() : memref<8x64xf32>
  scf.for %r = %c0 to %c8 step %c1 {
    %s = scf.for %c = %c0 to %c64 step %c16 iter_args(%a = %zero) -> (vector<16xf32>) {
      %v = vector.load %x[%r, %c] : memref<8x64xf32>, vector<16xf32>
      %e = math.exp %v : vector<16xf32>
      vector.store %e, %row[%c0, %c] : memref<8x64xf32>, vector<16xf32>
      %t = arith.addf %a, %e : vector<16xf32>
      scf.yield %t : vector<16xf32>
    }
    %n = vector.reduction <add>, %s : vector<16xf32> into f32
    scf.for %c = %c0 to %c64 step %c16 {
      %next = arith.addi %r, %c1 : index
      %last = arith.minsi %next, %c7 : index
      memref.prefetch %x[%last, %c], read, locality<3>, data : memref<8x64xf32>
      %e = vector.load %row[%c0, %c] : memref<8x64xf32>, vector<16xf32>
      %b = vector.broadcast %n : f32 to vector<16xf32>
      %y = arith.mulf %e, %b : vector<16xf32>
      vector.store %y, %out[%r, %c] {alignment = 64 : i64, nontemporal = true} : memref<8x64xf32>, vector<16xf32>
    }
  }
  return
}
