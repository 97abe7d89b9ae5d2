// Printing after passes, to a stream or a folder, timing and statistics: passes in Python are like any other.
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(canonicalize,cse,mlopt-test-note{size=8}),symbol-dce)' --mlir-print-ir-after-all 2>&1 >/dev/null | FileCheck %s --check-prefix=ALL
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(canonicalize,mlopt-test-note{size=8}),symbol-dce)' --mlir-print-ir-after=mlopt-test-note --mlir-print-ir-module-scope 2>&1 >/dev/null | FileCheck %s --check-prefix=ONE
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(canonicalize,cse,func.func(mlopt-test-note),symbol-dce)' --mlir-print-ir-after-change --mlir-print-ir-after=canonicalize,cse,symbol-dce,mlopt-test-note --mlir-print-ir-module-scope 2>&1 >/dev/null | FileCheck %s --check-prefix=CHANGE
// RUN: rm -rf %t && mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(canonicalize{max-iterations=2},mlopt-test-note),symbol-dce)' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t && find %t | sort | FileCheck %s --check-prefix=TREE
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(canonicalize,mlopt-test-note),cse)' --mlir-timing --mlir-timing-display=list 2>&1 >/dev/null | FileCheck %s --check-prefix=LISTED
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(canonicalize,mlopt-test-note),cse)' --mlir-timing 2>&1 >/dev/null | FileCheck %s --check-prefix=TIMING
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(canonicalize,mlopt-test-note),cse)' --mlir-pass-statistics 2>&1 >/dev/null | FileCheck %s --check-prefix=STATISTICS
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py -mlopt-test-note --mlir-print-debuginfo --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=DEBUG

// LISTED: Note
// ALL: IR Dump After Canonicalizer (canonicalize) //----- //
// ALL-NEXT: func.func @f
// ALL: IR Dump After CSE (cse)
// ALL: IR Dump After Note (mlopt-test-note{size=8})
// ALL-NEXT: func.func @f{{.*}} attributes {noted = "8
// ALL: IR Dump After Canonicalizer (canonicalize)
// ALL: IR Dump After CSE (cse)
// ALL: IR Dump After SymbolDCE (symbol-dce) //----- //
// ALL-NEXT: module
// ONE-NOT: Canonicalizer
// ONE: IR Dump After Note (mlopt-test-note) ('func.func' operation: @f)
// ONE-NEXT: module
// CHANGE: IR Dump After Canonicalizer
// CHANGE-NOT: IR Dump After CSE
// CHANGE: IR Dump After Note (mlopt-test-note) ('func.func' operation: @f)
// CHANGE-NOT: SymbolDCE
// TREE: builtin_module_no-symbol-name{{$}}
// TREE-NEXT: 1_symbol-dce.mlir
// TREE-NEXT: func_func_f
// TREE: 0_0_canonicalize.mlir
// TREE-NEXT: 0_1_mlopt-test-note.mlir
// TIMING: Execution time report
// TIMING: 'func.func' Pipeline
// TIMING: Canonicalizer
// TIMING: Note
// TIMING: CSE
// STATISTICS: Note
// STATISTICS: CSE
// STATISTICS: num-cse'd
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
