"""Tasks in another order than their loops': each runs once, at its own place."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels

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
