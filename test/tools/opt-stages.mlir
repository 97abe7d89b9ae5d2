// The ways down as passes, and slices of them; a saved stage goes on from there.
// RUN: mlopt-opt %s --mlopt-cpu --to=kernels -o %t.mlir && FileCheck %s --check-prefix=KERNELS < %t.mlir
// RUN: mlopt-opt %t.mlir --from=tile --to=tile | FileCheck %s --check-prefix=TILE
// RUN: mlopt-opt %t.mlir --mlopt-cpu=vector-bits=256 --from tile | FileCheck %s --check-prefix=LLVM
// RUN: mlopt-opt %s --mlopt-cuda='chip=sm_90a' --to=threads | FileCheck %s --check-prefix=THREADS
// RUN: mlopt-opt %s --mlopt-cuda='chip=sm_90a' | FileCheck %s --check-prefix=NVVM
// RUN: mlopt-opt %s --pass-pipeline='builtin.module(cse,mlopt-cpu{to-stage=kernels},canonicalize)' | FileCheck %s --check-prefix=KERNELS
// RUN: not mlopt-opt %s --mlopt-cpu --to=tiel 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mlopt-opt %s --mlopt-cpu --from=llvm --to=tile 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not mlopt-opt %s --mlopt-cuda=chip=sm_9 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not mlopt-opt %s --mlopt-cpu --from 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not mlopt-opt %s --from= 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: mlopt-opt: for the --from option: requires a value!
// Contracts of stages are checked.
// RUN: not mlopt-opt %S/Inputs/opt/gpu.mlir --mlopt-cpu --to=linalg 2>&1 | FileCheck %s --check-prefix=CONTRACT
// CONTRACT: gpu.mlir:{{[0-9]+:[0-9]+}}: error: 'gpu.{{.*}}' may not remain after stage 'linalg'
// CONTRACT: mlopt-opt: stage 'linalg' broke its contract: {{.*}}; all of the IR is in {{.*}}.mlir
// CHIP: mlopt-cuda: did you mean sm_90
// KERNELS: func.func private @kernel_0{{.*}}mlopt.kernel
// TILE: vector.
// LLVM: llvm.func
// THREADS: gpu.launch_func
// NVVM: gpu.module
// NVVM: llvm.func {{.*}}nvvm.kernel
// NVVM-NOT: vector.extract
// NAME: there is no stage 'tiel'; did you mean 'tile'
// ORDER: stage 'llvm' comes after stage 'tile'
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = arith.addf %x, %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
