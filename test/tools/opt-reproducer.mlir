// A failure becomes one file: its head holds the pipeline and names the plug-ins. One command repeats it.
// RUN: not mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(func.func(mlopt-test-note{size=8}),mlopt-test-nothing,func.func(mlopt-test-refuse))' --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | FileCheck %s --check-prefix=FAILS
// RUN: FileCheck %s --check-prefix=FILE < %t.mlir
// RUN: not mlopt-opt %t.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=AGAIN
// The head alone is enough, too: mlopt.jit writes such files.
// RUN: echo "// mlopt-reproducer: pipeline=builtin.module(cse,func.func(mlopt-test-refuse))" > %t.head.mlir
// RUN: echo "// mlopt-plugins: %S/Inputs/planted.py" >> %t.head.mlir
// RUN: echo "func.func @f() { return }" >> %t.head.mlir
// RUN: not mlopt-opt %t.head.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not mlopt-opt --run-reproducer < %t.head.mlir 2>&1 | FileCheck %s --check-prefix=AGAIN
// Those that repeat a call are not for this tool.
// RUN: echo "// mlopt-reproducer: call=a:b argument=text others={}" > %t.call.mlir
// RUN: not mlopt-opt %t.call.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=CALL
// CALL: mlopt-opt: error: this reproducer repeats a call: python -P -m mlopt.runtime.reproducer FILE
// FAILS: opt-reproducer.mlir:[[#@LINE+8]]:1: error: this function is refused
// FILE: // mlopt-reproducer: pipeline=builtin.module(func.func(mlopt-test-note{size=8}), mlopt-test-nothing, func.func(mlopt-test-refuse))
// FILE-NEXT: // mlopt-plugins: {{.*}}planted.py
// FILE: func.func @f
// FILE: mlir_reproducer
// FILE: pipeline: "builtin.module(func.func(mlopt-test-note{size=8}), mlopt-test-nothing, func.func(mlopt-test-refuse))"
// AGAIN: {{\.mlir|<stdin>}}:{{[34]}}:{{[13]}}: error: this function is refused
// AGAIN: mlopt-opt: pass mlopt-test-refuse failed
func.func @f() { return }
