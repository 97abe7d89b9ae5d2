"""Blocks that make tile after tile (a persistent grid): right, and as fast as they can be, without a GPU."""

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
    ONE,
    Gelu,
    blocks_are,
    check_code,
    check_dynamic_sizes,
    check_products,
    check_results_by_boxes,
    gelu_and_residual,
)
from gpu_products import product

BLOCK = (
    "beyond = array<i64: 1>, warps = array<i64: {}>, min_blocks = array<i64: 1>, stages = array<i64: {}>, "
    "tile = array<i64: {}>"
)

# Types, sizes (not the block's multiples), whether columns lie along memory, blocks of the launch, orders of warps.
# Four stages of 128x256 leave room for half of a tile, which is stored in two parts; two stages free their own slot.
HALVES = [
    ("bf16", (136, 264, 136), False, BLOCK.format(8, 4, "128, 256, 64"), 2, ALL),
    ("f16", (136, 136, 72), False, BLOCK.format(4, 4, "64, 64, 64"), 3, ALL),
    ("bf16", (200, 40, 136), False, BLOCK.format(4, 2, "64, 32, 32"), 3, ALL),
    ("f16", (72, 264, 104), False, BLOCK.format(8, 3, "64, 256, 64"), 3, ("ahead",)),
    ("bf16", (136, 136, 104), True, BLOCK.format(4, 3, "64, 64, 32"), 4, ALL),
    ("f16", (136, 136, 72), True, BLOCK.format(8, 4, "64, 128, 64"), 2, ONE),
]


@pytest.mark.parametrize(("kind", "size", "turned", "schedule", "blocks", "orders"), HALVES)
def test_results_by_boxes(
    kind: str,
    size: tuple[int, int, int],
    turned: bool,
    schedule: str,
    blocks: int,
    orders: tuple[str, ...],
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a block for each tile makes, to the bit; the twin has those."""
    launches = check_results_by_boxes(kind, size, turned, schedule, blocks, False, orders, rng, monkeypatch)
    assert launches["product"][0] == blocks < launches["product_unaligned"][0]


# Types, transposes, sizes, blocks, those of the launch, whether in pairs: results of 4 bytes, which threads store.
FACTORS = [
    ("bf16", True, False, (136, 136, 104), BLOCK.format(4, 3, "64, 64, 32"), 4, False),
    ("f16", True, True, (72, 136, 168), BLOCK.format(4, 4, "64, 32, 32"), 4, False),
    ("i8", False, True, (136, 144, 144), BLOCK.format(4, 4, "64, 128, 128"), 2, False),
    ("e4m3", False, True, (136, 144, 272), BLOCK.format(8, 3, "128, 128, 128"), 2, False),
    ("e5m2", False, True, (136, 40, 272), BLOCK.format(4, 4, "64, 32, 64"), 5, False),
    ("f16", False, True, (120, 136, 72), BLOCK.format(4, 4, "64, 32, 32"), 4, True),
    ("bf16", False, False, (120, 264, 136), BLOCK.format(4, 3, "64, 128, 64"), 4, True),
    ("i8", False, True, (120, 144, 272), BLOCK.format(4, 3, "64, 128, 128"), 2, True),
    (
        "tf32",
        False,
        True,
        (72, 136, 36),
        "tf32 = array<i64: 1>, " + BLOCK.format(4, 3, "64, 64, 32"),
        4,
        True,
    ),
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
    assert {grid for grid, _ in launches} == {blocks}


@pytest.mark.parametrize(
    ("size", "schedule", "blocks", "pairs"),
    [
        ((120, 200, 136), BLOCK.format(4, 4, "64, 64, 64"), 4, True),
        ((256, 512, 72), BLOCK.format(8, 3, "128, 256, 64"), 3, False),
    ],
)
def test_gelu_and_residual(
    size: tuple[int, int, int],
    schedule: str,
    blocks: int,
    pairs: bool,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is read behind the product belongs to the tile."""
    drawn, results = Gelu.drawn(size, rng), []
    for count in (1 << 20, blocks):
        blocks_are(count, monkeypatch, pairs)
        kernel = compile_kernel(gelu_and_residual(size), chip=CHIP.name, schedule=schedule)
        with emulator.record() as reports:
            options = emulator.Options(schedule="random", seed=3)
            results += run_kernel(kernel, drawn.arguments, options=options)
        assert not [finding for report in reports for finding in report.findings]
    assert kernel.launches[0][1] == blocks
    assert np.array_equal(*results)
    assert (np.abs(wide(results[1]) - drawn.total) <= drawn.bound).all()
    check_code(kernel)


def test_sizes_are_known_at_the_call(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel for fewer tiles than blocks, as many, and more."""
    check_dynamic_sizes(BLOCK.format(4, 3, "64, 64, 32"), rng, monkeypatch)


def test_bands_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 blocks that make four tiles each need as many bytes from memory as 64 do, in bands or not."""
    m = n = 512
    k = 128
    arrays = [
        np.zeros(shape, kind)
        for shape, kind in (
            ((m, k), np.float16), ((n, k), np.float16), ((n,), np.float32), ((m, n), np.float16)
        )
    ]  # fmt: skip
    schedule, moved = BLOCK.format(4, 2, "64, 64, 64"), {}
    for blocks in (1 << 20, 16):
        for band in ("", ", group = array<i64: 0, 1, 4>"):
            blocks_are(blocks, monkeypatch)
            text = stores.text((m, n, k), "f16")
            kernel = compile_kernel(text, chip=CHIP.name, schedule=schedule + band)
            with emulator.record(trace=True) as reports:
                run_kernel(kernel, arrays)
            assert kernel.launches[0][1] == min(blocks, 64)
            assert reports[0].trace is not None
            # Room for a wave's factors, not for the next one's.
            moved[blocks, band] = reports[0].trace.moved(16, 163840) - m * n * 2
    plain, persistent = ([moved[key] for key in moved if key[0] == blocks] for blocks in (1 << 20, 16))
    assert persistent[0] <= 1.01 * plain[0] and persistent[1] <= 1.01 * plain[1]
    assert persistent[1] < 0.85 * persistent[0]


LARGE = (4096, 4096, 4096)


@pytest.mark.parametrize(
    ("text", "stages", "waits"),
    [
        (stores.text(LARGE, "bf16"), 4, 3),  # beside four stages there is room for half of a tile
        (product(*LARGE, "bf16", right=True), 4, 0),  # of f32: stored by threads
        (gelu_and_residual(LARGE), 3, 0),  # the residual changes hands as a whole
    ],
    ids=["relu", "f32", "residual"],
)
def test_large_products(text: str, stages: int, waits: int) -> None:
    """The schedule's own block is one that leaves room; as many registers as without, and nothing spilled."""
    kernel = compile_kernel(text, chip=CHIP.name)
    assert f"stages = array<i64: {stages}>, tile = array<i64: 128, 256, 64>" in kernel.tile
    assert "arith.constant 132 : i64" in kernel.threads
    assert not waits or kernel.ptx.count("cp.async.bulk.wait_group.read") == waits
    assert check_code(kernel)["product"] == 168
