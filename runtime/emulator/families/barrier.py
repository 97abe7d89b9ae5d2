"""Barriers, fences and waiting: section 9.7.13 of the PTX ISA."""

from __future__ import annotations

import numpy as np

from ..barriers import BARRIERS, Waiting
from ..context import Context
from ..decode import Decoder
from ..machine import Group, Machine, split
from ..ptx import TYPES, Instruction, Not, Operand
from ..registry import Run, Step, control, instruction
from .control import taken

SYNC = "9.7.13 Parallel Synchronization and Communication"


@control("bar", "barrier", section=SYNC + ": bar, barrier", kind="barrier")
def bar(i: Instruction, d: Decoder) -> Step:
    """Waits for the threads of the block, or only tells that a thread has come."""
    if i.has("cluster"):
        raise d.fail("of a cluster, which sm_90 has")
    guard = d.guard(i)
    votes = i.has("red")
    operands: list[Operand] = list(i.operands)
    write, predicate, negated = None, None, False
    if votes:
        write = d.write(operands.pop(0), TYPES["u32"] if i.has("popc") else TYPES["pred"])
        last = operands.pop()
        negated = isinstance(last, Not)
        predicate = d.read(last.name if isinstance(last, Not) else last, TYPES["pred"])
    number = d.read(operands[0], TYPES["u32"])
    count = d.read(operands[1], TYPES["u32"]) if len(operands) > 1 else None
    aligned = i.opcode == "bar" or i.has("aligned")
    wait = not i.has("arrive")

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        which = x.dense(number(x)).astype(np.int64)
        wanted = np.zeros(lanes.count, np.int64) if count is None else x.dense(count(x)).astype(np.int64)
        bad = (which >= BARRIERS) | (wanted % 32 != 0) | (wanted > 32 * machine.shape.warps_in_block)
        if bad.any():
            detail = f"barrier {int(which[bad][0])} for {int(wanted[bad][0])} threads"
            x.report(
                i, "barrier", f"{detail}: there are 16, and counts are multiples of 32 in the block", bad
            )
            which = which % BARRIERS
            wanted = np.where(bad, 0, wanted)
        said = None
        if predicate is not None:
            said = x.dense(predicate(x))
            said = ~said if negated else said
        if not wait:
            machine.move(group, group.pc + 1, lanes)
        for key, some in split(lanes, which << 16 | wanted):
            mine = None if said is None else said[np.searchsorted(lanes.index, some.index)]
            came = Waiting(group, some, i, aligned, mine, write)
            machine.barriers.arrive(key >> 16, key & 0xFFFF, came, wait=wait)

    return step


@instruction("bar.warp", section=SYNC + ": bar.warp.sync", kind="barrier", sync=True)
def bar_warp(i: Instruction, d: Decoder) -> Run:
    """Waits for the lanes that a mask names, and orders their accesses to memory."""
    mask = d.read(i.operands[-1], TYPES["b32"])
    return lambda x: x.batch.launch.watch.warp_barrier(x, x.dense(mask(x)))


@instruction("membar", "fence", section=SYNC + ": membar, fence", kind="barrier")
def fence(i: Instruction, d: Decoder) -> Run:
    """Orders a thread's accesses to memory. They take effect in order here; races look at it."""
    if i.has("cluster"):
        raise d.fail("of a cluster, which sm_90 has")

    device = i.has("gl", "gpu", "sys")

    def run(x: Context) -> None:
        if device:
            x.batch.launch.watch.fence(x)

    return run


@instruction("nanosleep", "pmevent", section="9.7.19 Miscellaneous: nanosleep, pmevent", kind="other")
def nothing(i: Instruction, d: Decoder) -> Run:
    """Has no effect on values."""

    def run(x: Context) -> None:
        return None

    return run
