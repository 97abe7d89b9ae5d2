// What a pass in Python writes is found by the pipelines that are nested behind it, in IR that has nothing of it.
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(mlopt-test-device,gpu.module(canonicalize))' | FileCheck %s
// CHECK: gpu.module @device {
// CHECK-NEXT: func.func @f() {
// CHECK-NEXT: return
func.func @host() {
  return
}
