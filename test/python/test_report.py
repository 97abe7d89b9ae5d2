"""What a compiled object says of its slow paths."""

import mlopt
import numpy as np

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


def test_kernels_are_not():
    relu = mlopt.compile_mlir("""
    func.func @main(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
      %zero = arith.constant dense<0.0> : tensor<5x7xf32>
      %y = arith.maximumf %x, %zero : tensor<5x7xf32>
      return %y : tensor<5x7xf32>
    }""")
    assert [kernel.path for kernel in relu.kernels] == ["tile"]
