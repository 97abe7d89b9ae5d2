// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-softmax-sums)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-softmax-sums,mlopt-cpu-strip-mine{vector-bits=512},mlopt-cpu-expand-math{vector-bits=512})' | FileCheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func private @softmax
// CHECK: %[[E:.*]] = math.exp %{{.*}} {mlopt.not_positive}
// CHECK: %[[S:.*]] = vector.multi_reduction <add>, %[[E]]
// CHECK: %[[ONE:.*]] = arith.constant dense<1.0
// CHECK: %[[R:.*]] = arith.divf %[[ONE]], %[[S]] : vector<4xf32>
// CHECK: %[[N:.*]] = arith.negf %[[S]]
// CHECK: %[[REST:.*]] = math.fma %[[N]], %[[R]], %[[ONE]]
// CHECK: %[[D:.*]] = arith.mulf %[[REST]], %[[R]]
// CHECK: %[[DC:.*]] = vector.shape_cast %[[D]]
// CHECK: %[[DB:.*]] = vector.broadcast %[[DC]]
// CHECK: %[[LOW:.*]] = arith.mulf %[[E]], %[[DB]]
// CHECK: %[[RC:.*]] = vector.shape_cast %[[R]]
// CHECK: %[[RB:.*]] = vector.broadcast %[[RC]]
// CHECK: %[[Y:.*]] = math.fma %[[E]], %[[RB]], %[[LOW]] : vector<4x64xf32>
// CHECK-NOT: arith.divf
// CHECK: vector.transfer_write %[[Y]]
// One division a row, of numbers and not of vectors, and no upper bound before the exponential.
// LOOPS-LABEL: func.func private @softmax
// LOOPS: %[[X:.*]] = arith.subf
// LOOPS-NEXT: %[[LEAST:.*]] = arith.constant dense<-1.05
// LOOPS-NEXT: %[[LESS:.*]] = arith.cmpf olt, %[[X]], %[[LEAST]]
// LOOPS-NEXT: %[[B:.*]] = arith.select %[[LESS]], %[[LEAST]], %[[X]]
// LOOPS: math.fma %[[B]]
// LOOPS: arith.divf %{{.*}} : f32
// LOOPS-NOT: arith.divf
// LOOPS: return
func.func private @softmax(%x: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<4xf32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) = (0) to (64) step (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<4x64xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<4x64xf32> to vector<4xf32>
    %n = vector.shape_cast %m : vector<4xf32> to vector<4x1xf32>
    %a = vector.broadcast %n : vector<4x1xf32> to vector<4x64xf32>
    %d = arith.subf %v, %a : vector<4x64xf32>
    %e = math.exp %d : vector<4x64xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<4x64xf32> to vector<4xf32>
    %t = vector.shape_cast %s : vector<4xf32> to vector<4x1xf32>
    %b = vector.broadcast %t : vector<4x1xf32> to vector<4x64xf32>
    %y = arith.divf %e, %b : vector<4x64xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x64xf32>, memref<64x64xf32>
  }
  return
}

// The sum alone, as of cross-entropy, and something else that it divides.
// CHECK-LABEL: func.func private @divides_others
// CHECK: math.exp %{{.*}} {mlopt.not_positive}
// CHECK: %[[S:.*]] = vector.multi_reduction <add>
// CHECK-NEXT: vector.shape_cast %[[S]]
// CHECK: arith.divf %{{.*}} : vector<4x64xf32>
func.func private @divides_others(%x: memref<64x64xf32>, %out: memref<64x64xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %least = arith.constant dense<0xFF800000> : vector<4xf32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) = (0) to (64) step (4) {
    %v = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<4x64xf32>
    %m = vector.multi_reduction <maximumf>, %v, %least [1] : vector<4x64xf32> to vector<4xf32>
    %n = vector.shape_cast %m : vector<4xf32> to vector<4x1xf32>
    %a = vector.broadcast %n : vector<4x1xf32> to vector<4x64xf32>
    %d = arith.subf %v, %a : vector<4x64xf32>
    %e = math.exp %d : vector<4x64xf32>
    %s = vector.multi_reduction <add>, %e, %zero [1] : vector<4x64xf32> to vector<4xf32>
    %t = vector.shape_cast %s : vector<4xf32> to vector<4x1xf32>
    %b = vector.broadcast %t : vector<4x1xf32> to vector<4x64xf32>
    %y = arith.divf %v, %b : vector<4x64xf32>
    vector.transfer_write %y, %out[%i, %c0] {in_bounds = [true, true]} : vector<4x64xf32>, memref<64x64xf32>
  }
  return
}
