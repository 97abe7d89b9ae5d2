// Printing after passes, to a stream or a folder, and timing.
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(canonicalize,cse),symbol-dce)' --mlir-print-ir-after-all 2>&1 >/dev/null | FileCheck %s --check-prefix=ALL
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(canonicalize,cse),symbol-dce)' --mlir-print-ir-after=cse --mlir-print-ir-module-scope 2>&1 >/dev/null | FileCheck %s --check-prefix=ONE
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(canonicalize,cse,symbol-dce)' --mlir-print-ir-after-change 2>&1 >/dev/null | FileCheck %s --check-prefix=CHANGE
// RUN: rm -rf %t && mlopt-opt %s --pass-pipeline='builtin.module(func.func(canonicalize{max-iterations=2}),symbol-dce)' --mlir-print-ir-tree-dir=%t && ls %t | FileCheck %s --check-prefix=TREE
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(func.func(canonicalize),cse)' --mlir-timing 2>&1 >/dev/null | FileCheck %s --check-prefix=TIMING
// RUN: mlopt-opt %s --mlir-print-debuginfo --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=DEBUG

// ALL: IR Dump After canonicalize (func.func @f) //----- //
// ALL-NEXT: func.func @f
// ALL: IR Dump After cse (func.func @f)
// ALL: IR Dump After canonicalize (func.func @g)
// ALL: IR Dump After cse (func.func @g)
// ALL: IR Dump After symbol-dce //----- //
// ALL-NEXT: module
// ONE-NOT: canonicalize
// ONE: IR Dump After cse
// ONE-NEXT: module
// CHANGE: IR Dump After canonicalize
// CHANGE-NOT: IR Dump
// TREE: 000_canonicalize.f.mlir
// TREE-NEXT: 001_canonicalize.g.mlir
// TREE-NEXT: 002_symbol-dce.mlir
// TIMING: Pass execution timing report
// TIMING: {{[0-9.]+}} ({{.*}}%)  canonicalize
// TIMING-NEXT: cse
// TIMING-NEXT: (100.0%)  Total
// DEBUG: dense_resource<__elided__>
// DEBUG: opt-printing.mlir":[[#@LINE+1]]
func.func @f(%a: i32) -> i32 {
  %c = arith.constant 0 : i32
  %0 = arith.addi %a, %c : i32
  return %0 : i32
}

func.func @g() -> tensor<4xi32> {
  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  return %c : tensor<4xi32>
}
