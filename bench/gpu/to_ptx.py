"""How long a program takes from linalg to PTX: what tables of kernels say of compile time."""

from __future__ import annotations

import gc
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ...dialects.context import make_context
from ...pipelines.compile import lower_text
from ...pipelines.cuda import cuda_stages
from ...pipelines.device_code import take_ptx
from ...runtime.cuda.chips import Chip

TIMES = 5  # of which the least counts: other work takes from a processor what it shares
MEANING = (
    "`s to PTX`: the CPU time from linalg to PTX, passes and LLVM, the least of "
    f"{TIMES} times, of so many kernels, those for what is unaligned among them (`time_to_ptx`)."
)
_ENTRY = ".visible .entry "


@dataclass(frozen=True)
class ToPtx:
    """The CPU ``seconds`` from linalg to PTX of a program that has so many ``kernels``."""

    seconds: float
    kernels: int

    def __str__(self) -> str:
        return f"{self.seconds:.2f} ({self.kernels})"

    @property
    def each(self) -> float:
        """The seconds that a kernel takes, with its share of what is done once for the program."""
        return self.seconds / self.kernels


def time_to_ptx(linalg: str, chip: Chip, tf32: bool) -> ToPtx:
    """All passes from ``linalg`` on, and LLVM; parsing the text counts, and what child processes do."""
    gc.collect()
    gc.freeze()  # what torch holds would be looked through: programs are compiled in processes without it
    try:
        return min((_timed(linalg, chip, tf32) for _ in range(TIMES)), key=lambda found: found.seconds)
    finally:
        gc.unfreeze()


def _timed(linalg: str, chip: Chip, tf32: bool) -> ToPtx:
    with make_context(), ir.Location.unknown():
        start = _processor_time()
        stages = cuda_stages(chip.name, chip.ptx, False, tf32)
        lowered = lower_text(linalg, "main", stages, entries_after="threads")
        ptx = take_ptx(lowered.module)
        return ToPtx(_processor_time() - start, ptx.count(_ENTRY))


def _processor_time() -> float:
    return sum(os.times()[:4])


def told_times(times: Sequence[ToPtx]) -> str:
    """What a table's head says of its rows."""
    rows, kernels = [each.seconds for each in times], [each.each for each in times]
    return (
        f"A row takes {statistics.median(rows):.2f} s in the middle and {max(rows):.2f} s at most, a kernel "
        f"{statistics.median(kernels):.2f} s and {max(kernels):.2f} s."
    )
