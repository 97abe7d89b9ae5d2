"""What a launch has done: instructions, traffic, arithmetic, occupancy, and the time by the roofline."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from ..cuda.occupancy import occupancy
from .ptx import Instruction, types_in

if TYPE_CHECKING:
    from .launch import Launch
    from .watch import Touched


SPACES = ("global", "shared", "local")


@dataclass(slots=True)
class Traffic:
    """The accesses of one instruction to memory of one state space."""

    space: str
    lanes: int = 0
    requests: int = 0
    bytes: int = 0
    distinct: int = 0
    sectors: int = 0
    wavefronts: int = 0
    least_wavefronts: int = 0


@dataclass(slots=True)
class Line:
    """The counters of one PTX line. Instructions are counted by warps, and by threads.

    ``distinct`` are the bytes of global memory of a traced launch, each once a warp.
    """

    line: int
    text: str
    source: str
    kind: str
    warps: int
    threads: int
    bytes: int = 0
    sectors: int = 0
    requests: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    flops: int = 0
    distinct: int = 0


@dataclass(slots=True)
class Counters:
    """The counters of a launch. Bytes are those that the threads ask for; ``l2_bytes`` whole sectors;
    ``dram_*`` each sector of an allocation once. Times are in seconds.
    """

    instructions: dict[str, int] = field(default_factory=dict)
    thread_instructions: int = 0
    bytes: dict[str, int] = field(default_factory=dict)
    global_requests: int = 0
    global_sectors: int = 0
    l2_bytes: int = 0
    dram_read: int = 0
    dram_written: int = 0
    shared_wavefronts: int = 0
    bank_conflicts: int = 0
    flops: dict[str, int] = field(default_factory=dict)
    mma: int = 0
    barriers: int = 0
    shared_memory: int = 0
    blocks_per_processor: int = 0
    occupancy: float = 0.0
    limited_by: str = ""
    roofline: dict[str, float] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list, repr=False)

    @property
    def sectors_per_request(self) -> float:
        """4 is ideal for 4-byte accesses of a warp, 16 for 16-byte ones."""
        return self.global_sectors / self.global_requests if self.global_requests else 0.0

    @property
    def time(self) -> float:
        """The roofline time."""
        return max(self.roofline.values(), default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "sectors_per_request": self.sectors_per_request, "time": self.time}

    @classmethod
    def of(
        cls, launch: Launch, traffic: dict[tuple[int, str], Traffic], touched: dict[int, Touched]
    ) -> Counters:
        """The sums over what was counted."""
        out = cls(shared_memory=launch.shared_size)
        moved: dict[int, list[Traffic]] = {}
        for space in SPACES:
            for (number, where), each in traffic.items():
                if where == space:
                    moved.setdefault(number, []).append(each)
        for program in launch.programs:
            runs = zip(program.warps_run.tolist(), program.lanes_run.tolist(), strict=True)
            for found, kind, (warps, threads) in zip(program.function.code, program.kinds, runs, strict=True):
                if warps:
                    out._count(found, kind, warps, threads, moved.get(id(found), ()))
        for sectors in touched.values():
            out.dram_read += 32 * int(sectors.read.sum())
            out.dram_written += 32 * int(sectors.written.sum())
        out.l2_bytes = 32 * out.global_sectors
        out._occupancy(launch)
        out._roofline(launch)
        return out

    def _count(
        self, found: Instruction, kind: str, warps: int, threads: int, traffics: Sequence[Traffic]
    ) -> None:
        unit, each = flops(found)
        line = Line(
            found.line, found.text, str(found.location or ""), kind, warps, threads, flops=each * threads
        )
        self.instructions[kind] = self.instructions.get(kind, 0) + warps
        self.thread_instructions += threads
        if each:
            self.flops[unit] = self.flops.get(unit, 0) + each * threads
        self.mma += warps if kind == "matrix" else 0
        self.barriers += warps if kind == "barrier" else 0
        for traffic in traffics:
            line.bytes += traffic.bytes
            line.distinct += traffic.distinct
            line.sectors += traffic.sectors
            line.requests += traffic.requests
            line.wavefronts += traffic.wavefronts
            line.conflicts += traffic.wavefronts - traffic.least_wavefronts
            self.bytes[traffic.space] = self.bytes.get(traffic.space, 0) + traffic.bytes
            if traffic.space == "global":
                self.global_requests += traffic.requests
                self.global_sectors += traffic.sectors
            self.shared_wavefronts += traffic.wavefronts
            self.bank_conflicts += traffic.wavefronts - traffic.least_wavefronts
        self.lines.append(line)

    def _occupancy(self, launch: Launch) -> None:
        found = occupancy(launch.chip.limits, launch.threads, launch.registers, launch.shared_size)
        self.blocks_per_processor, self.occupancy, self.limited_by = found.blocks, found.share, found.limit

    def _roofline(self, launch: Launch) -> None:
        chip = launch.chip
        peaks = {"f32": chip.f32, "f64": chip.f64, "f16": 4 * chip.f32, "tensor": chip.tensor}
        self.roofline = {"memory": (self.dram_read + self.dram_written) / chip.bandwidth}
        for unit, count in self.flops.items():
            self.roofline[unit] = count / peaks[unit]
        blocks = math.prod(launch.grid)
        busy = min(1.0, blocks / chip.processors)
        self.roofline = {
            name: seconds / busy if name != "memory" else seconds for name, seconds in self.roofline.items()
        }


_COST = {"add": 1, "sub": 1, "mul": 1, "fma": 2, "mad": 2, "div": 1, "sqrt": 1, "rcp": 1, "rsqrt": 1}
_COST |= {"ex2": 1, "lg2": 1, "sin": 1, "cos": 1, "tanh": 1, "min": 1, "max": 1}


def flops(found: Instruction) -> tuple[str, int]:
    """The unit and the floating-point operations of one thread at an instruction (of all kinds, for mma)."""
    return _flops(found.opcode, found.mods)


@cache
def _flops(opcode: str, mods: tuple[str, ...]) -> tuple[str, int]:
    if opcode in ("mma", "wgmma"):
        size = next(
            (re.fullmatch(r"m(\d+)n(\d+)k(\d+)", mod) for mod in mods if re.match(r"m\d+n", mod)), None
        )
        if size is None:
            return "", 0
        m, n, k = (int(part) for part in size.groups())
        work = 2 * m * n * k * (4 if (m, k) == (8, 4) and "f64" not in mods else 1)
        return "tensor", work // (32 if opcode == "mma" else 128)
    types = types_in(mods)
    if opcode not in _COST or not types or types[-1].kind != "f":
        return "", 0
    name = types[-1].name
    unit = {"f32": "f32", "f64": "f64", "f32x2": "f32"}.get(name, "f16")
    return unit, _COST[opcode] * (2 if name.endswith("x2") else 1)
