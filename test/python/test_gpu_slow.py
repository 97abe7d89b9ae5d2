"""Kernels that no tile rule takes, on a GPU's threads: right, and reported as slow."""

from __future__ import annotations

import mlopt
import numpy as np
import pytest
import torch

MASKED_SUMS = """
func.func @main(%x: tensor<?x7xf32>, %y: tensor<4x4xf32>) -> (tensor<?xf32>, tensor<f32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x7xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x7xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %s = scf.if %c -> (f32) {
      %p = arith.addf %a, %o : f32
      scf.yield %p : f32
    } else {
      scf.yield %o : f32
    }
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %e0 = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %t = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> ()>],
                       iterator_types = ["reduction"]}
      ins(%y : tensor<4x4xf32>) outs(%f0 : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.addf %a, %o : f32
    linalg.yield %p : f32
  } -> tensor<f32>
  %e4 = tensor.empty() : tensor<4xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%y : tensor<4x4xf32>) outs(%e4 : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  return %r, %t, %d : tensor<?xf32>, tensor<f32>, tensor<4xf32>
}
"""


@pytest.mark.parametrize("rows", [1, 128, 301])
def test_loops_and_branches(rows: int, rng: np.random.Generator) -> None:
    call = mlopt.compile_mlir(MASKED_SUMS, target="cuda:sm_80", device="emulator")
    assert [kernel.path for kernel in call.kernels] == [
        "slow: scf.if in the body", "slow: a diagonal is read", "slow: a diagonal is read",
    ]  # fmt: skip
    x, y = rng.standard_normal((rows, 7), np.float32), rng.standard_normal((4, 4), np.float32)
    sums, trace, diagonal = call(x, y)
    np.testing.assert_allclose(sums, np.where(x > 0, x, 0).sum(1), rtol=1e-6)
    np.testing.assert_allclose(trace, np.trace(y), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(diagonal, np.exp(np.diag(y)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.bool])
def test_diagonals(dtype: torch.dtype) -> None:
    x = (4 * torch.randn(9, 9)).to(dtype)

    def double(x: torch.Tensor) -> torch.Tensor:
        return x.diagonal() + x.diagonal()

    call = mlopt.jit(double, x, target="cuda:sm_80", device="emulator")
    assert call.report.slow_paths
    torch.testing.assert_close(call(x), double(x), rtol=0, atol=0)


def test_scatters_of_unknown_sizes_are_refused() -> None:
    rows = torch.export.Dim("rows")
    with pytest.raises(
        mlopt.UnsupportedOpError,
        match=r"(?s)aten.scatter.value .*unknown sizes.*compile this part for the CPU",
    ):
        mlopt.jit(
            lambda x, index: x.scatter(0, index, 1.0),
            *(torch.randn(5, 7), torch.zeros(5, 7, dtype=torch.int64)),
            dynamic_shapes=({0: rows}, {0: rows}),
            target="cuda:sm_80",
            device="emulator",
        )
