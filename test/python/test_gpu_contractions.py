"""Contractions on the emulator: matrix products in each transpose, dtype and edge, and convolutions."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import numpy as np
import pytest
from mlopt.test.python.gpu_kernels import compile_kernel, run_kernel


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng()


RELU = """
  %q = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
      ins(%r, %bias : tensor<{m}x{n}x{acc}>, tensor<{n}x{acc}>) outs(%out : tensor<{m}x{n}x{acc}>) {{
  ^bb0(%x: {acc}, %y: {acc}, %s: {acc}):
    %p = {add} %x, %y : {acc}
    %t = {most} %p, %zero : {acc}
    linalg.yield %t : {acc}
  }} -> tensor<{m}x{n}x{acc}>
"""

PRODUCT = """
func.func private @product(%a: tensor<{a}x{kind}>, %b: tensor<{b}x{kind}>, %bias: tensor<{n}x{acc}>,
                           %out: tensor<{m}x{n}x{acc}>) -> tensor<{m}x{n}x{acc}> attributes {{mlopt.kernel}} {{
  %zero = arith.constant {zero} : {acc}
  %e = tensor.empty() : tensor<{m}x{n}x{acc}>
  %f = linalg.fill ins(%zero : {acc}) outs(%e : tensor<{m}x{n}x{acc}>) -> tensor<{m}x{n}x{acc}>
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> ({at})>, affine_map<(m, n, k) -> ({bt})>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{a}x{kind}>, tensor<{b}x{kind}>) outs(%f : tensor<{m}x{n}x{acc}>) {{
  ^bb0(%x: {kind}, %y: {kind}, %s: {acc}):
    {widen}
    %p = {mul} {operands} : {acc}
    %t = {add} %s, %p : {acc}
    linalg.yield %t : {acc}
  }} -> tensor<{m}x{n}x{acc}>
{relu}
  return %q : tensor<{m}x{n}x{acc}>
}}
"""

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "i8": np.int8}
WIDE = {"f16": "f32", "i8": "i32"}


def product(m: int, n: int, k: int, kind: str = "f32", left: bool = False, right: bool = False) -> str:
    """``relu(a @ b + bias)``; ``left`` and ``right`` say which factor is transposed in memory."""
    acc = WIDE.get(kind, kind)
    floating = acc.startswith("f")
    cast = "arith.extf" if floating else "arith.extsi"
    words = {
        "m": m, "n": n, "kind": kind, "acc": acc,
        "a": f"{k}x{m}" if left else f"{m}x{k}", "at": "k, m" if left else "m, k",
        "b": f"{n}x{k}" if right else f"{k}x{n}", "bt": "n, k" if right else "k, n",
        "zero": "0.0" if floating else "0",
        "mul": "arith.mulf" if floating else "arith.muli", "add": "arith.addf" if floating else "arith.addi",
        "most": "arith.maximumf" if floating else "arith.maxsi",
        "widen": "" if acc == kind else
            f"%xw = {cast} %x : {kind} to {acc}\n    %yw = {cast} %y : {kind} to {acc}",
        "operands": "%x, %y" if acc == kind else "%xw, %yw",
    }  # fmt: skip
    return PRODUCT.format(relu=RELU.format(**words), **words)


def numbers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    if kind.startswith("i"):
        return rng.integers(-9, 9, shape).astype(DTYPES[kind])
    return rng.standard_normal(shape).astype(DTYPES[kind])


def check(m: int, n: int, k: int, kind: str, left: bool, right: bool, rng: np.random.Generator) -> None:
    a = numbers(rng, (k, m) if left else (m, k), kind)
    b = numbers(rng, (n, k) if right else (k, n), kind)
    acc = WIDE.get(kind, kind)
    bias = numbers(rng, (n,), acc)
    out = np.full((m, n), 77, DTYPES[acc])
    (found,) = run_kernel(compile_kernel(product(m, n, k, kind, left, right)), [a, b, bias, out])
    wide = np.int64 if kind.startswith("i") else np.float64
    one, other = (a.T if left else a).astype(wide), (b.T if right else b).astype(wide)
    want = np.maximum(one @ other + bias, 0)
    if wide is np.int64:
        np.testing.assert_array_equal(found, want)
        return
    # (k + 2) roundings, each within half an ulp of the sum of the terms' absolute values.
    bound = (k + 2) * np.finfo(DTYPES[acc]).eps * (np.abs(one) @ np.abs(other) + np.abs(bias))
    assert (np.abs(found - want) <= bound).all()


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
