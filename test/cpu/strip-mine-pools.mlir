// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=256},canonicalize,cse)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine{vector-bits=512},canonicalize,cse)' | FileCheck %s --check-prefix=WIDE

// Three places of a window at every other one, the first of which may be padding: the turns are written out. Where
// masks are registers as wide as what they mask, each register is loaded by its own.
// CHECK-LABEL: @pool
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: vector.maskedload %{{.*}} : memref<8x32x2xf32>, vector<8xi1>, vector<8xf32>
// CHECK-COUNT-7: vector.load %{{.*}} : memref<8x32x2xf32>, vector<8xf32>
// CHECK: vector.shuffle
// CHECK: vector.shuffle
// CHECK-NEXT: arith.maximumf
// CHECK: vector.shuffle
// CHECK-NEXT: arith.maximumf
// CHECK-NEXT: vector.store
// WIDE-LABEL: @pool
// WIDE: scf.for
// WIDE-NOT: scf.for
// WIDE: vector.maskedload %{{.*}} : memref<8x32x2xf32>, vector<32xi1>, vector<32xf32>
func.func private @pool(%x: memref<8x32x2xf32>, %out: memref<8x32xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %least = arith.constant 0xFF800000 : f32
  %start = arith.constant dense<0xFF800000> : vector<8x32xf32>
  %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%top = %start) -> (vector<8x32xf32>) {
    %column = affine.apply affine_map<(k) -> ((k + 1) floordiv 2 - 1)>(%k)
    %odd = affine.apply affine_map<(k) -> ((k + 1) mod 2)>(%k)
    %v = vector.transfer_read %x[%c0, %column, %odd], %least {in_bounds = [true, false, true]} : memref<8x32x2xf32>, vector<8x32x1xf32>
    %s = vector.shape_cast %v : vector<8x32x1xf32> to vector<8x32xf32>
    %larger = arith.maximumf %top, %s : vector<8x32xf32>
    scf.yield %larger : vector<8x32xf32>
  }
  vector.transfer_write %m, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x32xf32>, memref<8x32xf32>
  return
}

// Five turns stay a loop.
// CHECK-LABEL: @long_window
// CHECK: scf.for %{{.*}} = %c0 to %c5 step %c1 iter_args
func.func private @long_window(%x: memref<8x36x2xf32>, %out: memref<8x32xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %least = arith.constant 0xFF800000 : f32
  %start = arith.constant dense<0xFF800000> : vector<8x32xf32>
  %m = scf.for %k = %c0 to %c5 step %c1 iter_args(%top = %start) -> (vector<8x32xf32>) {
    %v = vector.transfer_read %x[%c0, %k, %c1], %least {in_bounds = [true, true, true]} : memref<8x36x2xf32>, vector<8x32x1xf32>
    %s = vector.shape_cast %v : vector<8x32x1xf32> to vector<8x32xf32>
    %larger = arith.maximumf %top, %s : vector<8x32xf32>
    scf.yield %larger : vector<8x32xf32>
  }
  vector.transfer_write %m, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x32xf32>, memref<8x32xf32>
  return
}

// Lanes side by side: LLVM writes the loop out, and finds constant masks.
// CHECK-LABEL: @side_by_side
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1 iter_args
// CHECK: vector.maskedload %{{.*}} : memref<8x32xf32>, vector<32xi1>, vector<32xf32>
func.func private @side_by_side(%x: memref<8x32xf32>, %out: memref<8x32xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %least = arith.constant 0xFF800000 : f32
  %start = arith.constant dense<0xFF800000> : vector<8x32xf32>
  %m = scf.for %k = %c0 to %c3 step %c1 iter_args(%top = %start) -> (vector<8x32xf32>) {
    %column = affine.apply affine_map<(k) -> (k - 1)>(%k)
    %v = vector.transfer_read %x[%c0, %column], %least {in_bounds = [true, false]} : memref<8x32xf32>, vector<8x32xf32>
    %larger = arith.maximumf %top, %v : vector<8x32xf32>
    scf.yield %larger : vector<8x32xf32>
  }
  vector.transfer_write %m, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x32xf32>, memref<8x32xf32>
  return
}
