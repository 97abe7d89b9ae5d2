// A pass in Python runs below any operation, by the pipeline's text or by its own kind.
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py --pass-pipeline='builtin.module(gpu.module(mlopt-test-nothing,gpu.func(mlopt-test-nothing)),any(mlopt-test-nothing),func.func(mlopt-test-note{size=8 sizes=1,2}))' --mlir-print-ir-after=mlopt-test-nothing --mlir-print-ir-module-scope -o %t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=NOTED < %t.mlir
// As a flag it finds its operations itself; options stand in one word.
// RUN: mlopt-opt %s --load-pass-plugin=%S/Inputs/planted.py -mlopt-test-note="size=8 sizes=1,2" -cse | FileCheck %s --check-prefix=NOTED
// CHECK: IR Dump After Nothing (mlopt-test-nothing) ('gpu.module' operation: @device)
// CHECK: IR Dump After Nothing (mlopt-test-nothing) ('gpu.func' operation: @kernel)
// CHECK: IR Dump After Nothing (mlopt-test-nothing) ('gpu.module' operation: @device)
// CHECK: IR Dump After Nothing (mlopt-test-nothing) ('func.func' operation: @host)
// NOTED: gpu.func @kernel
// NOTED: func.func @host() attributes {noted = "8 [1, 2] False '' 1.0"}
module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
  func.func @host() {
    return
  }
}
