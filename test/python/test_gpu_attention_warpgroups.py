"""Attention by warpgroups (wgmma, weights from registers), without a GPU: types, masks, edges, gates."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.bench.gpu.machine_code import parse
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptxas import assemble, disassemble_cubin, find_ptxas
from mlopt.runtime.emulator.machine import SCHEDULES

sys.path.insert(0, str(Path(__file__).parent))
from gpu_attention_cases import Case
from gpu_gate_runs import SPARE
from gpu_kernels import Kernel, compile_kernel, run_kernel
from gpu_numbers import to_bf16, wide

CHIP = find_chip("sm_90a")
ALL = SCHEDULES
# The attention (sizes are not the block's multiples); rows, keys a step, warps and stages of a block; its
# threads with those that copy; orders of warps, and how far buffers are from alignment.
CORPUS = [
    (Case(1, 1, 72, 136, 64, "bf16"), (64, 64, 4, 2), 160, ALL, 0),
    (Case(1, 1, 136, 136, 64, "f16", "causal"), (128, 32, 8, 3), 288, ALL, 0),
    (Case(1, 2, 40, 72, 128, "bf16", "added"), (64, 64, 4, 2), 160, ALL, 0),
    (Case(1, 1, 128, 256, 128, "bf16"), (128, 128, 8, 2), 384, ALL, 0),
    (Case(2, 1, 72, 104, 256, "f16", "causal"), (64, 64, 4, 2), 160, ("ahead",), 0),
    (Case(2, 2, 33, 48, 32, "f16"), (64, 32, 4, 2), 160, ALL, 0),
    (Case(1, 1, 72, 136, 64, "bf16", "causal"), (64, 64, 4, 3), 128, ("ahead",), 4),
    (Case(1, 1, 40, 72, 128, "f16", "added"), (64, 32, 4, 2), 128, ("together",), 4),
]


@pytest.mark.parametrize(("case", "block", "threads", "orders", "shift"), CORPUS)
def test_attention(
    case: Case,
    block: tuple[int, int, int, int],
    threads: int,
    orders: tuple[str, ...],
    shift: int,
    rng: np.random.Generator,
) -> None:
    """Right, alike in each order, without a finding; unaligned, too. ptxas serialises nothing."""
    rows, keys, *_ = block
    kernel = compile_kernel(case.kernel(), CHIP.name, case.schedule(*block))
    for columns in (keys, case.width):
        assert f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{case.kind}" in kernel.ptx
    assert "mma.sync.aligned.m16" not in kernel.ptx
    arguments, exact, bound = case.drawn(rng)
    results = []
    with emulator.record() as reports:
        for order in orders:
            options = emulator.Options(schedule=order, seed=7)
            results += run_kernel(kernel, arguments, shift=shift, options=options)
    assert (np.abs(wide(results[0]) - exact) <= bound).all()
    assert all(np.array_equal(results[0], each) for each in results)
    assert {launch[2] for launch in kernel.launches} == {threads}
    if not shift:
        counters = reports[0].counters
        assert counters is not None and counters.bank_conflicts == 0
        assert counters.l2_bytes <= SPARE * case.implied_bytes(rows, keys)
    _check_code(kernel.ptx)


SHAPE = (1, 1, 72, 104, 64)  # four steps of 32 keys, of which the last is not whole
Q, K, V, MASK = range(4)
# The mask of scores, the argument that is written to, where, and what.
SPECIAL = {
    "nan q": (None, Q, (0, 3, 5), np.nan),
    "nan k": (None, K, (0, 50, 5), np.nan),
    "inf v": (None, V, (0, 50, 5), np.inf),
    "inf v, causal": ("causal", V, (0, 50, 5), np.inf),
    "nan mask": ("added", MASK, (7, 99), np.nan),
    "inf mask": ("added", MASK, (7, 99), np.inf),
    "dead rows": ("added", MASK, (slice(5, 9), slice(None)), -np.inf),
    "first keys dead": ("added", MASK, (slice(0, 40), slice(0, 70)), -np.inf),
    "last keys dead": ("added", MASK, (slice(0, 40), slice(30, None)), -np.inf),
}


@cache
def _special_kernel(case: Case) -> Kernel:
    """One kernel serves all numbers."""
    return compile_kernel(case.kernel(), CHIP.name, case.schedule(64, 32, 4, 2))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize(("mask", "argument", "at", "number"), SPECIAL.values(), ids=SPECIAL)
def test_numbers_that_are_not_finite(
    kind: str, mask: str | None, argument: int, at: tuple[int, ...], number: float, rng: np.random.Generator
) -> None:
    """NaN and infinities are where they should be, and nowhere else; a row whose keys are all away is 0."""
    case = Case(*SHAPE, kind, mask)
    kernel = _special_kernel(case)
    assert "wgmma.mma_async" in kernel.ptx
    arguments, *_ = case.drawn(rng)
    arguments[argument][at] = number if kind == "f16" else to_bf16(np.float32(number))
    with np.errstate(invalid="ignore"):  # 0 times infinity, and infinity less infinity
        exact, bound = case.exact(arguments)
    found = wide(run_kernel(kernel, arguments, options=emulator.Options(schedule="random", seed=7))[0])
    finite = np.isfinite(exact)
    assert np.array_equal(found[~finite], exact[~finite], equal_nan=True)
    assert (np.abs(found[finite] - exact[finite]) <= bound[finite]).all()


def _check_code(ptx: str) -> None:
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    assembled = assemble(ptx, CHIP, ptxas)
    assert not assembled.warnings  # C75xx: wgmma would be serialised, setmaxnreg ignored
    assert all(made.spill_stores == made.stack == 0 for made in assembled.kernels.values())
    for name, code in parse(disassemble_cubin(assembled.cubin)).items():
        assert code.named("HGMMA") and not code.named("HMMA") and not code.named("LDGSTS")
        for instruction in ("UTMALDG", "UTMASTG"):
            assert bool(code.named(instruction)) != name.endswith("_unaligned")
