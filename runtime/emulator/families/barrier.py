"""Barriers, fences and waiting: section 9.7.13 of the PTX ISA."""

from __future__ import annotations

import numpy as np

from ..barriers import BARRIERS, Waiting
from ..context import Context
from ..decode import Decoder
from ..lanes import Lanes
from ..machine import Group, Machine, split
from ..operands import Read
from ..ptx import TYPES, Instruction, Not, Operand
from ..registry import Run, Step, control, instruction
from .control import taken

SYNC = "9.7.13 Parallel Synchronization and Communication"


@control("bar", "barrier", section=SYNC + ": bar, barrier", kind="barrier")
def bar(i: Instruction, d: Decoder) -> Step:
    """Waits for the threads of the block, or only tells that a thread has come."""
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


def _come(machine: Machine, group: Group, guard: Read | None, *, aligned: bool) -> Lanes | None:
    """The lanes whose guard holds; those of whole warps, if they are to come together."""
    lanes = taken(machine, group, guard)
    return machine.gather(group, lanes) if lanes is not None and aligned else lanes


@control("barrier.cluster.arrive", section=SYNC + ": barrier.cluster", kind="barrier")
def cluster_arrive(i: Instruction, d: Decoder) -> Step:
    """Arrives at the barrier of the cluster, without waiting."""
    guard, release, aligned = d.guard(i), not i.has("relaxed"), i.has("aligned")

    def step(machine: Machine, group: Group) -> None:
        lanes = _come(machine, group, guard, aligned=aligned)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        machine.move(group, group.pc + 1, lanes)
        machine.cluster_barrier.arrive(x, i, release=release)

    return step


@control("barrier.cluster.wait", section=SYNC + ": barrier.cluster", kind="barrier")
def cluster_wait(i: Instruction, d: Decoder) -> Step:
    """Waits until all threads of the cluster have arrived."""
    guard, aligned = d.guard(i), i.has("aligned")

    def step(machine: Machine, group: Group) -> None:
        lanes = _come(machine, group, guard, aligned=aligned)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        barrier = machine.cluster_barrier
        go, late = machine.part(Group(group.frame, group.pc, lanes), barrier.wait(x, i))
        if late is not None:
            waiting = Group(group.frame, group.pc, late)

            def why() -> tuple[str, str]:
                missing = barrier.missing(late)
                return "deadlock", f"the barrier of the cluster, where {missing} threads are to come"

            machine.sleep(waiting, lambda: barrier.over(late), why)
        if go is not None:
            barrier.left(go)
            machine.move(group, group.pc + 1, go)

    return step


@instruction("membar", "fence", section=SYNC + ": membar, fence", kind="barrier")
def fence(i: Instruction, d: Decoder) -> Run:
    """Orders a thread's accesses to memory. They take effect in order here; races look at it."""
    device, cluster = i.has("gl", "gpu", "sys"), i.has("cluster", "gl", "gpu", "sys")

    def run(x: Context) -> None:
        if device:
            x.batch.launch.watch.fence(x)
        if cluster:
            x.batch.launch.watch.cluster_fence(x)

    return run


@instruction("fence.proxy", section=SYNC + ": fence.proxy", kind="barrier")
def proxy(i: Instruction, d: Decoder) -> Run:
    """Orders ordinary accesses and those of asynchronous copies, which take another path to memory."""
    if not i.has("async"):
        return lambda x: None
    shared, everywhere = i.has("shared::cta", "shared::cluster"), not i.has("global")

    def run(x: Context) -> None:
        watch = x.batch.launch.watch
        if shared or everywhere:
            watch.proxy_fence(x)
        if not shared:
            watch.proxies.add(x)

    return run


@instruction("fence.mbarrier_init", section=SYNC + ": fence.mbarrier_init", kind="barrier")
def mbarrier_init(i: Instruction, d: Decoder) -> Run:
    """Lets a relaxed arrival at the barrier of the cluster tell of the mbarriers that the thread has made."""

    def run(x: Context) -> None:
        mine = set(x.lanes.index.tolist())
        for state in x.batch.objects.states.values():
            state.fenced |= state.lane in mine

    return run


@instruction("griddepcontrol", section=SYNC + ": griddepcontrol", kind="other")
def dependents(i: Instruction, d: Decoder) -> Run:
    """Has no effect: a kernel here begins when those before it have ended."""
    return lambda x: None


@instruction("nanosleep", "pmevent", section="9.7.19 Miscellaneous: nanosleep, pmevent", kind="other")
def nothing(i: Instruction, d: Decoder) -> Run:
    """Has no effect on values."""

    def run(x: Context) -> None:
        return None

    return run
