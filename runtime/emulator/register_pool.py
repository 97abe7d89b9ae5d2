"""The registers of a block, which its warps give and take by setmaxnreg."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .lanes import WARP
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .batch import Batch

GROUP = 4  # warps of a warpgroup
STEP, LEAST, MOST = 8, 24, 256


class RegisterPool:
    """Of each block of a batch: ``each`` are the registers of a thread by warps, ``free`` those of nobody."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        shape = batch.shape
        self.start = _at_entry(batch)
        self.each = np.full(shape.warps, self.start, np.int64)
        self.free = np.zeros(shape.blocks, np.int64)
        self.asked = np.zeros(shape.warps, np.int64)  # by each warp, last
        self.instruction: Instruction | None = None

    def change(self, warps: Array, count: int) -> Array:
        """Give these warps ``count`` registers a thread, as far as there are; says which have them."""
        done = np.zeros(len(warps), np.bool_)
        for place, warp in enumerate(warps.tolist()):
            block = warp // self.batch.shape.warps_in_block
            more = WARP * (count - int(self.each[warp]))
            if more <= self.free[block]:
                self.free[block] -= more
                self.each[warp] = count
                done[place] = True
        return done

    def ask(self, warps: Array, count: int, instruction: Instruction) -> None:
        """These warps have executed setmaxnreg."""
        self.asked[warps] = count
        self.instruction = instruction

    def uneven(self) -> Array:
        """The first warps of the warpgroups whose warps have asked for different numbers."""
        shape = self.batch.shape
        whole = shape.warps_in_block // GROUP * GROUP
        rows = self.asked.reshape(shape.blocks, -1)[:, :whole].reshape(-1, GROUP)
        groups = np.flatnonzero((rows != rows[:, :1]).any(axis=1))
        block, group = np.divmod(groups, max(1, whole // GROUP))
        found: Array = block * shape.warps_in_block + group * GROUP
        return found


def _at_entry(batch: Batch) -> int:
    """The registers of a thread that the kernel has at entry; 0 if it does not say."""
    directives = batch.launch.function.directives
    if "maxnreg" in directives:
        return directives["maxnreg"][0]
    threads = directives.get("maxntid") or directives.get("reqntid")
    if not threads or "minnctapersm" not in directives:
        return 0
    share = batch.launch.chip.registers // (directives["minnctapersm"][0] * math.prod(threads))
    return min(MOST - STEP, share // STEP * STEP)
