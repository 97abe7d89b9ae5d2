"""What a compiled object says of its slow paths."""

import mlopt
import numpy as np
import torch

RUNNING_SUM = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %empty = tensor.empty() : tensor<8xf32>
  %zero = arith.constant 0.0 : f32
  %sums:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%all = %empty, %sum = %zero) -> (tensor<8xf32>, f32) {
    %v = tensor.extract %x[%i] : tensor<8xf32>
    %next = arith.addf %sum, %v : f32
    %more = tensor.insert %next into %all[%i] : tensor<8xf32>
    scf.yield %more, %next : tensor<8xf32>, f32
  }
  return %sums#0 : tensor<8xf32>
}
"""


def test_loops_outside_of_kernels_are_slow_paths():
    running_sum = mlopt.compile_mlir(RUNNING_SUM)
    x = np.random.default_rng(0).standard_normal(8).astype(np.float32)
    np.testing.assert_allclose(running_sum(x), np.cumsum(x), rtol=1e-5)
    (loop,) = running_sum.report.slow_paths
    assert loop.ops == ("scf.for",)
    assert loop.path == "slow: not in a kernel"
    assert loop.bytes is loop.flops is loop.intensity is None
    assert running_sum.report.bytes is running_sum.report.flops is None
    assert "one call: ? MB, ? MFLOP" in str(running_sum.report)


def test_kernels_are_not():
    relu = mlopt.compile_mlir("""
    func.func @main(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
      %zero = arith.constant dense<0.0> : tensor<5x7xf32>
      %y = arith.maximumf %x, %zero : tensor<5x7xf32>
      return %y : tensor<5x7xf32>
    }""")
    (kernel,) = relu.kernels
    assert kernel.path == "tile"
    assert (kernel.bytes, relu.report.bytes) == (2 * 4 * 5 * 7, 2 * 4 * 5 * 7)
    assert kernel.flops == relu.report.flops == 5 * 7


def test_a_slow_kernel_says_what_it_costs():
    compiled = mlopt.jit(lambda x: (x.diag(), x + 1), torch.randn(5, 5))
    (slow,) = compiled.report.slow_paths
    assert slow.path == "slow: a diagonal is read"
    assert (slow.bytes, slow.flops) == (2 * 4 * 5, 0)
    assert [kernel.flops for kernel in compiled.kernels if not kernel.is_slow] == [25]
    assert compiled.report.flops == 25
