"""When no lane can go on: a finding that says who waits on what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .findings import Finding
from .lanes import Lanes
from .synchronize import is_for_whole_warps

if TYPE_CHECKING:
    from .machine import Group, Machine
    from .ptx import Instruction


def report_stuck(machine: Machine, *, endless: bool = False) -> None:
    """Report a deadlock, a divergent barrier or warp, or threads that run without an end."""
    batch = machine.batch
    findings = batch.launch.findings
    parked = list(machine.parked.values())
    wide = [group for group in parked if _next(group).has("mma_async")]
    parts = [group for group in parked if is_for_whole_warps(_next(group)) and group not in wide]
    waits = [(group, group.lanes, "the other threads of the warpgroup") for group in wide]
    waits += [(group, group.lanes, "the other lanes of the warp") for group in parts]
    waits += [
        (waiting.group, waiting.lanes, f"barrier {number}")
        for number, listed in machine.barriers.waiting.items()
        for waiting in listed
    ]
    aligned = any(waiting.aligned for listed in machine.barriers.waiting.values() for waiting in listed)
    named = [group for group in parked if group not in parts + wide]
    waits += [(group, group.lanes, "the other lanes of its membermask") for group in named]
    reasons = [(sleeper.group, sleeper.why()) for sleeper in machine.sleeping]
    waits += [(group, group.lanes, what) for group, (_, what) in reasons]
    if endless:
        running = [group for unit in machine.units for group in unit.groups.values()]
        waits = [(group, group.lanes, "nothing, but runs on") for group in running] + waits
    blocks = {int(block) for _, lanes, _ in waits for block in np.unique(lanes.block)[:4]}
    stuck = min(blocks)
    lines = [_describe(machine, group, lanes, what, stuck) for group, lanes, what in waits]
    lines = [line for line in lines if line]
    wrong = [name for _, (name, _) in reasons if name != "deadlock"]
    kind = "livelock" if endless else wrong[0] if wrong else "deadlock"
    if kind == "deadlock" and aligned and _divides_a_warp(machine, waits):
        kind = "barrier-divergence"
    if not endless and (parts or wide):
        kind = "partial-warp" if parts else "warpgroup"
    first = next((group, lanes) for group, lanes, _ in waits if (lanes.block == stuck).any())
    group, lanes = first
    finding: Finding = findings.at(_next(group), kind, "; ".join(lines[:8]))
    finding.count = sum(lanes.count for _, lanes, _ in waits)
    batch.locate(finding, int(lanes.index[int(np.argmax(lanes.block == stuck))]))
    findings.add(finding)


def _next(group: Group) -> Instruction:
    """Where a group stands."""
    code = group.frame.program.function.code
    return code[min(group.pc, len(code) - 1)]


def _divides_a_warp(machine: Machine, waits: list[tuple[Group, Lanes, str]]) -> bool:
    """Whether the lanes of some warp wait at different places."""
    seen = np.zeros(machine.shape.warps, np.int64)
    for _, lanes, _ in waits:
        seen[np.unique(lanes.warp)] += 1
    return bool((seen > 1).any())


def _describe(machine: Machine, group: Group, lanes: Lanes, what: str, block: int) -> str:
    mine = lanes.index[lanes.block == block]
    if not len(mine):
        return ""
    threads = machine.shape.thread[mine]
    line = _next(group).line
    number = machine.batch.launch.block_index(int(machine.batch.blocks[block]))
    return f"block {number}: {_ranges(threads.tolist())} at PTX line {line} wait for {what}"


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
