"""Blocks that run at the same time make a square of a product, which needs the fewest bytes of its factors.

Before, the blocks of a row of squares run one after the other: the 108 that run at once on an A100 need 4
rows of the one factor, and all columns of the other::

    scf.forall (%m, %n) = (0, 0) to (8192, 8192) step (128, 256) {
      scf.for %k … {
        %x = vector.transfer_read %a[%m, %k], … : memref<8192x8192xbf16>, vector<128x32xbf16>
        %y = vector.transfer_read %b[%k, %n], … : memref<8192x8192xbf16>, vector<32x256xbf16>
        …
      }
    } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 128, 256, 32>, …}}

After, they come in bands of 16 rows, along which the number of a block runs fastest; 108 need 16 rows, and 7
columns::

    } {mlopt.schedule = {…, group = array<i64: 0, 1, 16>}}

``group`` has the two loops, the last ones of more than one task, and how many tasks of the first one are
a band; mlopt-gpu-distribute computes a block's place by it. Legal for all tasks of an scf.forall, whose order
is nobody's business. Done where a loop multiplies what tasks share along both loops, and the cache does not
keep all of that: a band has as many rows as make the bytes of a wave the least. Runs behind
mlopt-gpu-order-tasks and mlopt-gpu-take-turns.

Effect: 4096x4096x4096 in f16 has 7 instructions of PTX more (sm_80) and asks for the same bytes; more of them
should come from the cache, which no count shows and no GPU was there to time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import SCHEDULE
from ..base import Pass
from ..costs.machine import DEFAULT_GPU, Machine, machine_of
from ..operations import ops_named
from .grids import grids_of
from .layouts.access import Access, access_of
from .threads.grid import DYNAMIC, Loops
from .turns.reads import depends_on, is_shared

KEPT = 0.5  # of the cache by factors: the rest has what is written, and what has just been read


@dataclass(frozen=True)
class GroupTasks(Pass):
    """Let the blocks of a wave make a square of a product; ``machine``: whose waves and cache."""

    name: ClassVar[str] = "mlopt-gpu-group-tasks"
    machine: str = DEFAULT_GPU

    def run(self, op: ir.Operation) -> None:
        """Mark the schedules of such kernels."""
        machine = machine_of(op, self.machine)
        for forall in grids_of(op):
            loops = can_group(forall)
            if loops is not None:
                band = band_of(forall, *loops, machine)
                if band is not None:
                    SCHEDULE.set(forall, {**(SCHEDULE.get(forall) or {}), "group": (*loops, band)})


def can_group(forall: ir.Operation) -> tuple[int, int] | None:
    """The two last loops that have more than one task, if a block's number alone says where it is."""
    schedule = SCHEDULE.get(forall) or {}
    if "tasks" in schedule or "turns" in schedule or "group" in schedule:
        return None
    return last_loops(forall)


def last_loops(forall: ir.Operation) -> tuple[int, int] | None:
    """The two last loops that have more than one task."""
    wide = [loop for loop, count in enumerate(Loops.of(forall).static_counts()) if count != 1]
    return (wide[-2], wide[-1]) if len(wide) > 1 else None


def band_of(forall: ir.Operation, slow: int, fast: int, machine: Machine) -> int | None:
    """The tasks of the slow loop that are a band; None: all is as well in the order of the loops."""
    along_fast, along_slow = (_shared(forall, loop) for loop in (fast, slow))
    if not along_fast or not along_slow or sum(map(_whole, along_fast + along_slow)) <= KEPT * machine.cache:
        return None
    counts = Loops.of(forall).static_counts()
    rows, columns = (counts[loop] or machine.processors for loop in (slow, fast))
    (resident,) = (SCHEDULE.get(forall) or {}).get("min_blocks", (1,))
    blocks = min(machine.processors * resident, rows * columns)
    row, column = (sum(access.bytes for access in shared) for shared in (along_fast, along_slow))
    bands = [1 << bit for bit in range(rows.bit_length()) if 1 << bit <= rows]
    # The bytes of a wave; a last band of fewer rows is computed apart, which is worth as much as a block's.
    best = min(bands, key=lambda band: (band * row + ceil(blocks / band) * column, band))
    return best if best > 1 else None


def _shared(forall: ir.Operation, loop: int) -> list[Access]:
    """What the loops of a task read for their products, and all tasks along ``loop`` alike."""
    changing = depends_on(forall, loop)
    return [
        access_of(read)
        for inner in ops_named(forall, "scf.for")
        if ops_named(inner, "vector.contract")
        for read in ops_named(inner, "vector.transfer_read")
        if is_shared(read, changing)
    ]


def _whole(access: Access) -> float:
    """The bytes of the buffer; of one of unknown size it is taken to be large."""
    shape = ir.MemRefType(access.buffer.type).shape
    return float("inf") if DYNAMIC in shape else access.element_bytes * prod(shape)
