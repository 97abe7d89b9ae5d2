// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-late-stores)' | FileCheck %s

// Stores that go through the caches do not wait.
// CHECK-LABEL: func.func private @cached
// CHECK: vector.reduction
// CHECK-NEXT: scf.for %
func.func private @cached(%x: memref<8x64xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
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
      vector.store %y, %out[%r, %c] : memref<8x64xf32>, vector<16xf32>
    }
  }
  return
}

// The loops go over other strips.
// CHECK-LABEL: func.func private @other_strips
// CHECK: vector.reduction
// CHECK-NEXT: scf.for %
func.func private @other_strips(%x: memref<8x64xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
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
    scf.for %c = %c0 to %c64 step %c32 {
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

// What is read was kept under another number.
// CHECK-LABEL: func.func private @another_strip
// CHECK: vector.reduction
// CHECK-NEXT: scf.for %
func.func private @another_strip(%x: memref<8x64xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
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
      %e = vector.load %row[%c1, %c] : memref<8x64xf32>, vector<16xf32>
      %b = vector.broadcast %n : f32 to vector<16xf32>
      %y = arith.mulf %e, %b : vector<16xf32>
      vector.store %y, %out[%r, %c] {alignment = 64 : i64, nontemporal = true} : memref<8x64xf32>, vector<16xf32>
    }
  }
  return
}

// What is stored is made anew from what is read.
// CHECK-LABEL: func.func private @not_kept
// CHECK: vector.reduction
// CHECK-NEXT: scf.for %
func.func private @not_kept(%x: memref<8x64xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
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
      %e = vector.load %x[%r, %c] : memref<8x64xf32>, vector<16xf32>
      %b = vector.broadcast %n : f32 to vector<16xf32>
      %y = arith.mulf %e, %b : vector<16xf32>
      vector.store %y, %out[%r, %c] {alignment = 64 : i64, nontemporal = true} : memref<8x64xf32>, vector<16xf32>
    }
  }
  return
}

// The row's results are read in the next row.
// CHECK-LABEL: func.func private @read_again
// CHECK: vector.reduction
// CHECK-NEXT: scf.for %
func.func private @read_again(%x: memref<8x64xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
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
    %o = vector.load %out[%c0, %c0] : memref<8x64xf32>, vector<16xf32>
    vector.store %o, %x[%c0, %c0] : memref<8x64xf32>, vector<16xf32>
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

// What the row makes is a vector: carrying it takes a register.
// CHECK-LABEL: func.func private @carried
// CHECK: vector.reduction
// CHECK-NEXT: vector.load
func.func private @carried(%x: memref<8x64xf32>, %out: memref<8x64xf32>) attributes {mlopt.kernel} {
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
    %w = vector.load %x[%r, %c0] : memref<8x64xf32>, vector<16xf32>
    scf.for %c = %c0 to %c64 step %c16 {
      %next = arith.addi %r, %c1 : index
      %last = arith.minsi %next, %c7 : index
      memref.prefetch %x[%last, %c], read, locality<3>, data : memref<8x64xf32>
      %f = arith.addf %w, %w : vector<16xf32>
      %g = vector.load %row[%c0, %c] : memref<8x64xf32>, vector<16xf32>
      %e = arith.addf %f, %g : vector<16xf32>
      %unused = vector.load %row[%c0, %c] : memref<8x64xf32>, vector<16xf32>
      %b = vector.broadcast %n : f32 to vector<16xf32>
      %y = arith.mulf %e, %b : vector<16xf32>
      vector.store %y, %out[%r, %c] {alignment = 64 : i64, nontemporal = true} : memref<8x64xf32>, vector<16xf32>
    }
  }
  return
}
