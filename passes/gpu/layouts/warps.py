"""How many warps a block has, and registers a thread, as the schedule says."""

from __future__ import annotations

from mlir import ir

from ....dialects.attributes import SCHEDULE
from ....dialects.layouts import WARP
from ...base import PassError

REGISTERS = 1 << 16  # of a multiprocessor, of every GPU since compute capability 3.5
BLOCK_SHARED = 163 * 1024  # bytes of shared memory that a block can have, of compute capability 8.0
_DEFAULT = 4


def warps_of(forall: ir.Operation) -> int:
    """The warps that the schedule of a kernel's scf.forall gives to a block."""
    schedule = SCHEDULE.get(forall) or {}
    (warps,) = schedule.get("warps", (_DEFAULT,))
    if warps < 1 or warps > 32 or warps & (warps - 1):
        raise PassError(forall, f"a block has 1, 2, 4, … or 32 warps, not {warps}")
    return warps


def registers_of(forall: ir.Operation) -> int:
    """The registers that a thread may have, as the schedule's blocks leave them to it."""
    (blocks,) = (SCHEDULE.get(forall) or {}).get("min_blocks", (1,))
    return REGISTERS // (blocks * warps_of(forall) * WARP)
