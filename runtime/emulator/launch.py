"""One launch of a kernel: its arguments, its grid cut into batches, its findings and counters."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..cuda.occupancy import occupancy
from .batch import Batch
from .caches import Trace
from .chips import Chip
from .clusters import Clusters
from .counters import Counters
from .errors import EmulatorError
from .findings import Finding, Findings
from .lanes import Shape
from .loaded import Loaded
from .machine import SCHEDULES, Machine
from .memory import PARAMETERS, Allocation
from .ptx import Function
from .register_pool import registers_at_entry
from .watch import Watch

if TYPE_CHECKING:
    from .families.control import CallSite

LANES = 16384  # about so many run at once: enough to amortise numpy's calls, few enough for the caches
STEPS = 20_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """How a launch runs and what it looks for."""

    schedule: str = "together"
    seed: int = 0
    lanes: int = LANES
    steps: int = STEPS
    races: bool = True
    registers: int = 0  # of a thread, as ptxas reports them; they limit how many blocks fit
    trace: bool = False  # keep which sectors each block touches: 24 bytes for each
    blocks: int = 0  # run only so many, the first ones of the grid; 0: all


@dataclass(slots=True)
class Report:
    """What a launch found and counted."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    findings: list[Finding] = field(default_factory=list)
    counters: Counters | None = None
    trace: Trace | None = None
    printed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    blocks: int = 0  # that ran


class Launch:
    """The state of one launch that its batches share."""

    chip: Chip
    clusters: Clusters
    dynamic_shared: int
    shared_size: int

    def __init__(
        self,
        loaded: Loaded,
        function: Function,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: bytes,
        dynamic_shared: int,
        chip: Chip,
        options: Options,
        cluster: tuple[int, int, int] | None = None,
    ) -> None:
        if options.schedule not in SCHEDULES:
            raise EmulatorError(f"no schedule {options.schedule!r}", remedy=f"one of {', '.join(SCHEDULES)}")
        if dynamic_shared < 0:
            raise EmulatorError(f"{dynamic_shared} bytes of dynamic shared memory", remedy="pass 0 or more")
        self.loaded = loaded
        self.memory = loaded.memory
        self.function = function
        self.grid = grid
        self.block = block
        self.clusters = Clusters(grid, function, cluster)
        size = self.clusters.size
        self.blocks = min(math.prod(grid), -(-options.blocks // size) * size or math.prod(grid))
        self.chip = chip
        self.options = options
        self.dynamic_shared = dynamic_shared
        self.findings = Findings(function.name)
        self.threads = math.prod(block)
        self.static_shared = loaded.shared_layout(function)[1]
        self.shared_size = self.static_shared + dynamic_shared
        self.program = loaded.program(function.name)
        self.programs, self.depth = loaded.reachable(function.name)
        self._entry_frame = self.programs[0].frame_size
        self._deeper_frame = max((program.frame_size for program in self.programs[1:]), default=0)
        self.at_entry = registers_at_entry(self)
        self.registers = options.registers or self.at_entry or function.directives.get("maxnreg", (0,))[0]
        self.local_size = max(16, self.frame_base(self.depth))
        self.printed: list[str] = []
        self.clock = 0  # of instructions, for the kernel to read
        self.call_sites: dict[int, CallSite] = {}
        self._arguments = arguments
        self._shapes: dict[int, Shape] = {}
        self.watch = Watch(self)

    def frame_base(self, depth: int) -> int:
        """Where in local memory the variables of a function at this depth of calls begin."""
        return self._entry_frame + (depth - 1) * self._deeper_frame

    def shape(self, blocks: int) -> Shape:
        """The layout of a batch of so many blocks."""
        if blocks not in self._shapes:
            self._shapes[blocks] = Shape(blocks, self.threads, self.clusters.size)
        return self._shapes[blocks]

    def block_index(self, number: int) -> tuple[int, int, int]:
        """A block's place in the grid."""
        x, y, _ = self.grid
        return (number % x, number // x % y, number // (x * y))

    def thread_index(self, number: int) -> tuple[int, int, int]:
        """A thread's place in its block."""
        x, y, _ = self.block
        return (number % x, number // x % y, number // (x * y))

    def check(self) -> None:
        """Report what the chip or the kernel forbids about the launch."""
        chip, function = self.chip, self.function
        limits = [
            (
                self.threads > chip.threads_in_block,
                f"{self.threads} threads a block, of {chip.threads_in_block}",
            ),
            (
                self.shared_size > chip.shared_in_block,
                f"{self.shared_size} bytes of shared memory, of {chip.shared_in_block}",
            ),
            (
                any(size > limit for size, limit in zip(self.grid, chip.grid, strict=True)),
                f"a grid of {self.grid}, of {chip.grid}",
            ),
            (
                any(size > limit for size, limit in zip(self.block, chip.block, strict=True)),
                f"a block of {self.block}, of {chip.block}",
            ),
        ]
        most = function.directives.get("maxntid")
        if most is not None:
            limits.append((self.threads > math.prod(most), f"{self.threads} threads, .maxntid says {most}"))
        needed = function.directives.get("reqntid")
        if needed is not None:
            padded = (*needed, 1, 1)[:3]
            limits.append((self.block != padded, f"a block of {self.block}, .reqntid says {padded}"))
        registers = self.options.registers or self.at_entry  # .maxnreg alone says at most
        if registers:
            fits = occupancy(chip.limits, self.threads, registers, 0)
            detail = f"{self.threads} threads of {registers} registers, of {chip.registers} in all"
            limits.append((not fits.blocks and fits.limit == "registers", detail))
        limits += self.clusters.limits(chip)
        for broken, detail in limits:
            if broken:
                self.findings.add(Finding("launch", function.name, detail, function.line), detail)

    def run(self) -> Report:
        """Run all blocks."""
        started = time.perf_counter()
        report = Report(self.function.name, self.grid, self.block)
        self.check()
        if not self.findings.list():
            self._run_batches()
        report.findings = self.findings.list()
        report.printed = self.printed
        report.counters, report.trace = self.watch.counters(), self.watch.trace
        report.blocks = self.blocks
        if self.blocks < math.prod(self.grid):
            self.watch.take_as_written()
        report.seconds = time.perf_counter() - started
        return report

    def _run_batches(self) -> None:
        data = np.frombuffer(self._arguments or b"\0", np.uint8).copy()
        self.parameters: Allocation = self.memory.place(
            data, "the parameters", base=PARAMETERS, writable=False
        )
        order, size = self.clusters.order[: self.blocks], self.clusters.size
        at_once = min(self.options.lanes // self.threads, self.watch.most_blocks(self.threads))
        at_once = max(1, at_once // size) * size
        for program in self.programs:
            program.lanes_run[:] = 0
            program.warps_run[:] = 0
        try:
            with np.errstate(all="ignore"):
                for start in range(0, self.blocks, at_once):
                    batch = Batch(self, order[start : start + at_once])
                    machine = Machine(
                        batch, self.options.schedule, self.options.seed + start, self.options.steps
                    )
                    machine.run()
        finally:
            self.memory.free(self.parameters.base)


def triple(sizes: int | Sequence[int]) -> tuple[int, int, int]:
    """A grid or block as three sizes."""
    listed = [sizes] if isinstance(sizes, int) else list(sizes)
    if not 1 <= len(listed) <= 3 or any(size < 1 for size in listed):
        raise EmulatorError(f"{sizes!r} is not a grid or block", remedy="one to three sizes of at least 1")
    x, y, z = [*listed, 1, 1][:3]
    return (int(x), int(y), int(z))
