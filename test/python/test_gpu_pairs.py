"""Blocks in pairs that copy a factor for each other (clusters): right, and with fewer bytes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.bench.gpu.machine_code import parse
from mlopt.passes.gpu import pair_blocks
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptxas import assemble, disassemble_cubin, find_ptxas

sys.path.insert(0, str(Path(__file__).parent))
from gpu_kernels import compile_kernel, run_kernel
from gpu_products import drawn, product

CHIP = find_chip("sm_90a")
BLOCK = (
    "beyond = array<i64: 1>, warps = array<i64: {}>, min_blocks = array<i64: 1>, stages = array<i64: {}>, "
    "tile = array<i64: {}>"
)
# Types, transposes, sizes, blocks; the order of warps; the bytes that a pair copies once, for each step.
CASES = [
    ("f16", False, True, (120, 40, 72), BLOCK.format(4, 4, "64, 32, 32"), "random", 32 * 64),
    ("bf16", True, False, (120, 72, 104), BLOCK.format(4, 2, "64, 64, 64"), "random", 64 * 128),
    ("bf16", False, False, (120, 136, 72), BLOCK.format(4, 3, "64, 128, 64"), "round-robin", 128 * 128),
    ("i8", False, True, (120, 144, 144), BLOCK.format(4, 3, "64, 128, 128"), "together", 128 * 128),
]


@pytest.mark.parametrize(("kind", "left", "right", "size", "schedule", "order", "shared"), CASES)
def test_products(
    kind: str,
    left: bool,
    right: bool,
    size: tuple[int, int, int],
    schedule: str,
    order: str,
    shared: int,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a finding; what is asked of the cache is less by the shared factor's other half."""
    _, n, k = size
    arguments, want, bound = drawn(size, kind, left, right, rng)
    moved = []
    for paired in (True, False):
        monkeypatch.setattr(pair_blocks, "should_pair", lambda *_, paired=paired: paired)
        kernel = compile_kernel(product(*size, kind, left, right), chip=CHIP.name, schedule=schedule)
        assert ("multicast" in kernel.ptx) == (".reqnctapercluster 2" in kernel.ptx) == paired
        with emulator.record() as reports:
            options = emulator.Options(schedule=order if paired else "together", seed=11)
            (found,) = run_kernel(kernel, arguments, options=options)
        assert (np.abs(found - want) <= bound).all()
        assert reports[0].counters.bank_conflicts == 0
        moved.append(reports[0].counters.l2_bytes)
        if paired:
            _check_code(kernel.ptx)
    step, wide_of = (int(part) for part in schedule.rstrip(">").split(", ")[-1:-3:-1])
    size_of = arguments[0].itemsize
    inside = n * k * size_of  # boxes that end beyond a buffer bring what is inside
    assert 0.9 * inside <= moved[1] - moved[0] <= -(-n // wide_of) * -(-k // step) * shared


def _check_code(ptx: str) -> None:
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    assembled = assemble(ptx, CHIP, ptxas)
    assert not assembled.warnings
    assert all(made.spill_stores == made.stack == 0 for made in assembled.kernels.values())
    for name, code in parse(disassemble_cubin(assembled.cubin)).items():
        assert bool(code.named("UTMALDG")) != name.endswith("_unaligned")
