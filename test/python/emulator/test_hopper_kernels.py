"""Products on tensor cores of sm_90, compiled by nvcc, compute what numpy computes, without findings."""

from __future__ import annotations

import numpy as np
from mlopt.runtime.emulator import formats
from mlopt.test.python.emulator.hopper import RNG, Arrays, drawn, product
from mlopt.test.python.emulator.snippets import each_schedule


def close(found: np.ndarray, left: np.ndarray, right: np.ndarray, start: np.ndarray | float = 0) -> None:
    """Whether ``found`` is ``start + left right^T``, up to 1e-5 of the sums of what is added."""
    error = np.abs(found - (start + left @ right.T))
    assert (error <= 1e-5 * (np.abs(start) + np.abs(left) @ np.abs(right).T)).all()


@each_schedule
def test_a_pipeline_of_warpgroups(schedule: str) -> None:
    # Two blocks take three tiles of 128 by 256, in five steps of 64 that go round three stages.
    m, n, k = (384, 256, 320) if schedule == "together" else (128, 256, 256)
    a, b = drawn("bf16", m, k), drawn("bf16", n, k)
    c, report = product(a, b, min(2, m // 128), schedule)
    wide = [formats.widen(each, "bf16") for each in (a, b)]
    found, exact = formats.widen(c, "bf16"), wide[0] @ wide[1].T
    # One rounding to bf16, of a sum that may differ by a part of the sum of absolute terms.
    slack = 2.0**-8 * np.abs(exact) + 1e-5 * (np.abs(wide[0]) @ np.abs(wide[1]).T)
    assert (np.abs(found - exact) <= slack).all()
    assert report.counters.flops["tensor"] == 2 * m * n * k
    assert all(line.conflicts == 0 for line in report.counters.lines if line.text.startswith("stmatrix"))


@each_schedule
def test_a_cluster_shares_one_operand(schedule: str) -> None:
    m, n, k = 256, 256 if schedule == "together" else 128, 256
    a, b = drawn("bf16", m, k), drawn("bf16", n, k)
    c, arrays = np.zeros((m, n), np.float32), Arrays()
    maps = [arrays.map("bf16", *pair) for pair in ((a, 128), (b, 64))]
    there = arrays.put(c)
    shared = 3 * 256 * 128 + 48
    grid = (m // 128, n // 128)
    report = arrays.launch(
        "gemm_of_two", grid, 288, [*maps, there, n, k // 64], schedule, dynamic_smem=shared
    )
    arrays.device.read(int(there), c)
    close(c, formats.widen(a, "bf16"), formats.widen(b, "bf16"))
    loads = [line for line in report.counters.lines if "multicast" in line.text]
    assert sum(line.sectors for line in loads) * 32 == m // 256 * n * k * 2


@each_schedule
def test_eight_bits(schedule: str) -> None:
    m, n, k = 64, 128, 384
    a, b = drawn("e4m3", m, k), drawn("e5m2", n, k)
    c, arrays = np.zeros((m, n), np.float32), Arrays()
    maps = [arrays.map("u8", *pair) for pair in ((a, 64), (b, 128))]
    there = arrays.put(c)
    shared = 2 * 192 * 128 + 16
    arrays.launch(
        "gemm_fp8", (m // 64, n // 128), 128, [*maps, there, n, k // 128], schedule, dynamic_smem=shared
    )
    arrays.device.read(int(there), c)
    close(c, formats.widen(a, "e4m3"), formats.widen(b, "e5m2"))


@each_schedule
def test_registers_and_turned_operands(schedule: str) -> None:
    m, n = 128, 64
    a, b = RNG.standard_normal((m, 64)).astype(np.float16), RNG.standard_normal((64, n)).astype(np.float16)
    c, arrays = RNG.standard_normal((m, n)).astype(np.float16), Arrays()
    maps = [arrays.map("f16", *pair) for pair in ((a, 64), (b, 64))]
    there, before = arrays.put(c), c.astype(np.float64)
    arrays.launch("gemm_turned", (m // 64, n // 64), 128, [*maps, there, n], schedule)
    arrays.device.read(int(there), c)
    wide = a.astype(np.float64), b.astype(np.float64)
    sums = np.abs(before) + np.abs(wide[0]) @ np.abs(wide[1])
    assert (np.abs(c - (before - wide[0] @ wide[1])) <= 4 * 2.0**-11 * sums).all()
