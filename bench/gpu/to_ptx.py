"""How long a program takes from linalg to PTX: what tables of kernels say of compile time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from mlir import ir

from ...dialects.context import make_context
from ...pipelines.compile import lower_text
from ...pipelines.cuda import cuda_stages
from ...pipelines.device_code import take_ptx
from ...runtime.cuda.chips import Chip

TIMES = 3  # of which the least counts: other work takes from a processor what it shares


def seconds_to_ptx(linalg: str, chip: Chip, tf32: bool) -> float:
    """The CPU time of all passes from ``linalg`` on, and of LLVM; parsing the text counts, too."""
    return min(_seconds(linalg, chip, tf32) for _ in range(TIMES))


def _seconds(linalg: str, chip: Chip, tf32: bool) -> float:
    with make_context(), ir.Location.unknown():
        start = time.process_time()
        stages = cuda_stages(chip.name, chip.ptx, False, tf32)
        lowered = lower_text(linalg, "main", stages, entries_after="threads")
        take_ptx(lowered.module)
        return time.process_time() - start


def told_seconds(seconds: Sequence[float]) -> str:
    """What a table's head says of its rows."""
    return (
        "From linalg to PTX, passes and LLVM, all kernels of a row, two or more with the twins for what is "
        f"unaligned, take {statistics.median(seconds):.2f} s of CPU time in the middle and "
        f"{max(seconds):.2f} s at most, the least of {TIMES} times (`seconds_to_ptx`)."
    )
