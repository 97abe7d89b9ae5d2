// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-gpu-online-sums)' | FileCheck %s

// Rows of 1000 in steps of 128, two at once: six steps in the loop, and the last two, of which one is ragged, before it.
// CHECK-LABEL: @sum
// CHECK-DAG: %[[LOW:.*]] = arith.constant dense<0xFF800000> : vector<1x128xf32>
// CHECK: scf.forall (%[[I:.*]]) in (10)
// CHECK:   vector.transfer_read %arg0[%[[I]], %c768{{.*}}], %{{.*}} {in_bounds = [true, true]}
// CHECK:   vector.transfer_read %arg0[%[[I]], %c896{{.*}}], %{{.*}} {in_bounds = [true, false]}
// CHECK:   %[[LAST:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LOW]]
// CHECK:   %[[B:.*]]:2 = scf.for %[[K:.*]] = %c0{{.*}} to %c768{{.*}} step %c256{{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[S:.*]] = %{{.*}}) -> (vector<1x128xf32>, vector<1x128xf32>)
// CHECK:     %[[NEXT:.*]] = arith.addi %[[K]], %c128
// CHECK:     %[[V:.*]] = vector.transfer_read %arg0[%[[I]], %[[K]]], %{{.*}} {in_bounds = [true, true]}
// CHECK:     %[[W:.*]] = vector.transfer_read %arg0[%[[I]], %[[NEXT]]], %{{.*}} {in_bounds = [true, true]}
// CHECK:     %[[M1:.*]] = arith.maximumf %[[M]], %[[V]]
// CHECK:     %[[M2:.*]] = arith.maximumf %[[M1]], %[[W]]
// CHECK:     %[[D:.*]] = arith.subf %[[M]], %[[M2]]
// CHECK:     %[[N:.*]] = arith.minnumf %[[D]], %{{.*}}
// CHECK:     %[[E:.*]] = math.exp %[[N]]
// CHECK:     arith.mulf %[[S]], %[[E]]
// CHECK-COUNT-2: math.exp
// CHECK:     scf.yield %[[M2]], %{{.*}}
// CHECK:   %[[MAX:.*]] = vector.multi_reduction <maximumf>, %[[B]]#0
// CHECK:   %[[ONE:.*]] = vector.broadcast %[[MAX]]
// CHECK:   %[[SPREAD:.*]] = vector.broadcast %[[ONE]]
// CHECK:   %[[D:.*]] = arith.subf %[[B]]#0, %[[SPREAD]]
// CHECK:   %[[E:.*]] = math.exp %[[D]]
// CHECK:   %[[P:.*]] = arith.mulf %[[B]]#1, %[[E]]
// CHECK:   vector.multi_reduction <add>, %[[P]]
// CHECK-NOT: scf.for %
// CHECK: return
func.func private @sum(%x: memref<10x1000xf32>, %out: memref<10xf32>) attributes {mlopt.kernel} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1000 = arith.constant 1000 : index
  %pad = arith.constant 0.0 : f32
  %end = arith.constant dense<1000> : vector<128xindex>
  %low = arith.constant dense<0xFF800000> : vector<1x128xf32>
  %lowest = arith.constant dense<0xFF800000> : vector<1xf32>
  %nothing = arith.constant dense<0.0> : vector<1xf32>
  scf.forall (%i) = (0) to (10) step (1) {
    %most = scf.for %k = %c0 to %c1000 step %c128 iter_args(%a = %low) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<10x1000xf32>, vector<1x128xf32>
      %n = vector.step : vector<128xindex>
      %start = vector.broadcast %k : index to vector<128xindex>
      %place = arith.addi %n, %start : vector<128xindex>
      %before = arith.cmpi slt, %place, %end : vector<128xindex>
      %inside = vector.broadcast %before : vector<128xi1> to vector<1x128xi1>
      %w = arith.select %inside, %v, %low : vector<1x128xi1>, vector<1x128xf32>
      %m = arith.maximumf %a, %w : vector<1x128xf32>
      scf.yield %m : vector<1x128xf32>
    }
    %max = vector.multi_reduction <maximumf>, %most, %lowest [1] : vector<1x128xf32> to vector<1xf32>
    %zero = arith.constant dense<-0.0> : vector<1x128xf32>
    %sums = scf.for %k = %c0 to %c1000 step %c128 iter_args(%a = %zero) -> (vector<1x128xf32>) {
      %v = vector.transfer_read %x[%i, %k], %pad {in_bounds = [true, false]} : memref<10x1000xf32>, vector<1x128xf32>
      %c = vector.broadcast %max : vector<1xf32> to vector<1x1xf32>
      %b = vector.broadcast %c : vector<1x1xf32> to vector<1x128xf32>
      %d = arith.subf %v, %b : vector<1x128xf32>
      %e = math.exp %d : vector<1x128xf32>
      %n = vector.step : vector<128xindex>
      %start = vector.broadcast %k : index to vector<128xindex>
      %place = arith.addi %n, %start : vector<128xindex>
      %before = arith.cmpi slt, %place, %end : vector<128xindex>
      %inside = vector.broadcast %before : vector<128xi1> to vector<1x128xi1>
      %w = arith.select %inside, %e, %zero : vector<1x128xi1>, vector<1x128xf32>
      %s = arith.addf %a, %w : vector<1x128xf32>
      scf.yield %s : vector<1x128xf32>
    }
    %sum = vector.multi_reduction <add>, %sums, %nothing [1] : vector<1x128xf32> to vector<1xf32>
    vector.transfer_write %sum, %out[%i] {in_bounds = [true]} : vector<1xf32>, memref<10xf32>
  } {mlopt.schedule = {min_blocks = array<i64: 64>, tile = array<i64: 1, 128>, warps = array<i64: 4>}}
  return
}
