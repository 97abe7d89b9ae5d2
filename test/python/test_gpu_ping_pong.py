"""Warpgroups that take turns with a block's tiles (ping-pong): right, and as fast as they can be, without a GPU."""

# ruff: noqa: E501 (tables of cases)

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator

sys.path.insert(0, str(Path(__file__).parent))
import test_gpu_tma_stores as stores
from gpu_kernels import compile_kernel, run_kernel
from gpu_numbers import wide
from gpu_persistent import (
    ALL,
    CHIP,
    Gelu,
    blocks_are,
    check_code,
    check_dynamic_sizes,
    check_products,
    check_results_by_boxes,
    gelu_and_residual,
)

BLOCK = (
    "beyond = array<i64: 1>, ping_pong = array<i64: 2>, warps = array<i64: 4>, min_blocks = array<i64: 1>, "
    "stages = array<i64: {}>, tile = array<i64: {}>"
)
ALONE = BLOCK.replace("ping_pong = array<i64: 2>, ", "")

# Types, sizes (not the block's multiples; two and three steps, and an odd number of tiles), whether columns lie along
# memory, blocks of the launch, whether in pairs: of two blocks one makes five tiles, or three, and the other one less.
HALVES = [
    ("bf16", (136, 136, 136), False, BLOCK.format(3, "64, 64, 64"), 2, False),
    ("f16", (136, 136, 72), False, BLOCK.format(4, "64, 64, 32"), 2, False),
    ("bf16", (200, 40, 136), False, BLOCK.format(2, "64, 32, 32"), 3, False),
    ("bf16", (136, 136, 104), True, BLOCK.format(3, "64, 64, 32"), 4, False),
    ("f16", (120, 328, 168), False, BLOCK.format(3, "64, 64, 64"), 4, True),
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
    launches = check_results_by_boxes(kind, size, turned, schedule, blocks, pairs, ALL, rng, monkeypatch)
    assert launches["product"] == (blocks, 2 * 128 + 32)
    assert launches["product_unaligned"][1] == 128


# Types, transposes, sizes, blocks, those of the launch, whether in pairs: results of 4 bytes, which threads store.
FACTORS = [
    ("bf16", True, False, (136, 136, 104), BLOCK.format(3, "64, 64, 32"), 4, False),
    ("f16", True, True, (72, 136, 168), BLOCK.format(4, "64, 32, 32"), 2, False),
    ("i8", False, True, (136, 144, 144), BLOCK.format(4, "64, 64, 128"), 2, False),
    ("e4m3", False, True, (136, 144, 272), BLOCK.format(3, "64, 128, 128"), 2, False),
    ("bf16", False, False, (120, 392, 136), BLOCK.format(3, "64, 128, 64"), 2, True),
    ("tf32", False, True, (72, 72, 36), "tf32 = array<i64: 1>, " + BLOCK.format(3, "64, 64, 32"), 1, False),
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
    launches = check_products(kind, left, right, size, schedule, blocks, pairs, rng, monkeypatch)
    copying = 128 if kind == "e4m3" else 32  # a step's sums take registers, too
    assert launches == {(blocks, 2 * 128 + copying)}


@pytest.mark.parametrize(
    ("size", "schedule", "blocks"),
    [
        ((136, 72, 136), BLOCK.format(3, "64, 64, 64"), 2),
        ((192, 256, 72), BLOCK.format(3, "64, 256, 64"), 1),
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
    drawn = Gelu.drawn(size, rng)
    blocks_are(blocks, monkeypatch)
    kernel = compile_kernel(gelu_and_residual(size), chip=CHIP.name, schedule=schedule)
    with emulator.record() as reports:
        for order in ALL:
            options = emulator.Options(schedule=order, seed=3)
            (found,) = run_kernel(kernel, drawn.arguments, options=options)
            assert (np.abs(wide(found) - drawn.total) <= drawn.bound).all(), order
    assert not [finding for report in reports for finding in report.findings]
    assert kernel.launches[0][1:3] in ((blocks, 2 * 128 + 32), (blocks, 2 * 128 + 128))
    check_code(kernel)


def test_sizes_are_known_at_the_call(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel for fewer tiles than blocks, as many, and more."""
    assert check_dynamic_sizes(BLOCK.format(3, "64, 64, 32"), rng, monkeypatch) == {2 * 128 + 32}


def test_as_many_bytes_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """From memory and back, as of blocks that make the same tiles one by one."""
    size = m, n, k = 512, 512, 128
    arrays = [np.zeros(shape, np.float16) for shape in ((m, k), (n, k), (m, n))]
    arrays.insert(2, np.zeros(n, np.float32))
    moved = []
    for blocks, block in ((1 << 20, ALONE), (16, ALONE), (16, BLOCK)):
        blocks_are(blocks, monkeypatch)
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
        (gelu_and_residual((4096, 4096, 512)), "128, 128, 32"),
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
    assert check_code(kernel)["product"] == 168
