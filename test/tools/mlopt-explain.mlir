// RUN: mlopt explain %s --machine cpu | FileCheck %s
// RUN: mlopt explain %s --target cuda:sm_80 | FileCheck %s --check-prefix=CUDA
// RUN: mlopt explain %s --machine cpu --json | FileCheck %s --check-prefix=JSON
// RUN: not mlopt explain %s --machine cpv 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mlopt explain %s --machine a100 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not mlopt explain %s --target cuda:sm_89 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not mlopt explain %s --target tpu 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not mlopt explain %s --func nothing 2>&1 | FileCheck %s --check-prefix=FUNC
// RUN: not mlopt explain %s.no-such-file 2>&1 | FileCheck %s --check-prefix=FILE

// 800 x 800 floats are 2.56 MB: the first kernel reads %x and writes %s, three kernels would move seven.
// CHECK: {{.*}}mlopt-explain.mlir for cpu; times are those of two cores of an AMD EPYC
// CHECK: @main: 2 calls of 2 kernels, 12.800 MB (25.600 if nothing were fused), 2049.280 MFLOP,
// CHECK: kernel_0_matmul_div_exp 1 5.120 17.920 1025.280 1.280 200.2 compute {{[0-9.]+}} tile=
// CHECK: kernel_1_matmul 1 7.680 7.680 1024.000 133.3 compute {{[0-9.]+}} tile=
// CHECK: {{^}}kernel_0_matmul_div_exp
// CHECK-NEXT: matmul {{.*}}mlopt-explain.mlir:[[#@LINE+26]]
// CHECK-NEXT: div {{.*}}mlopt-explain.mlir:[[#@LINE+26]]
// CHECK-NEXT: exp {{.*}}mlopt-explain.mlir:[[#@LINE+26]]
// CHECK-NEXT: fused matmul -> div saves 7.680 MB, {{[0-9.]+}} µs
// CHECK-NEXT: fused div -> exp saves 5.120 MB, {{[0-9.]+}} µs
// CHECK: not fused:
// CHECK-NEXT: kernel_0_matmul_div_exp -> kernel_1_matmul (2.560 MB)
// CHECK-NEXT: exp -> matmul ({{.+}}mlopt-explain.mlir:[[#]] -> [[#]]): {{.+}}; would save {{.+}} MB
// CUDA: for cuda:sm_80; times are those of NVIDIA A100 80 GB (SXM)
// CUDA: kernel_1_matmul {{.*}} compute {{.*}} warps=
// JSON: "bound_by": "compute"
// JSON: "from_kernel": "kernel_0_matmul_div_exp"
// NAME: there is no description of a machine 'cpv'; did you mean 'cpu'?
// NAME: remedy: use one of: host, a100, cpu, h100, h200
// KIND: the target is cpu, and NVIDIA A100 80 GB (SXM) is a GPU
// CHIP: there is no description of a GPU with cuda:sm_89
// CHIP: remedy: pass --machine with one of: a100, h100, h200
// TARGET: option target='tpu' is not known
// FUNC: @nothing
// FILE: cannot be read
#id = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: tensor<800x800xf32>) -> tensor<800x800xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<800x800xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<800x800xf32>) -> tensor<800x800xf32>
  %m = linalg.matmul ins(%x, %x : tensor<800x800xf32>, tensor<800x800xf32>) outs(%f : tensor<800x800xf32>) -> tensor<800x800xf32>
  %d = linalg.div ins(%m, %x : tensor<800x800xf32>, tensor<800x800xf32>) outs(%e : tensor<800x800xf32>) -> tensor<800x800xf32>
  %s = linalg.exp ins(%d : tensor<800x800xf32>) outs(%e : tensor<800x800xf32>) -> tensor<800x800xf32>
  %r = linalg.matmul ins(%s, %x : tensor<800x800xf32>, tensor<800x800xf32>) outs(%f : tensor<800x800xf32>) -> tensor<800x800xf32>
  return %r : tensor<800x800xf32>
}
