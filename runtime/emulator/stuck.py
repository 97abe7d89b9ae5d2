"""When no lane can go on: a finding that says who waits on what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .findings import Finding
from .lanes import Lanes
from .synchronize import is_for_whole_warps

if TYPE_CHECKING:
    from .machine import Group, Machine
    from .ptx import Instruction


# Of several kinds the finding has the first: what comes earlier brings about what comes later.
_FIRST = (
    "livelock",
    "setmaxnreg",
    "partial-warp",
    "warpgroup",
    "transaction-count",
    "barrier-divergence",
)


class Wait(NamedTuple):
    """Lanes that wait at a group's instruction: for what, and the kind of finding if it never comes."""

    group: Group
    lanes: Lanes
    what: str
    kind: str
    aligned: bool = False


def report_stuck(machine: Machine, *, endless: bool = False) -> None:
    """Report a deadlock, a divergent barrier or warp, or threads that run without an end."""
    batch = machine.batch
    findings = batch.launch.findings
    waits = _waits(machine)
    if endless:
        running = [group for unit in machine.units for group in unit.groups.values()]
        waits = [Wait(group, group.lanes, "nothing, but runs on", "livelock") for group in running] + waits
    kind = next((kind for kind in _FIRST if any(wait.kind == kind for wait in waits)), "deadlock")
    if kind == "deadlock" and _divides_a_warp(machine, waits):
        kind = "barrier-divergence"
    wrong = [wait for wait in waits if wait.kind == kind] or waits
    blocks = {int(block) for wait in wrong for block in np.unique(wait.lanes.block)[:4]}
    stuck = min(blocks)
    lines = [_describe(machine, wait, stuck) for wait in waits]
    lines = [line for line in lines if line]
    first = next(wait for wait in wrong if (wait.lanes.block == stuck).any())
    finding: Finding = findings.at(_next(first.group), kind, "; ".join(lines[:8]))
    finding.count = sum(wait.lanes.count for wait in waits)
    batch.locate(finding, int(first.lanes.index[int(np.argmax(first.lanes.block == stuck))]))
    findings.add(finding)


def _waits(machine: Machine) -> list[Wait]:
    """Who waits, and for what."""
    found = []
    for group in machine.parked.values():
        i = _next(group)
        if i.has("mma_async"):
            what, kind = "the other threads of the warpgroup", "warpgroup"
        elif is_for_whole_warps(i):
            what, kind = "the other lanes of the warp", "partial-warp"
        elif i.has("aligned"):
            what = "the other lanes of the warp"
            kind = "setmaxnreg" if i.opcode == "setmaxnreg" else "barrier-divergence"
        else:
            what, kind = "the other lanes of its membermask", "deadlock"
        found.append(Wait(group, group.lanes, what, kind))
    for number, listed in machine.barriers.waiting.items():
        found += [
            Wait(each.group, each.lanes, f"barrier {number}", "deadlock", each.aligned) for each in listed
        ]
    for sleeper in machine.sleeping:
        kind, what = sleeper.why()
        found.append(Wait(sleeper.group, sleeper.group.lanes, what, kind))
    return found


def _next(group: Group) -> Instruction:
    """Where a group stands."""
    code = group.frame.program.function.code
    return code[min(group.pc, len(code) - 1)]


def _divides_a_warp(machine: Machine, waits: list[Wait]) -> bool:
    """Whether the lanes of some warp wait at different places, and anybody at an aligned barrier."""
    seen = np.zeros(machine.shape.warps, np.int64)
    for wait in waits:
        seen[np.unique(wait.lanes.warp)] += 1
    return any(wait.aligned for wait in waits) and bool((seen > 1).any())


def _describe(machine: Machine, wait: Wait, block: int) -> str:
    mine = wait.lanes.index[wait.lanes.block == block]
    if not len(mine):
        return ""
    threads = machine.shape.thread[mine]
    line = _next(wait.group).line
    number = machine.batch.launch.block_index(int(machine.batch.blocks[block]))
    return f"block {number}: {_ranges(threads.tolist())} at PTX line {line} wait for {wait.what}"


def _ranges(threads: list[int]) -> str:
    """Thread numbers as ranges: ``threads 0-31, 64``."""
    parts: list[str] = []
    start = previous = threads[0]
    for thread in [*threads[1:], -1]:
        if thread == previous + 1:
            previous = thread
            continue
        parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = thread
    return "threads " + ", ".join(parts[:6]) + (", …" if len(parts) > 6 else "")
