"""How many warps a block has, as its schedule says."""

from __future__ import annotations

from mlir import ir

from ....dialects.attributes import SCHEDULE
from ...base import PassError

_DEFAULT = 4


def warps_of(forall: ir.Operation) -> int:
    """The warps that the schedule of a kernel's scf.forall gives to a block."""
    schedule = SCHEDULE.get(forall) or {}
    (warps,) = schedule.get("warps", (_DEFAULT,))
    if warps < 1 or warps > 32 or warps & (warps - 1):
        raise PassError(forall, f"a block has 1, 2, 4, … or 32 warps, not {warps}")
    return warps
