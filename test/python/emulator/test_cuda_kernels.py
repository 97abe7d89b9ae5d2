"""CUDA kernels, compiled by nvcc, compute what numpy computes, in each schedule, without findings."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator.snippets import each_schedule

FOLDER = Path(__file__).parent / "cuda"
RNG = np.random.default_rng(13)


@cache
def loaded(name: str) -> emulator.Kernels:
    return emulator.load((FOLDER / f"{name}.ptx").read_text())


def launch(file: str, kernel: str, grid, block, arguments, schedule="together", **more) -> emulator.Report:
    options = emulator.Options(schedule=schedule, seed=3)
    return loaded(file).launch(kernel, grid, block, arguments, options=options, **more)


@each_schedule
def test_sum(schedule: str) -> None:
    x = RNG.standard_normal(3001).astype(np.float32)
    out = np.zeros(1, np.float32)
    launch("reductions", "sum", 4, 128, [x, out, x.size], schedule)
    np.testing.assert_allclose(out[0], x.astype(np.float64).sum(), rtol=1e-5, atol=1e-4)


@each_schedule
def test_scan(schedule: str) -> None:
    x = RNG.integers(-50, 50, (3, 200)).astype(np.int32)
    y = np.empty_like(x)
    launch("reductions", "scan", 3, 256, [x, y, 200], schedule, dynamic_smem=2 * 256 * 4)
    np.testing.assert_array_equal(y, np.cumsum(x, 1))


@each_schedule
def test_softmax(schedule: str) -> None:
    x = RNG.standard_normal((3, 500)).astype(np.float32)
    y = np.empty_like(x)
    launch("reductions", "softmax", 3, 128, [x, y, 500], schedule)
    power = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, power / power.sum(1, keepdims=True), rtol=2e-6)


@each_schedule
def test_layer_norm(schedule: str) -> None:
    x = RNG.standard_normal((6, 77)).astype(np.float16)
    weight, bias = RNG.standard_normal((2, 77)).astype(np.float32)
    y = np.empty_like(x)
    launch("reductions", "layer_norm", 2, 128, [x, weight, bias, y, 6, 77], schedule)
    wide = x.astype(np.float64)
    scale = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    expected = (wide - wide.mean(1, keepdims=True)) * scale * weight + bias
    np.testing.assert_allclose(y, expected, rtol=2e-3, atol=1e-3)


@each_schedule
def test_compact(schedule: str) -> None:
    x = RNG.integers(-50, 50, 300).astype(np.int32)
    y, count = np.zeros_like(x), np.zeros(1, np.int32)
    launch("reductions", "compact", 3, 128, [x, y, count, 300], schedule)
    kept = x[x > 0]
    assert count[0] == kept.size
    np.testing.assert_array_equal(np.sort(y[: kept.size]), np.sort(kept))


@each_schedule
def test_votes(schedule: str) -> None:
    x = RNG.integers(0, 100, 96).astype(np.int32)
    out = np.zeros((6, 96), np.int32)
    launch("reductions", "votes", 1, 96, [x, out], schedule)
    assert (out[0] == (x & 1).sum()).all()
    assert (out[1] == 2 + int((x > 90).any())).all()
    for warp in range(3):
        mine = x[32 * warp : 32 * warp + 32]
        same = [sum(1 << j for j in range(32) if mine[j] % 4 == v % 4) for v in mine]
        part = slice(32 * warp, 32 * warp + 32)
        np.testing.assert_array_equal(out[2, part].view(np.uint32), np.array(same, np.uint32))
        assert (out[3, part] == mine.sum()).all()
        assert (out[4, part] == mine.max()).all()
        odd = sum(1 << j for j in range(32) if mine[j] % 2)
        assert (out[5, part].view(np.uint32)[mine % 2 == 1] == odd).all()


@pytest.mark.parametrize("kernel", ["transpose_conflicts", "transpose_padded"])
def test_transpose(kernel: str) -> None:
    x = RNG.standard_normal((70, 96)).astype(np.float32)
    y = np.empty((96, 70), np.float32)
    report = launch("memory", kernel, (3, 3), (32, 32), [x, y, 70, 96])
    np.testing.assert_array_equal(y, x.T)
    if kernel == "transpose_padded":
        assert report.counters.bank_conflicts == 0
    else:
        # A warp's column is in one bank: 32 passes for one, less where the tile is cut to 6 rows.
        reads = next(line for line in report.counters.lines if line.text.startswith("ld.shared"))
        assert reads.requests == 3 * 32 * 3
        assert reads.wavefronts == 3 * 32 * (32 + 32 + 6)


@each_schedule
def test_histogram(schedule: str) -> None:
    x = RNG.integers(0, 1000, 2000).astype(np.int32)
    counts = np.zeros(64, np.int32)
    launch("memory", "histogram", 3, 64, [x, counts, x.size], schedule)
    np.testing.assert_array_equal(counts, np.bincount(x & 63, minlength=64))


def test_local_and_constant_memory() -> None:
    primes = [2, 3, 5, 7, 11, 13, 17, 19]
    x = RNG.integers(0, 100, 64).astype(np.int32)
    y = np.empty_like(x)
    launch("memory", "local_array", 1, 64, [x, y, 40])
    for t in range(64):
        own = {(i * 5 + t) & 15: int(x[t]) * primes[i & 7] for i in range(16)}
        assert y[t] == sum(own[int(x[i]) & 15] for i in range(40))


def test_recursion() -> None:
    y = np.zeros(65, np.int32)
    launch("memory", "recursion", 1, 64, [y])
    assert y[:8].tolist() == [0, 1, 1, 2, 3, 5, 8, 13]
    assert y[64] == 64


def test_calls_through_pointers() -> None:
    x = RNG.integers(0, 1000, 64).astype(np.int32)
    y = np.empty_like(x)
    launch("memory", "pointers", 1, 64, [x, y])
    np.testing.assert_array_equal(y, np.choose(x % 3, [2 * x, x * x, -x]))


def test_switch() -> None:
    x = RNG.integers(0, 9, 64).astype(np.int32)
    y = np.empty_like(x)
    launch("memory", "switches", 1, 64, [x, y])
    t = np.arange(64)
    cases = [17 + 0 * t, t, x[t ^ 1], 3 - t, t // 5, t % 5, ~t, -1 + 0 * t, -1 + 0 * t]
    np.testing.assert_array_equal(y, np.choose(x, cases))


@each_schedule
def test_a_lock(schedule: str) -> None:
    lock, counter = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch("memory", "spin", 2, 64, [lock, counter], schedule)
    assert counter[0] == 128


def test_doubles() -> None:
    x = RNG.standard_normal(500) * 30
    y = np.empty((8, 500))
    launch("memory", "doubles", 4, 128, [x, y, 500])
    fused = [float(math.fsum([v * v, -1.0])) for v in x]
    erf = [math.erf(v / 16) for v in x]
    expected = [np.sin(x), np.exp(x / 64), fused, np.log(abs(x)), np.tanh(x / 8), abs(x) ** 0.3]
    expected += [np.trunc(x * 1e6) / 7.0, erf]
    for row, wanted in zip(y, expected, strict=True):
        np.testing.assert_allclose(row, wanted, rtol=3e-15, atol=1e-15)


def test_integers() -> None:
    x = RNG.integers(-(2**62), 2**62, 256)
    z = RNG.integers(-(2**40), 2**40, 256) | 1
    x[:4], z[:4] = [-(2**63), 2**63 - 1, -1, 7], [3, -5, 2**31, -7]
    y = np.empty((8, 256), np.int64)
    launch("memory", "integers", 2, 128, [x, z, y, 256])
    u32, u64 = 2**32 - 1, 2**64 - 1
    for i in range(256):
        a, b = int(x[i]), int(z[i])
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        ua, ub = a & u32, b & u32
        pair = (ub << 32 | ua) << 13
        picked = ua.to_bytes(4, "little") + ub.to_bytes(4, "little")
        permuted = int.from_bytes(bytes(picked[k] for k in (0, 4, 2, 6)), "little")
        short = (a + 2**15) % 2**16 - 2**15
        char = (b + 2**7) % 2**8 - 2**7
        expected = [
            quotient,
            a - quotient * b,
            a * b >> 64,
            ua // (ub | 1),
            64 - (a & u64).bit_length() + 100 * (a & u64).bit_count() + 10000 * ((a & -a).bit_length()),
            int(f"{a & u64:064b}"[::-1], 2),
            (ua * ub >> 32) + short * char,
            (pair >> 32 & u32) ^ permuted,
        ]
        found = [int(value) & u64 for value in y[:, i]]
        assert found == [value & u64 for value in expected], i


@pytest.mark.parametrize("schedule", ["together", "random"])
def test_gemm(schedule: str) -> None:
    m, n, k = 128, 256, 96
    a, b = RNG.standard_normal((m, k)).astype(np.float16), RNG.standard_normal((k, n)).astype(np.float16)
    c = np.empty((m, n), np.float32)
    report = launch("gemm", "gemm", (2, 1), 256, [a, b, c, m, n, k], schedule)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-4)
    counters = report.counters
    assert counters.mma == m * n * k // (16 * 8 * 16)
    assert counters.flops["tensor"] == 2 * m * n * k
    assert counters.bytes["global"] == 2 * (m * k * 2 + k * n) + 4 * m * n


@each_schedule
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_pipelines(steps: int, schedule: str) -> None:
    # Of five steps, three go through the first of two stages: its phases have the parities 0, 1 and 0.
    x = RNG.standard_normal((steps, 256)).astype(np.float32)
    out = np.empty(64, np.float32)
    launch("pipeline", "pipeline", 1, 128, [x, out, steps], schedule)
    expected = (x.reshape(steps, 4, 64) * np.arange(1, 5)[None, :, None]).sum((0, 1))
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    small = np.ascontiguousarray(x[:, :64])
    launch("pipeline", "named", 1, 128, [small, out, steps], schedule)
    np.testing.assert_allclose(out, small.sum(0)[::-1], rtol=1e-5, atol=1e-5)


def test_printf() -> None:
    x = np.arange(8, dtype=np.int32)
    y = np.empty_like(x)
    report = launch("memory", "prints", 1, 8, [x, y])
    assert report.printed == [f"thread {t} has {t / 8:5.2f}% of it, 1000000000{t}\n" for t in (6, 7)]
    assert y.tolist() == [0] * 6 + [4] * 2


def test_assert() -> None:
    with pytest.raises(
        emulator.KernelError, match=r"assertion .x\[threadIdx.x\] > 0. failed at memory\.cu:"
    ) as caught:
        launch("memory", "asserts", 1, 32, [np.arange(32, dtype=np.int32)])
    assert caught.value.findings[0].count == 1
