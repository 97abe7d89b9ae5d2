"""Triton's kernels for sm_80 compute what numpy computes, in each schedule, without findings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator.machine import SCHEDULES
from mlopt.test.python.emulator.snippets import each_schedule

FOLDER = Path(__file__).parent / "triton"
RNG = np.random.default_rng(39)


def launch(name: str, grid: tuple[int, ...], arguments: list, schedule: str = "together") -> emulator.Report:
    """Launch a kernel with the threads and the shared memory that Triton wants; findings raise."""
    text = (FOLDER / f"{name}.ptx").read_text()
    shared, threads, kernel = re.match(r"// shared (\d+), threads (\d+), from (\w+)", text).groups()
    kernels = emulator.load(text)
    extra = len(kernels.loaded.function(kernel).params) - len(arguments)  # Triton's own scratch: null here
    options = emulator.Options(schedule=schedule, seed=1)
    return kernels.launch(
        kernel, grid, int(threads), [*arguments, *[0] * extra], dynamic_smem=int(shared), options=options
    )


def bf16(values: np.ndarray) -> np.ndarray:
    """The upper halves of f32: bf16 values, in their bits."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@each_schedule
def test_softmax(schedule: str) -> None:
    x = RNG.standard_normal((5, 777)).astype(np.float32)
    y = np.empty_like(x)
    launch("softmax", (5,), [x, y, 777], schedule)
    power = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, power / power.sum(1, keepdims=True), rtol=2e-6, atol=1e-9)


@each_schedule
def test_layer_norm(schedule: str) -> None:
    x = RNG.standard_normal((4, 301)).astype(np.float16)
    weight, bias = RNG.standard_normal((2, 301)).astype(np.float32)
    y = np.empty_like(x)
    launch("layer_norm", (4,), [x, weight, bias, y, 301, 1e-5], schedule)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(y, expected, rtol=2e-3, atol=2e-3)


@each_schedule
def test_scan(schedule: str) -> None:
    x = RNG.integers(-100, 100, (3, 500)).astype(np.int32)
    y = np.empty_like(x)
    launch("scan", (3,), [x, y, 500], schedule)
    np.testing.assert_array_equal(y, np.cumsum(x, axis=1))


def test_histogram() -> None:
    x = RNG.integers(0, 40, 5000).astype(np.int32)
    counts = np.zeros(40, np.int32)
    launch("histogram", (20,), [x, counts, 5000])
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=40))


def test_transpose() -> None:
    x = RNG.standard_normal((100, 45)).astype(np.float32)
    y = np.empty((45, 100), np.float32)
    launch("transpose", (4, 2), [x, y, 100, 45])
    np.testing.assert_array_equal(y, x.T)


# name: (how operands are made, how they are read, the result's dtype, tolerance)
PRODUCTS = {
    "matmul_f16": (np.float16, np.float32, 1e-4),
    "matmul_f16_f16": (np.float16, np.float16, 6e-2),
    "matmul_bf16": ("bf16", np.float32, 1e-4),
    "matmul_tf32": (np.float32, np.float32, 2e-2),
    "matmul_i8": (np.int8, np.int32, 0),
    "matmul_f64": (np.float64, np.float64, 1e-12),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_matmul(name: str) -> None:
    dtype, result, tolerance = PRODUCTS[name]
    m, n, k = 80, 112, 96
    values = [RNG.standard_normal(shape) for shape in ((m, k), (k, n))]
    if dtype == "bf16":
        a, b = (bf16(value) for value in values)
        wide = [from_bf16(a), from_bf16(b)]
    else:
        a, b = (value.astype(dtype) if dtype != np.int8 else (40 * value).astype(dtype) for value in values)
        wide = [a.astype(np.float64), b.astype(np.float64)]
    for schedule in SCHEDULES if name == "matmul_f16" else SCHEDULES[:1]:
        c = np.zeros((m, n), result)
        report = launch(
            name, (-(-m // 32), -(-n // 32)) if "f64" in name else (2, 2), [a, b, c, m, n, k], schedule
        )
        np.testing.assert_allclose(c.astype(np.float64), wide[0] @ wide[1], rtol=tolerance, atol=tolerance)
        assert report.counters.mma > 0


@each_schedule
def test_flash_attention(schedule: str) -> None:
    heads, length, depth = 2, 100, 64
    q, k, v = RNG.standard_normal((3, heads, length, depth)).astype(np.float16)
    out = np.empty_like(q)
    launch("attention", (2, heads), [q, k, v, out, length, 0.125], schedule)
    wide_q, wide_k, wide_v = (array.astype(np.float64) for array in (q, k, v))
    score = wide_q @ wide_k.swapaxes(1, 2) * 0.125
    score = np.where(np.tril(np.ones((length, length), bool)), score, -np.inf)
    power = np.exp(score - score.max(-1, keepdims=True))
    expected = power / power.sum(-1, keepdims=True) @ wide_v
    np.testing.assert_allclose(out, expected, rtol=4e-3, atol=4e-3)
