// Upstream passes and ours in one pipeline, nested at will, with typed options.
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py \
// RUN:   --pass-pipeline='builtin.module(symbol-dce,func.func(mlopt-test-note{size=8 sizes=1,2 loud text-value="a b" factor=0.5},canonicalize{max-iterations=2},cse))' \
// RUN:   | FileCheck %s
// RUN: mlopt-opt --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(mlopt-test-note{size=8 sizes=1,2 loud text-value="a b" factor=0.5},cse,canonicalize))' < %s \
// RUN:   | FileCheck %s
// A pipeline without passes, and no pipeline.
// RUN: mlopt-opt %s --pass-pipeline='builtin.module()' | FileCheck %s --check-prefix=SAME
// RUN: mlopt-opt %s -o - | FileCheck %s --check-prefix=SAME
// RUN: mlopt-opt %s -o %t.mlir && FileCheck %s --check-prefix=SAME < %t.mlir
// RUN: mlopt-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: mlopt-opt %s --dump-pass-pipeline --pass-pipeline='builtin.module( func.func( cse ,canonicalize{max-iterations=2} ) )' 2>&1 >/dev/null | FileCheck %s --check-prefix=DUMP
// RUN: mlopt-opt --list-passes --load-pass-plugin=%S/Inputs/planted.py | FileCheck %s --check-prefix=LIST

// CHECK-LABEL: func.func @f
// CHECK-SAME: noted = "8 [1, 2] True 'a b' 0.5"
// CHECK-NEXT: return %arg0
// SAME: arith.addi
// GENERIC: "arith.addi"(%{{.*}}, %{{.*}})
// DUMP: builtin.module(
// DUMP-NEXT: func.func(
// DUMP-NEXT: cse,
// DUMP-NEXT: canonicalize{{.*}}max-iterations=2
// LIST: --mlopt-test-note {{ *}}- Write the options onto the function.
func.func @f(%a: i32) -> i32 {
  %c = arith.constant 0 : i32
  %0 = arith.addi %a, %c : i32
  return %0 : i32
}
