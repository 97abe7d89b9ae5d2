"""Contractions on the emulator: matrix products in each transpose, dtype and edge, and convolutions."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from gpu_kernels import compile_kernel, run_kernel
from gpu_products import check, numbers


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (129, 100, 66), (1, 70, 33), (7, 1, 19), (5, 9, 1)])
def test_edges(m: int, n: int, k: int, rng: np.random.Generator) -> None:
    check(m, n, k, "f32", left=False, right=False, rng=rng)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_transposes(left: bool, right: bool, rng: np.random.Generator) -> None:
    check(37, 43, 21, "f32", left, right, rng)


@pytest.mark.parametrize("kind", ["f64", "f16", "i32", "i8"])
def test_dtypes(kind: str, rng: np.random.Generator) -> None:
    check(33, 65, 20, kind, left=False, right=False, rng=rng)


CONVOLUTION = """
func.func private @conv(%x: tensor<2x5x11x9xf32>, %w: tensor<5x3x3x7xf32>, %out: tensor<2x7x9x7xf32>)
    -> tensor<2x7x9x7xf32> attributes {mlopt.kernel} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<2x7x9x7xf32>) -> tensor<2x7x9x7xf32>
  %r = linalg.generic {indexing_maps = [
        affine_map<(n, o, h, w, i, a, b) -> (n, i, h + a, w + b)>,
        affine_map<(n, o, h, w, i, a, b) -> (i, a, b, o)>,
        affine_map<(n, o, h, w, i, a, b) -> (n, o, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<2x5x11x9xf32>, tensor<5x3x3x7xf32>) outs(%f : tensor<2x7x9x7xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %m = arith.mulf %p, %q : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<2x7x9x7xf32>
  return %r : tensor<2x7x9x7xf32>
}
"""


def test_convolution(rng: np.random.Generator) -> None:
    x, w = numbers(rng, (2, 5, 11, 9), "f32"), numbers(rng, (5, 3, 3, 7), "f32")
    out = np.full((2, 7, 9, 7), np.nan, np.float32)
    (found,) = run_kernel(compile_kernel(CONVOLUTION), [x, w, out])
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), axis=(2, 3))
    want = np.einsum("nihwab,iabo->nohw", windows, w)
    most = np.einsum("nihwab,iabo->nohw", np.abs(windows), np.abs(w))
    assert (np.abs(found - want) <= 47 * np.finfo(np.float32).eps * most).all()
