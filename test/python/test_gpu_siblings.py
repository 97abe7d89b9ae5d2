"""Two products of one factor in a kernel, as of gated units: one loop and a warp that copies for both."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.passes.gpu.keep_rows import KeepRows
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptxas import assemble, find_ptxas

sys.path.insert(0, str(Path(__file__).parent))
from gpu_kernels import compile_kernel, run_kernel
from gpu_products import numbers, wide

CHIP = find_chip("sm_90a")
PRODUCT = """
  %{name} = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                              affine_map<(m, n, k) -> (m, n)>],
                            iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %{factor} : tensor<{m}x{k}x{kind}>, tensor<{n}x{k}x{kind}>) outs(%f : tensor<{m}x{n}xf32>) {{
  ^bb0(%a: {kind}, %b: {kind}, %s: f32):
    %c = arith.extf %a : {kind} to f32
    %d = arith.extf %b : {kind} to f32
    %p = arith.mulf %c, %d : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{n}xf32>
"""
KERNEL = """
func.func private @gated(%x: tensor<{m}x{k}x{kind}>, %w: tensor<{n}x{k}x{kind}>, %v: tensor<{n}x{k}x{kind}>,
                         %out: tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32> attributes {{mlopt.kernel}} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
{products}
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
      ins(%one, %other : tensor<{m}x{n}xf32>, tensor<{m}x{n}xf32>) outs(%out : tensor<{m}x{n}xf32>) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  }} -> tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}
"""
BLOCK = (
    "beyond = array<i64: 1>, warps = array<i64: 4>, min_blocks = array<i64: 1>, stages = array<i64: {}>, "
    "tile = array<i64: 64, {}, 64>"
)


@pytest.mark.parametrize(
    ("kind", "size", "stages", "columns", "order"),
    [("bf16", (72, 72, 200), 3, 64, "random"), ("f16", (72, 40, 136), 2, 32, "round-robin")],
)
def test_gated(
    kind: str,
    size: tuple[int, int, int],
    stages: int,
    columns: int,
    order: str,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where rows are too long for a block to keep them for the second product."""
    monkeypatch.setattr(KeepRows, "run", lambda *_: None)
    m, n, k = size
    words = {"m": m, "n": n, "k": k, "kind": kind}
    names = (("one", "w"), ("other", "v"))
    products = "".join(PRODUCT.format(name=name, factor=factor, **words) for name, factor in names)
    text = KERNEL.format(products=products, **words)
    kernel = compile_kernel(text, chip=CHIP.name, schedule=BLOCK.format(stages, columns))
    assert ".maxntid 160" in kernel.ptx and "mma.sync" not in kernel.ptx
    x, w, v = (numbers(rng, (rows, k), kind) for rows in (m, n, n))
    out = np.full((m, n), 77, np.float32)
    with emulator.record() as reports:
        (found,) = run_kernel(kernel, [x, w, v, out], options=emulator.Options(schedule=order, seed=5))
    one, a, b = (wide(each).astype(np.float64) for each in (x, w, v))
    left, right = one @ a.T, one @ b.T
    eps = (k + 2) * np.finfo(np.float32).eps
    bound = eps * (np.abs(one) @ np.abs(a).T * np.abs(right) + np.abs(one) @ np.abs(b).T * np.abs(left))
    assert (np.abs(found - left * right) <= 2 * bound + 1e-6).all()
    # Boxes, each once for a block: that of x is not brought for both products.
    blocks, steps = -(-m // 64) * -(-n // columns), -(-k // 64)
    assert reports[0].counters.l2_bytes <= blocks * steps * (64 + 2 * columns) * 64 * 2 + 2 * out.nbytes
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    assembled = assemble(kernel.ptx, CHIP, ptxas)
    assert not assembled.warnings
    assert all(made.spill_stores == made.stack == 0 for made in assembled.kernels.values())
