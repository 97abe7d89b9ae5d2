// RUN: rm -rf %t && mlopt compile %s -o %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=TILE < %t/3_tile.mlir
// RUN: FileCheck %s --check-prefix=OBJECT < %t/6_object.s
// RUN: FileCheck %s < %t/report.txt
// RUN: mlopt compile %s --stage kernels --cpu x86-64-v3 -O 1 | FileCheck %s --check-prefix=KERNELS
// RUN: not mlopt compile %s --stage kernel 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not mlopt compile %s --func nothing 2>&1 | FileCheck %s --check-prefix=FUNC
// RUN: not mlopt compile %s --target tpu 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not mlopt compile %s.no-such-file 2>&1 | FileCheck %s --check-prefix=FILE

// CHECK: 100% compiled: 1 kernel,
// CHECK: kernel_0_add_max{{ +}}add, max{{ .* }}tile
// TILE: scf.forall
// OBJECT: <mlopt_main>
// KERNELS: func.func private @kernel_0_add_max({{.*}}mlopt.kernel
// STAGE: mlopt: error: there is no stage 'kernel'
// STAGE-NEXT: remedy: use one of: linalg, kernels, tile, loops, llvm, object
// FUNC: mlopt: error: {{.*}}@nothing
// TARGET: mlopt: error: option target='tpu' is not known
// FILE: mlopt: error: {{.*}} cannot be read
func.func @main(%x: tensor<64x100xf32>, %y: tensor<64x100xf32>) -> tensor<64x100xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x100xf32>
  %e = tensor.empty() : tensor<64x100xf32>
  %s = linalg.add ins(%x, %y : tensor<64x100xf32>, tensor<64x100xf32>) outs(%e : tensor<64x100xf32>) -> tensor<64x100xf32>
  %r = linalg.max ins(%s, %zero : tensor<64x100xf32>, tensor<64x100xf32>) outs(%e : tensor<64x100xf32>) -> tensor<64x100xf32>
  return %r : tensor<64x100xf32>
}
