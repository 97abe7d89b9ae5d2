"""A schedule override: tile sizes that you choose, where mlopt-schedule has chosen others."""

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlopt.dialects.attributes import OPS, SCHEDULE
from mlopt.passes.base import Pass


@dataclass(frozen=True)
class SetTile(Pass):
    """Give kernels that hold the op ``kernel`` these tile sizes; run it after mlopt-schedule."""

    name: ClassVar[str] = "set-tile"
    kernel: str = "matmul"
    tile: tuple[int, ...] = ()

    def run(self, op: ir.Operation) -> None:
        for function in op.regions[0].blocks[0].operations:
            schedule = SCHEDULE.get(function)
            if schedule and self.kernel in (OPS.get(function) or ()):
                rest = schedule["tile"][len(self.tile) :]
                SCHEDULE.set(function, {**schedule, "tile": (*self.tile, *rest)})
