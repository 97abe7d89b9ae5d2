"""What a launch asks for, and what memory moves for it; of its blocks only some may have run.

What memory moves is replayed from the sectors that each block touches (docs/emulator.md): resident blocks run
side by side, and a sector that is touched again comes from the L2 cache if less than half of the cache's size
was asked for in between: each half of an A100's L2 cache serves its own multiprocessors. What these blocks
touch would all stay in 40 MB; so the chip is taken to be as much smaller, in multiprocessors and in cache
alike, as they fill it `WAVES` times. What is read again by the next wave, or from where a large operand would
be gone by then, counts.

`whole` tells of a launch of full size what its first blocks tell of it. What each of them touches, as weights
of a norm, is no smaller than in the whole launch: memory gives it once a wave of the real chip, as if no wave
left it to the next. All else is what these blocks take, as many times as there are more blocks. Blocks that
all run at once on the real chip do so here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...passes.costs.machine import find_machine, machine_for_code
from ...runtime.emulator.launch import Report
from ...runtime.emulator.traffic import SECTOR

WAVES = 4


@dataclass(frozen=True)
class Amounts:
    """Bytes: each sector once, what memory moves, and all requests' sectors."""

    least: float
    moved: float
    requested: float


def small(report: Report, chip: str) -> Amounts:
    """Of a launch all of whose blocks ran, as if it were one of a large one's waves."""
    counters, trace = report.counters, report.trace
    assert counters is not None and trace is not None, "the launch was recorded with a trace"
    full, cache = _chip(report, chip)
    resident = max(1, min(full, math.prod(report.grid) // WAVES))
    moved = trace.moved(resident, cache * resident / full)
    return Amounts(counters.dram_read + counters.dram_written, moved, counters.l2_bytes)


def whole(report: Report, chip: str) -> Amounts:
    """Of a launch of full size, from the blocks that ran."""
    counters, trace, grid = report.counters, report.trace, math.prod(report.grid)
    assert counters is not None and trace is not None, "the launch was recorded with a trace"
    full, cache = _chip(report, chip)
    resident = report.blocks if grid <= full else max(1, min(full, report.blocks // WAVES))
    common = trace.common(report.blocks)
    shared, times = len(common) << SECTOR, grid / report.blocks
    own = counters.dram_read + counters.dram_written - shared
    moved = trace.moved(resident, cache * resident / full, common)
    return Amounts(
        own * times + shared, moved * times + shared * math.ceil(grid / full), counters.l2_bytes * times
    )


def _chip(report: Report, chip: str) -> tuple[int, float]:
    """How many blocks run at once, and the bytes of cache that they have."""
    assert report.counters is not None
    machine = find_machine(machine_for_code(chip))
    return machine.processors * report.counters.blocks_per_processor, machine.cache / 2
