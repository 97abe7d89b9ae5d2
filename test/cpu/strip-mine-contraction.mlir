// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-strip-mine,canonicalize,cse)' | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#t = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// 5 x 64 accumulators through the loop over k, as L1 does not hold the strip of %y; the last 5 rows are partly
// computed twice. Bias and relu on them before they are stored. The columns of %y that a strip needs are packed
// first: its rows are far apart and read 26 times.
// CHECK-LABEL: @matmul
// CHECK-SAME: (%[[A:.*]]: memref<128x512xf32>, %[[B:.*]]: memref<512x256xf32>, %[[BIAS:.*]]: memref<256xf32>
// CHECK: %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<512x64xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c64
// CHECK:   scf.for %[[ROW:.*]] = %c0 to %c512 step %c1
// CHECK:     %[[LATER:.*]] = arith.addi %[[ROW]], %c16
// CHECK:     %[[NEXT:.*]] = arith.minsi %[[LATER]], %c511
// CHECK-COUNT-4: memref.prefetch %[[B]][%[[NEXT]], %{{.*}}], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK:     %[[COPY:.*]] = vector.load %[[B]][%[[ROW]], %{{.*}}]
// CHECK:     vector.store %[[COPY]], %[[PANEL]][%[[ROW]], %c0]
// CHECK:   vector.load %[[BIAS]]
// CHECK:   scf.for %{{.*}} = %c0 to %c128 step %c5
// CHECK:     arith.minsi %{{.*}}, %c123
// CHECK:     %[[ACC:.*]]:5 = scf.for %[[K:.*]] = %c0 to %c512 step %c2 iter_args(%[[C0:[^ ]*]] = %{{.*}}) -> (vector<64xf32>, vector<64xf32>, vector<64xf32>, vector<64xf32>, vector<64xf32>)
// CHECK:       %[[S:.*]] = memref.load %[[A]]
// CHECK:       %[[V:.*]] = vector.load %[[PANEL]][%[[K]], %c0] : memref<512x64xf32>, vector<64xf32>
// CHECK:       %[[W:.*]] = vector.broadcast %[[S]] : f32 to vector<64xf32>
// CHECK:       vector.fma %[[W]], %[[V]], %[[C0]] : vector<64xf32>
// CHECK-COUNT-9: vector.fma
// CHECK:       scf.yield
// CHECK:     arith.addf %[[ACC]]#0
// CHECK:     arith.maximumf
// CHECK-COUNT-5: vector.store
func.func private @matmul(%x: memref<128x512xf32>, %y: memref<512x256xf32>, %bias: memref<256xf32>, %out: memref<128x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  scf.forall (%j) = (0) to (256) step (128) {
    %r = scf.for %k = %c0 to %c512 step %c2 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
      %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x512xf32>, vector<128x2xf32>
      %b = vector.transfer_read %y[%k, %j], %pad {in_bounds = [true, true]} : memref<512x256xf32>, vector<2x128xf32>
      %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<128x2xf32>, vector<2x128xf32> into vector<128x128xf32>
      scf.yield %c : vector<128x128xf32>
    }
    %v = vector.transfer_read %bias[%j], %pad {in_bounds = [true]} : memref<256xf32>, vector<128xf32>
    %w = vector.broadcast %v : vector<128xf32> to vector<128x128xf32>
    %s = arith.addf %r, %w : vector<128x128xf32>
    %p = arith.maximumf %s, %zero : vector<128x128xf32>
    vector.transfer_write %p, %out[%c0, %j] {in_bounds = [true, true]} : vector<128x128xf32>, memref<128x256xf32>
  }
  return
}

// A single row: sixteen registers along it. Products of bf16 are summed in f32.
// CHECK-LABEL: @row
// CHECK: scf.for {{.*}} -> (vector<64xf32>, vector<64xf32>, vector<64xf32>, vector<64xf32>)
// CHECK:   arith.extf %{{.*}} : bf16 to f32
// CHECK:   arith.extf %{{.*}} : vector<64xbf16> to vector<64xf32>
// CHECK:   vector.fma
func.func private @row(%x: memref<1x64xbf16>, %y: memref<64x256xbf16>, %out: memref<1x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<1x256xf32>
  %r = scf.for %k = %c0 to %c64 step %c4 iter_args(%acc = %zero) -> (vector<1x256xf32>) {
    %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<1x64xbf16>, vector<1x4xbf16>
    %b = vector.transfer_read %y[%k, %c0], %pad {in_bounds = [true, true]} : memref<64x256xbf16>, vector<4x256xbf16>
    %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<1x4xbf16>, vector<4x256xbf16> into vector<1x256xf32>
    scf.yield %c : vector<1x256xf32>
  }
  vector.transfer_write %r, %out[%c0, %c0] {in_bounds = [true, true]} : vector<1x256xf32>, memref<1x256xf32>
  return
}

#x = affine_map<(o, w, c) -> (c, w)>
#w = affine_map<(o, w, c) -> (c, o)>
#o = affine_map<(o, w, c) -> (o, w)>

// A convolution's lanes are the output channels; the strip is turned in registers where it is stored.
// CHECK-LABEL: @channels_first
// CHECK: scf.for {{.*}} -> (vector<64xf32>, vector<64xf32>, vector<64xf32>, vector<64xf32>)
// CHECK: vector.shuffle %{{.*}} [0, 64, 1, 65, {{.*}}] : vector<64xf32>, vector<64xf32>
// CHECK: vector.store %{{.*}} : memref<64x28xf32>, vector<4xf32>
func.func private @channels_first(%x: memref<32x28xf32>, %w: memref<32x64xf32>, %out: memref<64x28xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x28xf32>
  %r = scf.for %k = %c0 to %c32 step %c4 iter_args(%acc = %zero) -> (vector<64x28xf32>) {
    %a = vector.transfer_read %x[%k, %c0], %pad {in_bounds = [true, true]} : memref<32x28xf32>, vector<4x28xf32>
    %b = vector.transfer_read %w[%k, %c0], %pad {in_bounds = [true, true]} : memref<32x64xf32>, vector<4x64xf32>
    %c = vector.contract {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<4x28xf32>, vector<4x64xf32> into vector<64x28xf32>
    scf.yield %c : vector<64x28xf32>
  }
  vector.transfer_write %r, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x28xf32>, memref<64x28xf32>
  return
}

// One panel for all of k. Rows of 2000 bytes start inside of a cache line: the strip of the next lies in five.
// CHECK-LABEL: @whole
// CHECK: %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2048x64xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c2048 step %c1
// CHECK-COUNT-5: memref.prefetch
// CHECK: vector.store %{{.*}}, %[[PANEL]]
// CHECK: scf.for %{{.*}} = %c0 to %c2048 step %c4 iter_args
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @whole(%x: memref<64x2048xf32>, %y: memref<2048x500xf32>, %out: memref<64x500xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c2048 = arith.constant 2048 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%j) = (0) to (500) step (64) {
    %r = scf.for %k = %c0 to %c2048 step %c4 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
      %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x2048xf32>, vector<64x4xf32>
      %b = vector.transfer_read %y[%k, %j], %pad {in_bounds = [true, false]} : memref<2048x500xf32>, vector<4x64xf32>
      %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<64x4xf32>, vector<4x64xf32> into vector<64x64xf32>
      scf.yield %c : vector<64x64xf32>
    }
    vector.transfer_write %r, %out[%c0, %j] {in_bounds = [true, false]} : vector<64x64xf32>, memref<64x500xf32>
  }
  return
}

// 8 x 48 accumulators, three registers a row.
// CHECK-LABEL: @three_registers
// CHECK: %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<512x48xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c8
// CHECK:   %{{.*}}:24 = scf.for %{{.*}} = %c0 to %c512 step %c2 iter_args
// CHECK-COUNT-3: vector.load %[[PANEL]]{{.*}}, vector<16xf32>
// CHECK-COUNT-48: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK: return
func.func private @three_registers(%x: memref<128x512xf32>, %y: memref<512x480xf32>, %out: memref<128x480xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<128x48xf32>
  scf.forall (%j) = (0) to (480) step (48) {
    %r = scf.for %k = %c0 to %c512 step %c2 iter_args(%acc = %zero) -> (vector<128x48xf32>) {
      %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x512xf32>, vector<128x2xf32>
      %b = vector.transfer_read %y[%k, %j], %pad {in_bounds = [true, true]} : memref<512x480xf32>, vector<2x48xf32>
      %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<128x2xf32>, vector<2x48xf32> into vector<128x48xf32>
      scf.yield %c : vector<128x48xf32>
    }
    vector.transfer_write %r, %out[%c0, %j] {in_bounds = [true, true]} : vector<128x48xf32>, memref<128x480xf32>
  }
  return
}

// Too long for one panel: blocks of k, each packed, the sums in a buffer until the last.
// CHECK-LABEL: @long
// CHECK-DAG: %[[PANEL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1024x64xf32>
// CHECK-DAG: %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<65x64xf32>
// CHECK: scf.for %[[START:.*]] = %c0 to %c4096 step %c1024
// CHECK:   %[[END:.*]] = arith.minsi
// CHECK:   vector.store %{{.*}}, %[[PANEL]]
// CHECK:   vector.load %[[SUMS]]
// CHECK:   scf.for %{{.*}} = %[[START]] to %[[END]] step %c4 iter_args
// CHECK:   vector.store %{{.*}}, %[[SUMS]]
// CHECK: vector.load %[[SUMS]]
// CHECK: return
func.func private @long(%x: memref<64x4096xf32>, %y: memref<4096x512xf32>, %out: memref<64x512xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c4096 = arith.constant 4096 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%j) = (0) to (512) step (64) {
    %r = scf.for %k = %c0 to %c4096 step %c4 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
      %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<64x4096xf32>, vector<64x4xf32>
      %b = vector.transfer_read %y[%k, %j], %pad {in_bounds = [true, true]} : memref<4096x512xf32>, vector<4x64xf32>
      %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<64x4xf32>, vector<4x64xf32> into vector<64x64xf32>
      scf.yield %c : vector<64x64xf32>
    }
    vector.transfer_write %r, %out[%c0, %j] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x512xf32>
  }
  return
}

// An epilogue in f64 leaves room for half of the lanes, and so does what is stored beside the product.
// CHECK-LABEL: @wide_epilogue
// CHECK: vector.fma {{.*}} : vector<32xf32>
// CHECK-NOT: vector<64x
// CHECK: arith.extf {{.*}} : vector<32xf32> to vector<32xf64>
// CHECK-NOT: vector<64x
// CHECK: return
func.func private @wide_epilogue(%x: memref<64x8xf32>, %y: memref<8x256xf32>, %out: memref<64x256xf32>, %wide: memref<64x256xf64>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%j) = (0) to (256) step (64) {
    %a = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x8xf32>, vector<64x8xf32>
    %b = vector.transfer_read %y[%c0, %j], %pad {in_bounds = [true, true]} : memref<8x256xf32>, vector<8x64xf32>
    %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %zero : vector<64x8xf32>, vector<8x64xf32> into vector<64x64xf32>
    %d = arith.extf %c : vector<64x64xf32> to vector<64x64xf64>
    vector.transfer_write %c, %out[%c0, %j] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x256xf32>
    vector.transfer_write %d, %wide[%c0, %j] {in_bounds = [true, true]} : vector<64x64xf64>, memref<64x256xf64>
  }
  return
}

// A factor whose rows become lanes: its squares of 16 x 16 are turned into the panel, not gathered. L1 holds the
// panel, of a block of k; the sums wait in a buffer. Less than 1 MB is not asked for ahead.
// CHECK-LABEL: @turned
// CHECK-SAME: (%[[A:.*]]: memref<128x512xf32>, %[[B:.*]]: memref<256x512xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c64
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c512 step %c128
// CHECK:   %[[END:.*]] = arith.minsi %{{.*}}, %c512
// CHECK:   scf.for %[[STRIP:.*]] = %c0 to %c64 step %c16
// CHECK:     scf.for %[[K:.*]] = %[[BLOCK]] to %{{.*}} step %c16
// CHECK-COUNT-16: vector.load %[[B]][%{{.*}}, %[[K]]] : memref<256x512xf32>, vector<16xf32>
// CHECK:       vector.shuffle
// CHECK:       %[[PLACE:.*]] = arith.subi %[[K]], %[[BLOCK]]
// CHECK:       vector.store %{{.*}}, %[[PANEL:.*]][%[[PLACE]], %[[STRIP]]] : memref<128x64xf32>, vector<16xf32>
// CHECK:   scf.for %{{.*}} = %c0 to %c128 step %c4
// CHECK:     scf.for %{{.*}} = %[[BLOCK]] to %[[END]] step %c2
// CHECK-NOT:   memref.prefetch
// CHECK:       memref.load %[[A]]
// CHECK:       vector.load %[[PANEL]]
// CHECK-NOT: vector.gather
func.func private @turned(%x: memref<128x512xf32>, %y: memref<256x512xf32>, %out: memref<128x256xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c512 = arith.constant 512 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  scf.forall (%j) = (0) to (256) step (128) {
    %r = scf.for %k = %c0 to %c512 step %c2 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
      %a = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<128x512xf32>, vector<128x2xf32>
      %b = vector.transfer_read %y[%j, %k], %pad {in_bounds = [true, true]} : memref<256x512xf32>, vector<128x2xf32>
      %c = vector.contract {indexing_maps = [#a, #t, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc : vector<128x2xf32>, vector<128x2xf32> into vector<128x128xf32>
      scf.yield %c : vector<128x128xf32>
    }
    vector.transfer_write %r, %out[%c0, %j] {in_bounds = [true, true]} : vector<128x128xf32>, memref<128x256xf32>
  }
  return
}
