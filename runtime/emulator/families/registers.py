"""setmaxnreg: how many registers the warps of a block have. Section 9.7.19 of the PTX ISA."""

from __future__ import annotations

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..machine import Group, Machine
from ..ptx import Instruction, Number
from ..register_pool import LEAST, MOST, STEP
from ..registry import Step, control


@control("setmaxnreg", section="9.7.19 Miscellaneous: setmaxnreg", kind="other")
def setmaxnreg(i: Instruction, d: Decoder) -> Step:
    """Gives registers of a warpgroup back to its block, or waits for more."""
    operand = i.operands[0]
    if not isinstance(operand, Number) or i.guard is not None:
        raise d.fail("under a predicate, or with a number that is no constant")
    count, grows = int(operand.value), i.has("inc")

    def step(machine: Machine, group: Group) -> None:
        lanes, pool = group.lanes, machine.batch.pool
        x = Context(machine.batch, group.frame, lanes)
        everyone = np.ones(x.count, np.bool_)
        warps = np.unique(lanes.warp)
        detail = ""
        if not LEAST <= count <= MOST or count % STEP:
            detail = f"{count} registers, not a multiple of {STEP} in {LEAST}…{MOST}"
        elif not pool.start:
            detail = "the kernel does not fix its registers at entry: .maxnreg, or .maxntid and .minnctapersm"
        elif not lanes.whole:
            detail = "a part of a warp executes it"
        elif grows == bool((pool.each[warps] > count).any()) and (pool.each[warps] != count).any():
            word = "fewer" if grows else "more"
            detail = f"{count} are {word} than the {int(pool.each[warps[0]])} that a thread has"
        if detail:
            x.report(i, "setmaxnreg", detail, everyone)
            machine.move(group, group.pc + 1)
            return
        done = pool.change(warps, count)
        pool.ask(warps[done], count, i)
        ready = np.isin(lanes.warp, warps[done])
        go, late = machine.part(group, ready)
        if go is not None:
            machine.move(group, group.pc + 1, go)
        if late is not None:
            block = int(late.block[0])
            before = int(pool.free[block])
            wants = f"registers, of which {before} are free in its block"
            waiting = Group(group.frame, group.pc, late)
            machine.sleep(waiting, lambda: int(pool.free[block]) != before, lambda: ("deadlock", wants))
        machine.poll()

    return step
