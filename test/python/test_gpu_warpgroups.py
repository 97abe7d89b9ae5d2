"""Products of warpgroups (wgmma), without a GPU: types, transposes, edges, and what ptxas makes of them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.bench.gpu.machine_code import parse
from mlopt.passes.gpu.tma_loads import TmaLoads
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptxas import assemble, disassemble_cubin, find_ptxas
from mlopt.runtime.emulator.machine import SCHEDULES

sys.path.insert(0, str(Path(__file__).parent))
from gpu_gate_runs import SPARE
from gpu_kernels import compile_kernel, run_kernel
from gpu_product_cases import Case, implied_bytes
from gpu_products import between_tf32, drawn, nearest_tf32, product

CHIP = find_chip("sm_90a")
BLOCK = "warps = array<i64: {}>, min_blocks = array<i64: 1>, stages = array<i64: {}>, tile = array<i64: {}>"
BEYOND = "beyond = array<i64: 1>, "
ROUNDED = BEYOND + "tf32 = array<i64: 1>, "
ONE, ALL = ("together",), SCHEDULES
# Types, transposes, sizes (not the block's multiples), the block, the instruction's columns; the orders of
# warps, and how far buffers are from alignment.
CORPUS = [
    ("bf16", False, True, (72, 264, 136), BLOCK.format(8, 4, "128, 256, 64"), 256, ALL, 0),
    ("bf16", False, False, (72, 264, 136), BLOCK.format(8, 3, "64, 256, 64"), 128, ALL, 0),
    ("f16", True, False, (136, 72, 104), BLOCK.format(4, 2, "128, 64, 64"), 64, ("round-robin",), 0),
    ("f16", True, True, (72, 40, 296), BLOCK.format(4, 4, "64, 32, 32"), 32, ALL, 0),
    ("f16", True, True, (72, 40, 136), BLOCK.format(4, 4, "64, 32, 32"), 32, ("ahead",), 4),
    ("bf16", True, False, (72, 40, 136), BEYOND + BLOCK.format(4, 4, "64, 32, 64"), 32, ALL, 0),
    ("f16", False, True, (72, 40, 136), BEYOND + BLOCK.format(4, 4, "64, 32, 64"), 32, ONE, 4),
    ("bf16", False, False, (64, 96, 64), BLOCK.format(4, 3, "64, 32, 16"), 32, ALL, 0),
    ("f16", False, True, (64, 96, 256), BLOCK.format(4, 3, "64, 96, 128"), 96, ONE, 0),
    ("i8", False, True, (72, 144, 144), BEYOND + BLOCK.format(4, 4, "64, 128, 128"), 128, ALL, 0),
    ("i8", False, True, (64, 64, 272), BLOCK.format(4, 3, "64, 64, 32"), 64, ALL, 0),
    ("e4m3", False, True, (136, 144, 400), BEYOND + BLOCK.format(8, 4, "128, 128, 128"), 128, ALL, 0),
    ("e4m3", False, True, (72, 40, 272), BLOCK.format(4, 4, "64, 32, 64"), 32, ONE, 0),
    ("e5m2", False, True, (64, 264, 384), BLOCK.format(8, 2, "64, 256, 128"), 128, ALL, 0),
    ("e5m2", False, True, (72, 144, 272), BEYOND + BLOCK.format(4, 4, "64, 128, 64"), 128, ONE, 4),
    ("tf32", False, True, (136, 264, 68), ROUNDED + BLOCK.format(8, 4, "128, 256, 32"), 256, ALL, 0),
    ("tf32", False, True, (72, 40, 100), ROUNDED + BLOCK.format(4, 3, "64, 32, 16"), 32, ALL, 0),
    ("tf32", False, True, (72, 40, 68), ROUNDED + BLOCK.format(4, 4, "64, 32, 32"), 32, ONE, 4),
]


@pytest.mark.parametrize(("kind", "left", "right", "size", "schedule", "columns", "orders", "shift"), CORPUS)
def test_products(
    kind: str,
    left: bool,
    right: bool,
    size: tuple[int, int, int],
    schedule: str,
    columns: int,
    orders: tuple[str, ...],
    shift: int,
    rng: np.random.Generator,
) -> None:
    """Right, and without a finding; of unaligned factors, too. ptxas serialises nothing."""
    k = size[2]
    kernel = compile_kernel(product(*size, kind, left, right), chip=CHIP.name, schedule=schedule)
    assert f"wgmma.mma_async.sync.aligned.m64n{columns}k" in kernel.ptx
    assert ("mma.sync" in kernel.ptx) == (k % step_of(schedule) > 0 and BEYOND not in schedule)
    arguments, want, bound = drawn(size, kind, left, right, rng)
    with emulator.record() as reports:
        for order in orders:
            options = emulator.Options(schedule=order, seed=7)
            (found,) = run_kernel(kernel, arguments, shift=shift, options=options)
            assert (np.abs(found - want) <= bound).all(), order
    if not shift:
        counters = reports[0].counters
        assert counters is not None and counters.bank_conflicts == 0
        assert counters.l2_bytes <= SPARE * implied_bytes(
            Case(kind, left, right, size, schedule), kernel.tile
        )
    _check_code(kernel.ptx, kind)


@pytest.mark.parametrize("boxes", [True, False])
def test_factors_are_the_nearest_tf32(
    boxes: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ties are rounded to even, by boxes and by threads; of a row with NaN everything is NaN."""
    if not boxes:
        monkeypatch.setattr(TmaLoads, "run", lambda *_: None)
    size = m, n, k = 64, 64, 36
    kernel = compile_kernel(
        product(*size, "tf32", False, True),
        chip=CHIP.name,
        schedule=ROUNDED + BLOCK.format(4, 2, "64, 64, 32"),
    )
    assert ("cp.async.bulk.tensor" in kernel.ptx) == boxes and "mma.sync" not in kernel.ptx
    x = between_tf32(rng.standard_normal((m, k)).astype(np.float32))
    x[5, 5], x[6, 31], x[7, 9] = np.nan, -np.nan, np.inf
    arguments = [x, np.eye(n, k, dtype=np.float32), np.zeros(n, np.float32), np.zeros((m, n), np.float32)]
    want = np.where(np.isfinite(x), np.maximum(nearest_tf32(x), 0), np.nan)
    want[[5, 6, 7]], want[7, 9] = np.nan, np.inf
    for shift in (0, 4):
        (found,) = run_kernel(kernel, arguments, shift=shift)
        assert np.array_equal(found[:, :k], want, equal_nan=True)
        assert (found[:5, k:] == 0).all() and np.isnan(found[5:8, k:]).all()


def step_of(schedule: str) -> int:
    """The step along the depth that a schedule says."""
    return int(schedule.rpartition(", ")[2].rstrip(">"))


def test_the_twin_is_the_one_without_tma(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the letter: of 64x64 blocks, eight stages, other orders of its copies spill."""
    text, name = product(128, 4096, 4096, "bf16"), ".entry product_unaligned("
    found = compile_kernel(text, chip=CHIP.name).ptx
    _check_code(found, "bf16")
    monkeypatch.setattr(TmaLoads, "run", lambda *_: None)
    other = compile_kernel(text, chip=CHIP.name).ptx
    assert "cp.async.bulk" in found and "cp.async.bulk" not in other
    assert found.partition(name)[2] == other.partition(name)[2] != ""


def _check_code(ptx: str, kind: str) -> None:
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    assembled = assemble(ptx, CHIP, ptxas)
    assert not assembled.warnings  # C75xx: wgmma would be serialised
    assert all(made.spill_stores == made.stack == 0 for made in assembled.kernels.values())
    for name, code in parse(disassemble_cubin(assembled.cubin)).items():
        assert code.named({"i8": "IGMMA", "e4m3": "QGMMA", "e5m2": "QGMMA"}.get(kind, "HGMMA"))
        assert bool(code.named("UTMALDG")) != name.endswith("_unaligned")
        assert not code.named("LDGSTS")  # cp.async
