// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-split-keys)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-split-keys,mlopt-gpu-split-masks)' | FileCheck %s --check-prefix=MASKS

// Nobody knows how many keys there are: three parts all the same, of as many steps of 64 as it takes; the last
// ones may have fewer, or none.
// CHECK-DAG: #[[LENGTH:.*]] = affine_map<(d0) -> ((d0 ceildiv 192) * 64)>
// CHECK-LABEL: @attention
// CHECK-SAME: %[[TOPS:arg4]]: memref<3x8x1x4xf32>, %[[SUMS:arg5]]: memref<3x8x1x4xf32>, %[[ACCS:arg6]]: memref<3x8x1x4x64xf32>)
// CHECK: %[[KEYS:.*]] = memref.dim %arg1, %c1
// CHECK: scf.forall (%[[P:.*]], %[[H:.*]]) in (3, 8) {
// CHECK:   %[[MANY:.*]] = affine.apply #[[LENGTH]](%[[KEYS]])
// CHECK:   %[[FIRST:.*]] = arith.muli %[[P]], %[[MANY]]
// CHECK:   %[[AFTER:.*]] = arith.addi %[[FIRST]], %[[MANY]]
// CHECK:   %[[LEAST:.*]] = arith.minsi %[[AFTER]], %[[KEYS]]
// CHECK:   %[[UNTIL:.*]] = arith.maxsi %[[FIRST]], %[[LEAST]]
// CHECK:   %[[R:.*]]:3 = scf.for %{{.*}} = %[[FIRST]] to %[[UNTIL]] step %c64
// CHECK:   vector.transfer_write %[[R]]#0, %[[TOPS]][%[[P]], %[[H]], %{{.*}}, %{{.*}}]
// CHECK: scf.forall (%[[J:.*]]) in (8) {
// CHECK:   vector.transfer_read %[[TOPS]][%{{.*}}, %[[J]], {{.*}} vector<3x1x4xf32>

// The mask is the last step's alone: a part begins after whole steps.
// MASKS: scf.for %{{.*}} = %[[FIRST:.*]] to %[[WHOLE:.*]] step
// MASKS-NOT: arith.cmpi
// MASKS: scf.for %{{.*}} = %[[WHOLE]] to
// MASKS: arith.cmpi
#q = affine_map<(h, m, n, k) -> (h, m, k)>
#k = affine_map<(h, m, n, k) -> (h, n, k)>
#s = affine_map<(h, m, n, k) -> (h, m, n)>
#w = affine_map<(h, m, d, n) -> (h, m, n)>
#v = affine_map<(h, m, d, n) -> (h, n, d)>
#o = affine_map<(h, m, d, n) -> (h, m, d)>
func.func private @attention(%q: memref<8x4x64xbf16>, %k: memref<8x?x64xbf16>, %v: memref<8x?x64xbf16>, %o: memref<8x4x64xf32>) attributes {mlopt.kernel, mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 3>, stages = array<i64: 2>, tile = array<i64: 1, 0, 64, 64>, warps = array<i64: 2>}} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c1 = arith.constant 1 : index
  %keys = memref.dim %k, %c1 : memref<8x?x64xbf16>
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<1x4xf32>
  %lows = arith.constant dense<0xFF800000> : vector<1x4x64xf32>
  %zero = arith.constant dense<0.0> : vector<1x4xf32>
  %zeros = arith.constant dense<0.0> : vector<1x4x64xf32>
  %two = arith.constant dense<0.2> : vector<1x4xf32>
  %twos = arith.constant dense<0.2> : vector<1x4x64xf32>
  scf.forall (%h) in (8) {
    %x = vector.transfer_read %q[%h, %c0, %c0], %pad {in_bounds = [true, true, true]} : memref<8x4x64xbf16>, vector<1x4x64xbf16>
    %r:3 = scf.for %n = %c0 to %keys step %c64 iter_args(%top = %low, %sum = %zero, %acc = %zeros) -> (vector<1x4xf32>, vector<1x4xf32>, vector<1x4x64xf32>) {
      %y = vector.transfer_read %k[%h, %n, %c0], %pad {in_bounds = [true, false, true]} : memref<8x?x64xbf16>, vector<1x64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %zeros : vector<1x4x64xbf16>, vector<1x64x64xbf16> into vector<1x4x64xf32>
      %number = vector.step : vector<64xindex>
      %first = vector.broadcast %n : index to vector<64xindex>
      %key = arith.addi %number, %first : vector<64xindex>
      %ends = vector.broadcast %keys : index to vector<64xindex>
      %in = arith.cmpi slt, %key, %ends : vector<64xindex>
      %ins = vector.broadcast %in : vector<64xi1> to vector<1x4x64xi1>
      %t = arith.select %ins, %d, %lows : vector<1x4x64xi1>, vector<1x4x64xf32>
      %m = vector.multi_reduction <maximumf>, %t, %top [2] : vector<1x4x64xf32> to vector<1x4xf32>
      %none = arith.cmpf oeq, %m, %low : vector<1x4xf32>
      %less = arith.select %none, %zero, %m : vector<1x4xi1>, vector<1x4xf32>
      %tall = vector.shape_cast %less : vector<1x4xf32> to vector<1x4x1xf32>
      %wide = vector.broadcast %tall : vector<1x4x1xf32> to vector<1x4x64xf32>
      %e = arith.subf %t, %wide : vector<1x4x64xf32>
      %f = arith.mulf %e, %twos : vector<1x4x64xf32>
      %w = math.exp2 %f fastmath<afn> : vector<1x4x64xf32>
      %g = arith.subf %top, %less : vector<1x4xf32>
      %i = arith.mulf %g, %two : vector<1x4xf32>
      %kept = math.exp2 %i fastmath<afn> : vector<1x4xf32>
      %before = arith.mulf %sum, %kept : vector<1x4xf32>
      %total = vector.multi_reduction <add>, %w, %before [2] : vector<1x4x64xf32> to vector<1x4xf32>
      %keptall = vector.shape_cast %kept : vector<1x4xf32> to vector<1x4x1xf32>
      %keptwide = vector.broadcast %keptall : vector<1x4x1xf32> to vector<1x4x64xf32>
      %scaled = arith.mulf %acc, %keptwide : vector<1x4x64xf32>
      %half = arith.truncf %w : vector<1x4x64xf32> to vector<1x4x64xbf16>
      %z = vector.transfer_read %v[%h, %n, %c0], %pad {in_bounds = [true, false, true]} : memref<8x?x64xbf16>, vector<1x64x64xbf16>
      %next = vector.contract {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16", mlopt.rounds = "bf16"}
          %half, %z, %scaled : vector<1x4x64xbf16>, vector<1x64x64xbf16> into vector<1x4x64xf32>
      scf.yield %m, %total, %next : vector<1x4xf32>, vector<1x4xf32>, vector<1x4x64xf32>
    }
    %tall = vector.shape_cast %r#1 : vector<1x4xf32> to vector<1x4x1xf32>
    %wide = vector.broadcast %tall : vector<1x4x1xf32> to vector<1x4x64xf32>
    %y = arith.divf %r#2, %wide : vector<1x4x64xf32>
    vector.transfer_write %y, %o[%h, %c0, %c0] {in_bounds = [true, true, true]} : vector<1x4x64xf32>, memref<8x4x64xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 3>, stages = array<i64: 2>, tile = array<i64: 1, 0, 64, 64>, warps = array<i64: 2>}}
  return
}

func.func @main(%q: memref<8x4x64xbf16>, %k: memref<8x?x64xbf16>, %v: memref<8x?x64xbf16>, %o: memref<8x4x64xf32>) {
  call @attention(%q, %k, %v, %o) : (memref<8x4x64xbf16>, memref<8x?x64xbf16>, memref<8x?x64xbf16>, memref<8x4x64xf32>) -> ()
  return
}
