// RUN: mlopt-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(mlopt-verify{scratch=128})'
// At the level of loops the tile IR's rules are not asked for, the others are.
// RUN: not mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-verify{scratch=1000000 level=loops})' 2>&1 | FileCheck %s
// RUN: not mlopt-opt %s --split-input-file --pass-pipeline='builtin.module(mlopt-verify{scratch=128 level=loops})' 2>&1 | FileCheck %s --check-prefix=SCRATCH
// RUN: not mlopt-opt %s --pass-pipeline='builtin.module(mlopt-verify{level=tiles})' 2>&1 | FileCheck %s --check-prefix=LEVEL
// CHECK: unknown attribute
// CHECK-NOT: error: 'func.call' is no op of the tile IR
// CHECK-NOT: error: the accumulator
// SCRATCH: the kernel's scratch takes 256 bytes, 128 are allowed
// LEVEL: level is tile or loops, not 'tiles'

// expected-error@below {{unknown attribute 'mlopt.kernle'; did you mean 'mlopt.kernel'?}}
func.func private @misspelt() attributes {mlopt.kernle} { return }

// -----

// expected-error@below {{'mlopt.bytes' must be an integer, not "many"}}
func.func private @wrong_type() attributes {mlopt.bytes = "many"} { return }

// -----

// expected-error@below {{'mlopt.schedule' must be a dictionary of array<i64: …>}}
func.func private @wrong_schedule() attributes {mlopt.schedule = {tile = 3 : i64}} { return }

// -----

// expected-error@below {{'mlopt.schedule' has a negative size}}
func.func private @negative() attributes {mlopt.schedule = {tile = array<i64: -1>}} { return }

// -----

func.func private @wrong_place(%a: i32) -> i32 {
  // expected-error@below {{'mlopt.kernel' belongs on func.func or llvm.func, not on 'arith.addi'}}
  %0 = arith.addi %a, %a {mlopt.kernel} : i32
  return %0 : i32
}

// -----

// expected-error@below {{argument 1 has an unknown attribute 'mlopt.wieght'; did you mean 'mlopt.weight'?}}
func.func private @argument(%a: i32, %b: i32 {mlopt.wieght}) { return }

// -----

// expected-error@+2 {{a kernel must be private}}
// expected-error@+1 {{a kernel must be one scf.forall, this one has 0}}
func.func @public(%a: memref<4xf32>) attributes {mlopt.kernel} {
  %0 = arith.constant 0 : index
  return
}

// -----

// expected-error@below {{a kernel must be one scf.forall, this one has 2}}
func.func private @two(%a: memref<4xf32>) attributes {mlopt.kernel} {
  scf.forall (%i) = (0) to (4) step (1) {}
  // expected-error@below {{must start at 0}}
  scf.forall (%i) = (1) to (4) step (1) {}
  return
}

// -----

func.func private @disagree(%a: memref<4xf32>) attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 4>}} {
  // expected-error@below {{is not its function's}}
  scf.forall (%i) = (0) to (4) step (1) {} {mlopt.schedule = {tile = array<i64: 1>}}
  return
}

// -----

// expected-error@below {{the kernel's scratch takes 256 bytes, 128 are allowed}}
func.func private @memory(%a: memref<4xf32>, %n: index) attributes {mlopt.kernel} {
  // expected-error@+2 {{'memref.alloc' may not stand in a kernel beside its scf.forall}}
  // expected-error@+1 {{a kernel may allocate scratch only, by memref.alloca, not by 'memref.alloc'}}
  %0 = memref.alloc() : memref<4xf32>
  %1 = memref.alloca() : memref<64xf32>
  // expected-error@below {{a kernel's scratch must have a constant size}}
  %2 = memref.alloca(%n) : memref<?xf32>
  scf.forall (%i) = (0) to (4) step (1) {
    // expected-error@+2 {{a kernel may not call functions}}
    // expected-error@+1 {{'func.call' is no op of the tile IR}}
    func.call @other() : () -> ()
  }
  return
}
func.func private @other()

// -----

// A vector takes what all of its lanes take, a power of two, and a number of two parts both of them.
// expected-error@below {{the kernel's scratch takes 281 bytes, 128 are allowed}}
func.func private @vectors(%a: memref<4xf32>) attributes {mlopt.kernel} {
  %0 = memref.alloca() : memref<2xvector<16xf32>>
  %1 = memref.alloca() : memref<4xvector<2x3xf32>>
  %2 = memref.alloca() : memref<1xvector<24xi1>>
  %3 = memref.alloca() : memref<1xcomplex<f64>>
  %4 = memref.alloca() : memref<1xi1>
  %5 = memref.alloca() : memref<1xi24>
  %6 = memref.alloca() : memref<0xf64>
  // expected-error@below {{a kernel's scratch must have a constant size}}
  %7 = memref.alloca() : memref<1xvector<[4]xf32>>
  scf.forall (%i) = (0) to (4) step (1) {}
  return
}

// -----

func.func private @part(%a: memref<8xf32>, %one: f32, %out: memref<8xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (0) to (8) step (4) {
    // expected-error@below {{'memref.subview' is no op of the tile IR}}
    %s = memref.subview %a[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
    // expected-error@+2 {{a tile is read from a whole buffer}}
    // expected-error@+1 {{a kernel may not read what it writes}}
    %v = vector.transfer_read %s[%c0], %zero : memref<4xf32, strided<[1], offset: ?>>, vector<4xf32>
    // expected-error@below {{the padding value of a tile must be a constant}}
    %w = vector.transfer_read %a[%i], %one : memref<8xf32>, vector<4xf32>
    %x = arith.addf %v, %w : vector<4xf32>
    // expected-error@below {{a tile is written into a whole buffer}}
    vector.transfer_write %x, %s[%c0] : vector<4xf32>, memref<4xf32, strided<[1], offset: ?>>
  }
  return
}

// -----

func.func private @mask(%a: memref<8xf32>, %out: memref<8xf32>, %m: vector<4xi1>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (8) step (4) {
    // expected-error@below {{the tile IR has no masks: reads}}
    %v = vector.transfer_read %a[%i], %zero, %m : memref<8xf32>, vector<4xf32>
    // expected-error@below {{the tile IR has no masks: writes}}
    vector.transfer_write %v, %out[%i], %m : vector<4xf32>, memref<8xf32>
  }
  return
}

// -----

func.func private @accumulator(%a: memref<8x16xf32>, %out: memref<8xf32>) attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.forall (%i) = (0) to (8) step (4) {
    scf.for %k = %c0 to %c16 step %c4 {
      %v = vector.transfer_read %a[%i, %k], %zero : memref<8x16xf32>, vector<4x4xf32>
      // expected-error@below {{a kernel may not read what it writes}}
      %acc = vector.transfer_read %out[%i], %zero : memref<8xf32>, vector<4xf32>
      // expected-error@below {{the accumulator goes through memory in each step; carry it as an iter_arg}}
      %s = vector.multi_reduction <add>, %v, %acc [1] : vector<4x4xf32> to vector<4xf32>
      vector.transfer_write %s, %out[%i] : vector<4xf32>, memref<8xf32>
    }
  }
  return
}

// -----

func.func private @in_place(%out: tensor<8xf32>) -> tensor<8xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %r = scf.forall (%i) = (0) to (8) step (4) shared_outs(%o = %out) -> (tensor<8xf32>) {
    // expected-error@below {{a kernel may not read what it writes}}
    %v = vector.transfer_read %out[%i], %zero : tensor<8xf32>, vector<4xf32>
    // expected-error@below {{a kernel may not read what it writes}}
    %s = tensor.extract %o[%c0] : tensor<8xf32>
    %b = vector.broadcast %s : f32 to vector<4xf32>
    %y = arith.addf %v, %b : vector<4xf32>
    %w = vector.transfer_write %y, %o[%i] : vector<4xf32>, tensor<8xf32>
    scf.forall.in_parallel { tensor.parallel_insert_slice %w into %o[0] [8] [1] : tensor<8xf32> into tensor<8xf32> }
  }
  return %r : tensor<8xf32>
}

// -----

func.func private @carried(%a: tensor<8xf32>, %out: tensor<8xf32>) -> tensor<8xf32> attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.forall (%i) = (0) to (8) step (4) shared_outs(%o = %out) -> (tensor<8xf32>) {
    // expected-error@below {{a loop in a kernel may carry vectors, scalars and what it writes, not tensor<8xf32>}}
    %t = scf.for %k = %c0 to %c4 step %c1 iter_args(%x = %a) -> (tensor<8xf32>) {
      scf.yield %x : tensor<8xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[0] [8] [1] : tensor<8xf32> into tensor<8xf32>
    }
  }
  return %r : tensor<8xf32>
}

// -----

// Loops beside the scf.forall are work that no task does.
func.func private @beside(%a: memref<64xf32>) attributes {mlopt.kernel} {
  // expected-error@below {{'affine.for' may not stand in a kernel beside its scf.forall}}
  affine.for %i = 0 to 64 {}
  // expected-error@below {{'memref.alloca_scope' may not stand in a kernel beside its scf.forall}}
  memref.alloca_scope {}
  scf.forall (%i) = (0) to (64) step (16) {}
  return
}

// -----

// Each turn of a loop takes its scratch anew; gaps and alignment are memory, too.
// expected-error@below {{the kernel's scratch takes 320 bytes, 128 are allowed}}
func.func private @scratch(%n: index) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) = (0) to (64) step (16) {
    scf.for %j = %c0 to %n step %c1 {
      // expected-error@below {{a kernel's scratch stands outside of loops}}
      %0 = memref.alloca() : memref<8xf32>
    }
    // expected-error@below {{a kernel's scratch lies in rows without gaps}}
    %1 = memref.alloca() : memref<8xf32, strided<[1000000]>>
    %2 = memref.alloca() {alignment = 256 : i64} : memref<8xf32>
  }
  return
}

// -----

memref.global "private" @shared : memref<1000xf32> = uninitialized
memref.global "private" constant @known : memref<2xf32> = dense<[1.0, 2.0]>
func.func private @tensors(%big: tensor<1000xf32>) attributes {mlopt.kernel} {
  // expected-error@below {{a kernel computes vectors and scalars: a tensor would be a buffer of its own}}
  %0 = arith.addf %big, %big : tensor<1000xf32>
  // expected-error@below {{a kernel may read constants: another global is shared by all of its tasks}}
  %1 = memref.get_global @shared : memref<1000xf32>
  %2 = memref.get_global @known : memref<2xf32>
  scf.forall (%i) = (0) to (64) step (16) {
    // expected-error@below {{a kernel computes vectors and scalars}}
    %3 = math.exp %big : tensor<1000xf32>
  }
  return
}

// -----

llvm.func @malloc(i64) -> !llvm.ptr
module @inner {
  // expected-error@below {{a kernel must be one scf.forall, this one has 0}}
  func.func private @k() attributes {mlopt.kernel} {
    %c4 = arith.constant 4 : index
    return
  }
}
func.func private @outer() attributes {mlopt.kernel} {
  %n = arith.constant 4 : i64
  scf.forall (%i) = (0) to (64) step (16) {
    // expected-error@+2 {{a kernel may not call functions}}
    // expected-error@+1 {{'llvm.call' is no op of the tile IR}}
    %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
  }
  return
}
