"""The least time that a machine needs for a workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MEMORY, COMPUTE, SPECIAL = "memory", "compute", "special functions"


@dataclass(frozen=True)
class Facts:
    """What a workload has to move and compute at least.

    ``bytes``: inputs (as often as they must be read), weights and the result. ``flops``: a multiply-add is
    two; other operations count twice, as they run at half of the rate. ``special``: calls of functions, by
    the names of `passes.costs.cost`. ``export``: seconds from torch to ONNX, None if that was not done
    or failed (``export_problem``).
    """

    bytes: int
    flops: int
    special: Mapping[str, int]
    export: float | None = None
    export_problem: str = ""


@dataclass(frozen=True)
class Limit:
    """``seconds`` at least, and what decides them."""

    seconds: float
    bound: str


def limit_of(facts: Facts, ceilings: Mapping[str, float]) -> Limit:
    """max(bytes / bandwidth, FLOPs / peak, calls of each function / its rate); see `ceilings.Meter.turn`.

    The units of a processor work side by side, a divider beside multiply-adds, so that parts are not added.
    Where all of the data fits in caches, a workload that is bound by memory can be faster than that.
    """
    parts = {
        MEMORY: facts.bytes / max(ceilings["read"], ceilings["copy"]),
        COMPUTE: facts.flops / ceilings["flops"],
        SPECIAL: max((calls / ceilings[name] for name, calls in facts.special.items()), default=0.0),
    }
    bound = max(parts, key=parts.__getitem__)
    return Limit(parts[bound], bound)
