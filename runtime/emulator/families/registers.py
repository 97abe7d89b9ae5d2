"""setmaxnreg: how many registers the warps of a block have. Section 9.7.19 of the PTX ISA."""

from __future__ import annotations

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..machine import Group, Machine
from ..ptx import Instruction, Number
from ..register_pool import LEAST, MOST, STEP, RegisterPool
from ..registry import Step, control


@control("setmaxnreg", section="9.7.19 Miscellaneous: setmaxnreg", kind="other")
def setmaxnreg(i: Instruction, d: Decoder) -> Step:
    """Gives registers of a warpgroup back to its block, or waits for more."""
    operand = i.operands[0]
    if not isinstance(operand, Number) or i.guard is not None:
        raise d.fail("under a predicate, or with a number that is no constant")
    count, grows = int(operand.value), i.has("inc")

    def step(machine: Machine, group: Group) -> None:
        lanes, pool = machine.gather(group, group.lanes), machine.batch.pool
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        warps = np.unique(lanes.warp)
        refused = {warp: refusal(pool, warp) for warp in warps.tolist()}
        for warp, detail in refused.items():
            if detail:
                x.report(i, "setmaxnreg", detail, lanes.warp == warp)
        good = np.array([warp for warp, detail in refused.items() if not detail], warps.dtype)
        late = good[~pool.change(good, count)]
        pool.executes(np.setdiff1d(warps, late), i)
        go, stays = machine.part(Group(group.frame, group.pc, lanes), ~np.isin(lanes.warp, late))
        if go is not None:
            machine.move(group, group.pc + 1, go)
        if stays is not None:
            block = int(stays.block[0])
            before = int(pool.free[block])
            wants = f"registers, of which {before} are free in its block"
            waiting = Group(group.frame, group.pc, stays)
            machine.sleep(waiting, lambda: int(pool.free[block]) != before, lambda: ("setmaxnreg", wants))
        machine.poll()

    def refusal(pool: RegisterPool, warp: int) -> str:
        """Why a warp may not execute it; empty if it may."""
        if not LEAST <= count <= MOST or count % STEP:
            return f"{count} registers, not a multiple of {STEP} in {LEAST}…{MOST}"
        if not pool.start:
            return "the kernel does not fix its registers at entry: .maxnreg, or .maxntid and .minnctapersm"
        now = int(pool.each[warp])
        if count < now if grows else count > now:
            return f"{count} are {'fewer' if grows else 'more'} than the {now} that a thread has"
        return pool.refusal(warp, i, count)

    return step
