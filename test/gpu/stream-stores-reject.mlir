// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-stream-stores)' | FileCheck %s

// What stays in the caches.
// CHECK-NOT: mlopt.streamed

// A kernel that reads what it writes: other threads may find it in the cache.
func.func private @twice(%x: memref<20000x1000xf32>) attributes {mlopt.kernel, mlopt.bytes = 160000000 : i64} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (20000) step (1) {
    %t = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : memref<20000x1000xf32>, vector<1000xf32>
    %s = arith.addf %t, %t : vector<1000xf32>
    vector.transfer_write %s, %x[%i, %c0] {in_bounds = [true]} : vector<1000xf32>, memref<20000x1000xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// Nobody knows how many rows there will be.
func.func private @rows(%x: memref<?x1000xf32>, %out: memref<?x1000xf32>, %n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (%n) step (1) {
    %t = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : memref<?x1000xf32>, vector<1000xf32>
    vector.transfer_write %t, %out[%i, %c0] {in_bounds = [true]} : vector<1000xf32>, memref<?x1000xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// 8 KB, written once before much is moved, and once where the next kernel reads it: it stays for the latter's sake.
func.func private @both(%x: memref<1024xf64>, %out: memref<1024xf64>) attributes {mlopt.kernel, mlopt.bytes = 16384 : i64} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  scf.forall (%i) = (0) to (1024) step (1024) {
    %t = vector.transfer_read %x[%i], %pad {in_bounds = [true]} : memref<1024xf64>, vector<1024xf64>
    vector.transfer_write %t, %out[%i] {in_bounds = [true]} : vector<1024xf64>, memref<1024xf64>
  } {mlopt.schedule = {tile = array<i64: 0>, warps = array<i64: 4>}}
  return
}

// A loop calls it: what one iteration writes the next may read.
func.func private @again(%x: memref<20000x1000xf32>, %out: memref<20000x1000xf32>) attributes {mlopt.kernel, mlopt.bytes = 160000000 : i64} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (20000) step (1) {
    %t = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : memref<20000x1000xf32>, vector<1000xf32>
    vector.transfer_write %t, %out[%i, %c0] {in_bounds = [true]} : vector<1000xf32>, memref<20000x1000xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

// Nobody calls it.
func.func private @alone(%x: memref<20000x1000xf32>, %out: memref<20000x1000xf32>) attributes {mlopt.kernel, mlopt.bytes = 160000000 : i64} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (20000) step (1) {
    %t = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : memref<20000x1000xf32>, vector<1000xf32>
    vector.transfer_write %t, %out[%i, %c0] {in_bounds = [true]} : vector<1000xf32>, memref<20000x1000xf32>
  } {mlopt.schedule = {tile = array<i64: 1, 0>, warps = array<i64: 4>}}
  return
}

func.func @main(%x: memref<20000x1000xf32>, %y: memref<?x1000xf32>, %o: memref<?x1000xf32> {mlopt.result = 0 : i64}, %z: memref<1024xf64>, %p: memref<1024xf64> {mlopt.result = 1 : i64}, %q: memref<20000x1000xf32> {mlopt.result = 2 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, %c0 : memref<?x1000xf32>
  %t = memref.alloc() : memref<1024xf64>
  call @both(%z, %t) : (memref<1024xf64>, memref<1024xf64>) -> ()
  call @twice(%x) : (memref<20000x1000xf32>) -> ()
  call @rows(%y, %o, %n) : (memref<?x1000xf32>, memref<?x1000xf32>, index) -> ()
  scf.for %i = %c0 to %n step %c1 {
    func.call @again(%x, %q) : (memref<20000x1000xf32>, memref<20000x1000xf32>) -> ()
  }
  call @both(%t, %p) : (memref<1024xf64>, memref<1024xf64>) -> ()
  return
}
