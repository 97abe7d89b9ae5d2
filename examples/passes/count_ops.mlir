// RUN: mlopt-opt %s --load-pass-plugin=%S/count_ops.py --count-ops -o %t.mlir | FileCheck %s
// RUN: mlopt-opt %s --load-pass-plugin=%S/count_ops.py --pass-pipeline='builtin.module(func.func(canonicalize,count-ops{most=3}))' -o %t.mlir | FileCheck %s --check-prefix=FEWER
// RUN: not mlopt-opt %s --load-pass-plugin=%S/count_ops.py --count-ops=most=3 2>&1 >%t.out | FileCheck %s --check-prefix=ERROR

// CHECK: @sum: arith.addi 2, arith.constant 1, func.return 1, func.func 1
// FEWER: @sum: arith.addi 1, func.return 1, func.func 1
// ERROR: count_ops.mlir:[[#@LINE+1]]:1: error: more than 3 operations
func.func @sum(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %b = arith.addi %a, %zero : i32
  %c = arith.addi %b, %b : i32
  return %c : i32
}
