// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-split-keys)' | FileCheck %s
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-split-keys,mlopt-gpu-split-masks,mlopt-gpu-assign-layouts,mlopt-gpu-pipeline-loads,mlopt-gpu-last-blocks)' | FileCheck %s --check-prefix=LAST

// Of 8 steps of 64 keys a part has 3, the last one 2, of which one is ragged. Each writes what its loop carries
// to new arguments of the kernel; other tasks join the parts with the loop's own exponential, and divide.
// CHECK-DAG: #[[END:.*]] = affine_map<(d0) -> (d0 + 192, 500)>
// CHECK-DAG: #[[PART:.*]] = affine_map<(d0) -> (d0 floordiv 192)>
// CHECK-LABEL: @attention
// CHECK-SAME: %[[TOPS:arg4]]: memref<3x8x1x4xf32>, %[[SUMS:arg5]]: memref<3x8x1x4xf32>, %[[ACCS:arg6]]: memref<3x8x1x4x64xf32>)
// CHECK-SAME: mlopt.sums = {tile = array<i64: 1>, warps = array<i64: 2>}
// CHECK: scf.forall (%[[N:.*]], %[[H:.*]]) = (0, 0) to (500, 8) step (192, 1) {
// CHECK:   %[[UNTIL:.*]] = affine.min #[[END]](%[[N]])
// CHECK:   %[[R:.*]]:3 = scf.for %{{.*}} = %[[N]] to %[[UNTIL]] step %c64
// CHECK-NOT: arith.divf
// CHECK:   %[[P:.*]] = affine.apply #[[PART]](%[[N]])
// CHECK:   vector.transfer_write %[[R]]#0, %[[TOPS]][%[[P]], %[[H]], %{{.*}}, %{{.*}}]
// CHECK:   vector.transfer_write %[[R]]#1, %[[SUMS]][%[[P]], %[[H]], %{{.*}}, %{{.*}}]
// CHECK:   vector.transfer_write %[[R]]#2, %[[ACCS]][%[[P]], %[[H]], %{{.*}}, %{{.*}}, %{{.*}}]
// CHECK: scf.forall (%[[J:.*]]) in (8) {
// CHECK:   %[[T:.*]] = vector.transfer_read %[[TOPS]][%{{.*}}, %[[J]], {{.*}} vector<3x1x4xf32>
// CHECK:   %[[S:.*]] = vector.transfer_read %[[SUMS]][%{{.*}}, %[[J]], {{.*}} vector<3x1x4xf32>
// CHECK:   %[[A:.*]] = vector.transfer_read %[[ACCS]][%{{.*}}, %[[J]], {{.*}} vector<3x1x4x64xf32>
// CHECK:   %[[TOP:.*]] = vector.multi_reduction <maximumf>, %[[T]], %{{.*}} [0]
// CHECK:   arith.cmpf oeq, %[[TOP]]
// CHECK:   %[[W:.*]] = math.exp2 %{{.*}} fastmath<afn> : vector<3x1x4xf32>
// CHECK:   %[[WEIGHTED:.*]] = arith.mulf %[[S]], %[[W]]
// CHECK:   %[[SUM:.*]] = vector.multi_reduction <add>, %[[WEIGHTED]], %{{.*}} [0]
// CHECK:   %[[ACC:.*]] = vector.multi_reduction <add>, %{{.*}}, %{{.*}} [0] : vector<3x1x4x64xf32> to vector<1x4x64xf32>
// CHECK:   arith.divf %[[ACC]]
// CHECK:   vector.transfer_write %{{.*}}, %arg3[%[[J]], %c0, %c0]
// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = memref.alloc() {alignment = 64 : i64} : memref<3x8x1x4xf32>
// CHECK: %[[Y:.*]] = memref.alloc() {alignment = 64 : i64} : memref<3x8x1x4xf32>
// CHECK: %[[Z:.*]] = memref.alloc() {alignment = 64 : i64} : memref<3x8x1x4x64xf32>
// CHECK: call @attention(%{{.*}}, %[[X]], %[[Y]], %[[Z]])

// The block that comes last of a tile's three joins them. The mask is the last step's alone: steps before it
// are a loop of their own, which begins where the part does. Parts are in registers, neighbours in lanes.
// LAST-LABEL: @attention
// LAST: scf.forall (%[[N:.*]], %[[H:.*]]) = (0, 0) to (500, 8) step (192, 1) {
// LAST: scf.for %{{.*}} = %[[N]] to %[[WHOLE:.*]] step
// LAST-NOT: arith.cmpi
// LAST: scf.for %{{.*}} = %[[WHOLE]] to
// LAST: arith.cmpi
// LAST: %[[IS:.*]] = "mlopt.last_arrival"(%{{.*}}) {parts = 3 : i64, tiles = 8 : i64}
// LAST: scf.if %[[IS]] {
// LAST: vector.transfer_read %arg6[{{.*}}mlopt.layout = "reg 3:(1,0,0,0) 4:(0,0,0,1) lane 16:(0,0,0,4) 2:(0,0,1,0) warp 2:(0,0,2,0)"
// LAST: vector.transfer_write %{{.*}}, %arg3
// LAST-NOT: scf.forall
// LAST: return
#q = affine_map<(h, m, n, k) -> (h, m, k)>
#k = affine_map<(h, m, n, k) -> (h, n, k)>
#s = affine_map<(h, m, n, k) -> (h, m, n)>
#w = affine_map<(h, m, d, n) -> (h, m, n)>
#v = affine_map<(h, m, d, n) -> (h, n, d)>
#o = affine_map<(h, m, d, n) -> (h, m, d)>
func.func private @attention(%q: memref<8x4x64xbf16>, %k: memref<8x500x64xbf16>, %v: memref<8x500x64xbf16>, %o: memref<8x4x64xf32>) attributes {mlopt.kernel, mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 3>, stages = array<i64: 2>, tile = array<i64: 1, 0, 64, 64>, warps = array<i64: 2>}} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %pad = arith.constant 0.0 : bf16
  %low = arith.constant dense<0xFF800000> : vector<1x4xf32>
  %lows = arith.constant dense<0xFF800000> : vector<1x4x64xf32>
  %zero = arith.constant dense<0.0> : vector<1x4xf32>
  %zeros = arith.constant dense<0.0> : vector<1x4x64xf32>
  %two = arith.constant dense<0.2> : vector<1x4xf32>
  %twos = arith.constant dense<0.2> : vector<1x4x64xf32>
  scf.forall (%h) in (8) {
    %x = vector.transfer_read %q[%h, %c0, %c0], %pad {in_bounds = [true, true, true]} : memref<8x4x64xbf16>, vector<1x4x64xbf16>
    %r:3 = scf.for %n = %c0 to %c500 step %c64 iter_args(%top = %low, %sum = %zero, %acc = %zeros) -> (vector<1x4xf32>, vector<1x4xf32>, vector<1x4x64xf32>) {
      %y = vector.transfer_read %k[%h, %n, %c0], %pad {in_bounds = [true, false, true]} : memref<8x500x64xbf16>, vector<1x64x64xbf16>
      %d = vector.contract {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"], mlopt.mma = "m16n8k16.bf16"}
          %x, %y, %zeros : vector<1x4x64xbf16>, vector<1x64x64xbf16> into vector<1x4x64xf32>
      %number = vector.step : vector<64xindex>
      %first = vector.broadcast %n : index to vector<64xindex>
      %key = arith.addi %number, %first : vector<64xindex>
      %ends = arith.constant dense<500> : vector<64xindex>
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
      %z = vector.transfer_read %v[%h, %n, %c0], %pad {in_bounds = [true, false, true]} : memref<8x500x64xbf16>, vector<1x64x64xbf16>
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

func.func @main(%q: memref<8x4x64xbf16>, %k: memref<8x500x64xbf16>, %v: memref<8x500x64xbf16>, %o: memref<8x4x64xf32>) {
  call @attention(%q, %k, %v, %o) : (memref<8x4x64xbf16>, memref<8x500x64xbf16>, memref<8x500x64xbf16>, memref<8x4x64xf32>) -> ()
  return
}

// Exponentials of e, whose scores no tensor core makes. 32 parts of 2048 sums are more than 32 threads have in
// flight: they are joined one by one, in a loop that carries what the first loop did. Tasks have two rows each.
// CHECK-LABEL: @many
// CHECK: scf.forall (%[[N:.*]], %[[M:.*]]) = (0, 0) to (512, 4) step (16, 2) {
// CHECK: scf.forall (%[[J:.*]]) in (2) {
// CHECK: scf.for %[[AT:.*]] = %c0{{.*}} to %c32{{.*}} step %c1{{.*}} iter_args(%[[TOP:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}, %[[ACC:.*]] = %{{.*}})
// CHECK:   %[[T:.*]] = vector.transfer_read {{.*}}[%[[AT]], %[[J]], {{.*}} vector<1x2xf32>
// CHECK:   %[[NEW:.*]] = vector.multi_reduction <maximumf>, %[[T]], %[[TOP]] [0]
// CHECK:   %[[D:.*]] = arith.subf %[[TOP]]
// CHECK:   %[[KEPT:.*]] = math.exp %[[D]]
// CHECK:   arith.mulf %[[SUM]], %[[KEPT]]
// CHECK: %[[I:.*]] = affine.apply #{{.*}}(%[[J]])
// CHECK: vector.transfer_write %{{.*}}, %arg2[%[[I]], %{{.*}}]
#x = affine_map<(m, d, n) -> (m, n)>
#y = affine_map<(m, d, n) -> (n, d)>
#z = affine_map<(m, d, n) -> (m, d)>
func.func private @many(%s: memref<4x512xf32>, %v: memref<512x1024xf32>, %o: memref<4x1024xf32>) attributes {mlopt.kernel, mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 32>, tile = array<i64: 2, 0, 4>, warps = array<i64: 1>}} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<2xf32>
  %zero = arith.constant dense<0.0> : vector<2xf32>
  %zeros = arith.constant dense<0.0> : vector<2x1024xf32>
  scf.forall (%i) = (0) to (4) step (2) {
    %r:3 = scf.for %n = %c0 to %c512 step %c4 iter_args(%top = %low, %sum = %zero, %acc = %zeros) -> (vector<2xf32>, vector<2xf32>, vector<2x1024xf32>) {
      %t = vector.transfer_read %s[%i, %n], %pad {in_bounds = [true, true]} : memref<4x512xf32>, vector<2x4xf32>
      %m = vector.multi_reduction <maximumf>, %t, %top [1] : vector<2x4xf32> to vector<2xf32>
      %tall = vector.shape_cast %m : vector<2xf32> to vector<2x1xf32>
      %wide = vector.broadcast %tall : vector<2x1xf32> to vector<2x4xf32>
      %e = arith.subf %t, %wide : vector<2x4xf32>
      %w = math.exp %e : vector<2x4xf32>
      %g = arith.subf %top, %m : vector<2xf32>
      %kept = math.exp %g : vector<2xf32>
      %before = arith.mulf %sum, %kept : vector<2xf32>
      %total = vector.multi_reduction <add>, %w, %before [1] : vector<2x4xf32> to vector<2xf32>
      %keptall = vector.shape_cast %kept : vector<2xf32> to vector<2x1xf32>
      %keptwide = vector.broadcast %keptall : vector<2x1xf32> to vector<2x1024xf32>
      %scaled = arith.mulf %acc, %keptwide : vector<2x1024xf32>
      %z = vector.transfer_read %v[%n, %c0], %pad {in_bounds = [true, true]} : memref<512x1024xf32>, vector<4x1024xf32>
      %next = vector.contract {indexing_maps = [#x, #y, #z], iterator_types = ["parallel", "parallel", "reduction"]}
          %w, %z, %scaled : vector<2x4xf32>, vector<4x1024xf32> into vector<2x1024xf32>
      scf.yield %m, %total, %next : vector<2xf32>, vector<2xf32>, vector<2x1024xf32>
    }
    %tall = vector.shape_cast %r#1 : vector<2xf32> to vector<2x1xf32>
    %wide = vector.broadcast %tall : vector<2x1xf32> to vector<2x1024xf32>
    %y = arith.divf %r#2, %wide : vector<2x1024xf32>
    vector.transfer_write %y, %o[%i, %c0] {in_bounds = [true, true]} : vector<2x1024xf32>, memref<4x1024xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, parts = array<i64: 32>, tile = array<i64: 2, 0, 4>, warps = array<i64: 1>}}
  return
}

// Without parts in the schedule a kernel stays as it is.
// CHECK-LABEL: @whole
// CHECK-NOT: scf.forall (%{{.*}}, %{{.*}})
// CHECK: return
func.func private @whole(%o: memref<8xf32>) attributes {mlopt.kernel, mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 8>, warps = array<i64: 1>}} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  scf.forall (%i) in (1) {
    vector.transfer_write %zero, %o[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 8>, warps = array<i64: 1>}}
  return
}
