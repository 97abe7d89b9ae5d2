"""Choose each kernel's tile sizes, and say what the kernel costs.

Before::

    func.func private @kernel_0_matmul(%a: tensor<129x766xf32>, %b: tensor<766x1000xf32>, %out: …) -> …
        attributes {mlopt.kernel}

After::

    … attributes {mlopt.kernel, mlopt.schedule = {tile = array<i64: 72, 64, 8>},
                  mlopt.bytes = 3975256 : i64, mlopt.flops = 197628000 : i64}

``tile`` has one number for each `Dim` of the kernel's domain: the elements of it in one task, 0 for all of
them; for the reduced dim of a contraction the step of the loop over it. A kernel that no tile rule takes gets
``mlopt.slow = "why"`` instead and stays linalg. Always legal: it only adds attributes.

For ``target=cuda`` the schedule also has ``warps``, of a block, and ``min_blocks``, that a multiprocessor
should hold (nvvm.minctasm). How sizes are chosen: ``passes/scheduling``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.attributes import BYTES, FLOPS, KERNEL, SCHEDULE, SLOW
from .base import Pass, PassError
from .costs.count import cost_of
from .domain import Domain
from .scheduling import cpu, gpu
from .tile import kernel_domain
from .tiling.registry import can_tile

TARGETS = ("cpu", "cuda")


@dataclass(frozen=True)
class Schedule(Pass):
    """Choose tile sizes for ``target``; ``tasks``: how many a big kernel should have at least on a CPU."""

    name: ClassVar[str] = "mlopt-schedule"
    target: str = "cpu"
    tasks: int = 32

    def run(self, op: ir.Operation) -> None:
        """Schedule each kernel of the module."""
        if self.target not in TARGETS:
            raise PassError(op, f"schedule: no target '{self.target}'; use one of {', '.join(TARGETS)}")
        for function in op.regions[0].blocks[0].operations:
            if KERNEL.get(function.operation):
                self._schedule(function.operation)

    def _schedule(self, function: ir.Operation) -> None:
        cost = cost_of(function)
        BYTES.set(function, cost.bytes)
        FLOPS.set(function, cost.flops)
        domain = kernel_domain(function)
        reason = domain if isinstance(domain, str) else can_tile(domain) or self._problem(domain)
        if isinstance(domain, str) or reason is not None:
            SLOW.set(function, reason or "")
            return
        SCHEDULE.set(function, self._choice(domain))

    def _problem(self, domain: Domain) -> str | None:
        return gpu.problem(domain) if self.target == "cuda" else None

    def _choice(self, domain: Domain) -> dict[str, tuple[int, ...]]:
        if self.target == "cuda":
            choice = gpu.choose(domain)
            tiles = tuple(choice.tiles[dim] for dim in domain.dims)
            return {"tile": tiles, "warps": (choice.warps,), "min_blocks": (choice.min_blocks,)}
        chosen = cpu.choose_tiles(domain, self.tasks)
        return {"tile": tuple(chosen[dim] for dim in domain.dims)}
