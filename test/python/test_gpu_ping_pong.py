"""Warpgroups that take turns with a block's tiles (ping-pong): right, and as fast as they can be, without a GPU."""

# ruff: noqa: E501 (tables of cases)

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.cuda.chips import find_chip

sys.path.insert(0, str(Path(__file__).parent))
import test_gpu_persistent as persistent
import test_gpu_tma_stores as stores
from gpu_kernels import compile_kernel, run_kernel
from gpu_numbers import to_bf16, wide
from gpu_products import DTYPES, drawn, product

CHIP = find_chip("sm_90a")
ALL = persistent.ALL
BLOCK = (
    "beyond = array<i64: 1>, ping_pong = array<i64: 2>, warps = array<i64: 4>, min_blocks = array<i64: 1>, "
    "stages = array<i64: {}>, tile = array<i64: {}>"
)
ALONE = BLOCK.replace("ping_pong = array<i64: 2>, ", "")

# Types, sizes (not the block's multiples; two and three steps, and an odd number of tiles), whether columns lie along
# memory, blocks of the launch, whether in pairs: two blocks make five tiles each, or one three and the other one two.
HALVES = [
    ("bf16", (136, 264, 136), False, BLOCK.format(3, "64, 64, 64"), 3, False),
    ("f16", (264, 136, 72), False, BLOCK.format(4, "64, 64, 32"), 2, False),
    ("bf16", (200, 40, 264), False, BLOCK.format(2, "64, 32, 32"), 3, False),
    ("bf16", (136, 200, 104), True, BLOCK.format(3, "64, 64, 32"), 5, False),
    ("f16", (248, 200, 168), False, BLOCK.format(3, "64, 64, 64"), 4, True),
]


@pytest.mark.parametrize(("kind", "size", "turned", "schedule", "blocks", "pairs"), HALVES)
def test_results_by_boxes(
    kind: str,
    size: tuple[int, int, int],
    turned: bool,
    schedule: str,
    blocks: int,
    pairs: bool,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a block for each tile makes, to the bit, under each order of warps; the twin has those."""
    text = stores.text(size, kind, turned)
    arguments, want, bound = stores.arguments_of(size, kind, turned, rng)
    plain = run_kernel(compile_kernel(text, chip=CHIP.name, schedule=schedule), arguments)[0]
    assert (np.abs(wide(plain) - want) <= bound).all()
    persistent.blocks_are(blocks, monkeypatch, pairs)
    kernel = compile_kernel(text, chip=CHIP.name, schedule=schedule)
    assert ("multicast" in kernel.ptx) == pairs
    with emulator.record() as reports:
        for order in ALL:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule=order, seed=7))
            assert np.array_equal(found, plain), order
        (twin,) = run_kernel(kernel, arguments, shift=4)
    assert np.array_equal(twin, plain)
    threads = {name: (grid, block) for name, grid, block, _ in kernel.launches}
    assert threads["product"] == (blocks, 2 * 128 + 32)
    assert threads["product_unaligned"][1] == 128
    assert not [finding for report in reports for finding in report.findings]
    counters = reports[0].counters
    assert counters is not None and counters.bank_conflicts == 0
    persistent._check_code(kernel)


# Types, transposes, sizes, blocks, those of the launch, whether in pairs: results of 4 bytes, which threads store.
FACTORS = [
    ("bf16", True, False, (136, 136, 104), BLOCK.format(3, "64, 64, 32"), 4, False),
    ("f16", True, True, (72, 200, 296), BLOCK.format(4, "64, 32, 32"), 3, False),
    ("i8", False, True, (200, 144, 144), BLOCK.format(4, "64, 64, 128"), 3, False),
    ("e4m3", False, True, (264, 144, 400), BLOCK.format(3, "64, 128, 128"), 4, False),
    ("bf16", False, False, (248, 264, 136), BLOCK.format(3, "64, 128, 64"), 2, True),
]


@pytest.mark.parametrize(("kind", "left", "right", "size", "schedule", "blocks", "pairs"), FACTORS)
def test_products(
    kind: str,
    left: bool,
    right: bool,
    size: tuple[int, int, int],
    schedule: str,
    blocks: int,
    pairs: bool,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under each order of warps, without a finding."""
    persistent.blocks_are(blocks, monkeypatch, pairs)
    kernel = compile_kernel(product(*size, kind, left, right), chip=CHIP.name, schedule=schedule)
    arguments, want, bound = drawn(size, kind, left, right, rng)
    with emulator.record() as reports:
        for order in ALL:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule=order, seed=5))
            assert (np.abs(found - want) <= bound).all(), order
    copying = 128 if kind == "e4m3" else 32  # a step's sums take registers, too
    assert {(grid, block) for _, grid, block, _ in kernel.launches} == {(blocks, 2 * 128 + copying)}
    assert not [finding for report in reports for finding in report.findings]
    persistent._check_code(kernel)


@pytest.mark.parametrize(
    ("size", "schedule", "blocks"),
    [
        ((248, 136, 136), BLOCK.format(3, "64, 64, 64"), 4),
        ((192, 512, 72), BLOCK.format(3, "64, 256, 64"), 2),
    ],
)
def test_gelu_and_residual(
    size: tuple[int, int, int],
    schedule: str,
    blocks: int,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is read behind the product changes hands within its warpgroup."""
    m, n, _ = size
    text = persistent.gelu_and_residual(size)
    (a, b, bias, _), _, bound = drawn(size, "bf16", False, True, rng)
    residual = to_bf16(rng.standard_normal((m, n)))
    exact = wide(a).astype(np.float64) @ wide(b).astype(np.float64).T + bias
    total = exact * 0.5 * (1 + np.vectorize(math.erf)(exact * np.sqrt(0.5))) + wide(residual)
    persistent.blocks_are(blocks, monkeypatch)
    kernel = compile_kernel(text, chip=CHIP.name, schedule=schedule)
    arguments = [a, b, bias, residual, np.zeros((m, n), DTYPES["bf16"])]
    with emulator.record() as reports:
        for order in ALL:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule=order, seed=3))
            bounds = 2 * bound + np.abs(total) * 2.0**-8 + 2.0**-8
            assert (np.abs(wide(found) - total) <= bounds).all(), order
    assert not [finding for report in reports for finding in report.findings]
    assert kernel.launches[0][1:3] in ((blocks, 2 * 128 + 32), (blocks, 2 * 128 + 128))
    persistent._check_code(kernel)


def test_sizes_are_known_at_the_call(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel for fewer tiles than blocks, as many, and more."""
    persistent.blocks_are(4, monkeypatch)
    text = stores.text((0, 0, 72), "f16", dynamic=True)
    kernel = compile_kernel(text, chip=CHIP.name, schedule=BLOCK.format(3, "64, 64, 32"))
    for m, n, tiles in ((40, 72, 2), (128, 120, 4), (200, 136, 12), (72, 392, 14)):
        arguments, want, bound = stores.arguments_of((m, n, 72), "f16", False, rng)
        kernel.launches.clear()
        with emulator.record() as reports:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule="random", seed=1))
        assert (np.abs(wide(found) - want) <= bound).all()
        assert kernel.launches[0][1:3] == (min(tiles, 4), 2 * 128 + 32)
        assert not reports[0].findings


def test_as_many_bytes_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """From memory and back, as of blocks that make the same tiles one by one."""
    size = m, n, k = 512, 512, 128
    arrays = [np.zeros(shape, np.float16) for shape in ((m, k), (n, k), (m, n))]
    arrays.insert(2, np.zeros(n, np.float32))
    moved = []
    for blocks, block in ((1 << 20, ALONE), (16, ALONE), (16, BLOCK)):
        persistent.blocks_are(blocks, monkeypatch)
        kernel = compile_kernel(
            stores.text(size, "f16"), chip=CHIP.name, schedule=block.format(2, "64, 64, 64")
        )
        with emulator.record(trace=True) as reports:
            run_kernel(kernel, arrays)
        assert reports[0].trace is not None
        moved.append(reports[0].trace.moved(16, 163840))
    plain, alone, turns = moved
    assert turns <= 1.01 * alone and turns <= 1.01 * plain


@pytest.mark.parametrize(
    ("text", "tile"),
    [
        (persistent.gelu_and_residual((4096, 4096, 512)), "128, 128, 32"),
        (stores.text((4096, 4096, 128), "f16"), "64, 256, 32"),
    ],
    ids=["residual", "short"],
)
def test_large_products(text: str, tile: str) -> None:
    """What the schedule has for products of little depth: nothing spilled, and no more registers than otherwise."""
    kernel = compile_kernel(text, chip=CHIP.name)
    assert "ping_pong = array<i64: 2>" in kernel.tile
    assert f"tile = array<i64: {tile}>" in kernel.tile
    assert "arith.constant 132 : i" in kernel.threads
    assert persistent._check_code(kernel)["product"] == 168
