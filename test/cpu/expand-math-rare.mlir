// RUN: mlopt-opt %s --pass-pipeline='builtin.module(mlopt-cpu-expand-math)' | FileCheck %s

// Quotients that f64 does not have to less than one are libm's, for all lanes if there is one.
// CHECK-LABEL: @remainder
// CHECK: %[[LIMIT:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: %[[HUGE:.*]] = arith.cmpf oge, %{{.*}}, %[[LIMIT]]
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[HUGE]]
// CHECK: scf.if %[[ANY]]
// CHECK:   scf.for
// CHECK:     arith.remf %{{.*}}, %{{.*}} : f32
// CHECK: } else {
// CHECK-NOT: arith.remf
func.func private @remainder(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %r = arith.remf %x, %y : vector<8xf32>
  return %r : vector<8xf32>
}

// One division for all octants.
// CHECK-LABEL: @angle
// CHECK-COUNT-1: arith.divf
// CHECK-NOT: arith.divf
// CHECK-NOT: math.atan2
func.func private @angle(%y: vector<8xf32>, %x: vector<8xf32>) -> vector<8xf32> {
  %r = math.atan2 %y, %x : vector<8xf32>
  return %r : vector<8xf32>
}

// A scalar chooses without a reduction; f64 stays.
// CHECK-LABEL: @scalar
// CHECK-NOT: vector.reduction
// CHECK: scf.if
// CHECK:   math.sinh %{{.*}} : f32
// CHECK: math.sinh %{{.*}} : f64
func.func private @scalar(%x: f32, %y: f64) -> (f32, f64) {
  %a = math.sinh %x : f32
  %b = math.sinh %y : f64
  return %a, %b : f32, f64
}
