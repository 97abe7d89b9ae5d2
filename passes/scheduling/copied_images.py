"""What a convolution on tensor cores is predicted to take behind a copy of its image in another order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlir import ir

from ..costs.machine import find_machine
from ..domain import Domain
from ..tiling import contraction
from ..tiling.registry import rule_of
from .block_times import LATENCY, estimates
from .gpu_products import tensor_product


@dataclass(frozen=True)
class Times:
    """Seconds of a convolution ``behind`` the ``copy``, of this, and of the convolution ``alone``."""

    behind: float
    copy: float
    alone: float

    @property
    def saved(self) -> float:
        """What the copy saves."""
        return self.alone - self.behind - self.copy

    def told(self, how: str) -> str:
        """In words; ``how`` the image lies there."""
        behind, copy, alone = (1e6 * each for each in (self.behind, self.copy, self.alone))
        return f"takes {behind:.1f} µs behind a copy of {copy:.1f} with {how}, alone {alone:.1f}"


def times_of(
    op: ir.Operation, size: int, machine: str, shared: int, depth: int = 0, around: int = 0
) -> Times | None:
    """The times of a convolution, which reads a copy along the depth.

    ``size``: bytes that the copy reads and writes; ``depth`` and ``around``: those of the product, unless 0,
    as it reads the copy. None if tensor cores cannot make it.
    """
    domain = Domain.build([op], list(op.results))
    if isinstance(domain, str) or rule_of(domain.nests[0]) is not contraction:
        return None
    product = tensor_product(domain, domain.nests[0])
    if product is None:
        return None
    behind = replace(
        product,
        rows=product.rows * product.count,
        count=1,
        depth=depth or product.depth,
        around=around or product.around,
        loose=False,
        turned=(False, True),
        extents=(),
    )
    one, other = (estimates(each, machine, shared) for each in (behind, product))
    if not one or not other:
        return None
    known = find_machine(machine)
    rate = known.cache_bandwidth if size < known.cache / 2 else known.bandwidth
    return Times(one[0].seconds, known.launch + LATENCY + size / rate, other[0].seconds)
