"""Tasks in another order than their loops': each runs once, at its own place."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels
from gpu_products import product
from mlopt import emulator

RNG = np.random.default_rng(2026)
BODY = "%x: f32, %w: f32, %o: f32 { %r = arith.mulf %x, %w : f32\n linalg.yield %r : f32 }"


@pytest.mark.parametrize("shape", [(3, 37, 40), (5, 1, 7), (1, 18, 64), (2, 16, 33)])
@pytest.mark.parametrize("known", [True, False])
def test_heads_share_angles(shape: tuple[int, int, int], known: bool) -> None:
    x = RNG.standard_normal(shape).astype(np.float32)
    angles = RNG.standard_normal(shape[1:]).astype(np.float32)
    sizes = shape if known else ("?", "?", shape[2])
    kind, shared = kernels.tensor(sizes), kernels.tensor(sizes[1:])
    text = kernels.generic_kernel("turn", [kind, shared, kind], "a,b,c -> a,b,c | b,c | a,b,c", "ppp", BODY)
    kernel = gpu.compile_kernel(text, schedule="tile = array<i64: 1, 8, 0>, warps = array<i64: 2>")
    (result,) = gpu.run_kernel(kernel, [x, angles, np.zeros_like(x)])
    np.testing.assert_array_equal(result, x * angles)


SQUARES = "tile = array<i64: 16, 16, 32>, warps = array<i64: 1>, min_blocks = array<i64: 8>"


@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (7, 5), (4, 9), (9, 2)])
def test_squares_come_in_bands(rows: int, columns: int) -> None:
    """Each block runs once, at its own place; also where the last band has fewer rows."""
    m, n, k = 16 * rows - 5, 16 * columns - 3, 40
    a, b = (RNG.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    bias, out = np.zeros(n, np.float32), np.zeros((m, n), np.float32)
    kernel = gpu.compile_kernel(product(m, n, k, "f16"), schedule=f"{SQUARES}, group = array<i64: 0, 1, 4>")
    (result,) = gpu.run_kernel(kernel, [a, b, bias, out])
    np.testing.assert_allclose(result, np.maximum(a.astype(np.float32) @ b, 0), rtol=1e-3, atol=1e-3)


def test_bands_need_fewer_bytes() -> None:
    """16 blocks at once need 4 rows and 4 columns of squares in place of 1 and 16."""
    m = n = 256
    k = 64
    moved = {}
    for group in ("", ", group = array<i64: 0, 1, 4>"):
        kernel = gpu.compile_kernel(product(m, n, k, "f16"), schedule=SQUARES + group)
        arrays = [
            np.zeros(shape, kind)
            for shape, kind in (
                ((m, k), np.float16), ((k, n), np.float16), ((n,), np.float32), ((m, n), np.float32)
            )
        ]  # fmt: skip
        with emulator.record(trace=True) as reports:
            gpu.run_kernel(kernel, arrays)
        (report,) = reports
        assert report.trace is not None
        written = m * n * 4
        # Room for a wave's factors, not for the next one's.
        moved[group] = report.trace.moved(16, 16384) - written
    square = 16 * k * 2
    assert moved[""] >= 16 * 17 * square
    assert moved[", group = array<i64: 0, 1, 4>"] <= 1.1 * 16 * 8 * square
