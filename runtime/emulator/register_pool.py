"""The registers of a block, which its warps give and take by setmaxnreg."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from .lanes import GROUP, WARP
from .ptx import Array, Instruction, Number

if TYPE_CHECKING:
    from .batch import Batch
    from .launch import Launch

STEP, LEAST, MOST = 8, 24, 256


class RegisterPool:
    """Of each block of a batch: ``each`` are the registers of a thread by warps, ``free`` those of nobody."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        shape = batch.shape
        self.start = -(-batch.launch.at_entry // STEP) * STEP
        self.each = np.full(shape.warps, self.start, np.int64)
        self.free = np.zeros(shape.blocks, np.int64)
        # By warps, and when.
        self.executed: defaultdict[int, list[tuple[Instruction, int]]] = defaultdict(list)

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

    def executes(self, warps: Array, instruction: Instruction) -> None:
        """These warps execute setmaxnreg."""
        now = self.batch.launch.watch.clock.now
        for warp in warps.tolist():
            self.executed[warp].append((instruction, now))

    def refusal(self, warp: int, instruction: Instruction, count: int) -> str:
        """What is wrong with its warpgroup if a warp asks for ``count`` registers now; empty if nothing is.

        One that changes nothing needs no synchronisation: Triton has such.
        """
        warps = self.batch.shape.warps_in_block
        block, inside = divmod(warp, warps)
        first = inside - inside % GROUP
        if first + GROUP > warps:
            return f"the last {warps - first} of {warps} warps are no warpgroup"
        number = len(self.executed[warp])
        others = [(other, self.executed[block * warps + other]) for other in range(first, first + GROUP)]
        if any(len(done) > number and done[number][0] is not instruction for _, done in others):
            return "the warps of a warpgroup execute different ones"
        watch = self.batch.launch.watch
        for other, done in others if number and count != self.each[warp] else []:
            if len(done) < number or not watch.knows(self.batch, warp, other, done[number - 1][1]):
                return "the warps of the warpgroup have not synchronised since the last one"
        return ""

    def uneven(self) -> list[tuple[int, Instruction]]:
        """The warps that have executed one that others of their warpgroups have not, and which one."""
        warps, found = self.batch.shape.warps_in_block, []
        for warp, done in sorted(self.executed.items()):
            inside = warp % warps
            first, count = warp - inside % GROUP, min(GROUP, warps - (inside - inside % GROUP))
            least = min(len(self.executed.get(other, ())) for other in range(first, first + count))
            if len(done) > least:
                found.append((warp, done[least][0]))
        return found


def registers_at_entry(launch: Launch) -> int:
    """The registers that a thread has at entry of a kernel with setmaxnreg; 0 if nothing fixes them.

    As ptxas has it: what the directives leave to a thread, but no more than the kernel ever asks for.
    """
    changes = [i for program in launch.programs for i in program.function.code if i.opcode == "setmaxnreg"]
    directives, limits = launch.function.directives, []
    if "maxnreg" in directives:
        limits.append(directives["maxnreg"][0])
    threads = directives.get("maxntid") or directives.get("reqntid")
    if threads and "minnctapersm" in directives:
        warps = directives["minnctapersm"][0] * -(-math.prod(threads) // WARP)
        share = launch.chip.registers // (-(-warps // GROUP) * GROUP * WARP)
        limits.append(share // STEP * STEP)
    if not changes or not limits:
        return 0
    counts = [i.operands[0] for i in changes if i.has("inc")]
    asked = [int(count.value) for count in counts if isinstance(count, Number)]
    return min(*limits, max(asked, default=MOST), MOST - 1)
