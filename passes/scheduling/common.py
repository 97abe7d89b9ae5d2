"""What every target's choice of tiles starts from: what legality leaves open, and how memory runs."""

from __future__ import annotations

from math import prod

from mlir import ir

from ..domain import Dim, Domain
from ..tiling import contraction
from ..tiling.access import Nest
from ..tiling.registry import SINGLE, WHOLE, rule_of

ROW = 64  # the size that a dynamic dim is taken for
TASKS = 32  # that a big kernel should have at least on a CPU


def products_at_once(domain: Domain) -> int:
    """How many products one tile of a result is made from, at most: those that meet in an epilogue."""
    return max(
        sum(rule_of(nest) is contraction for nest in _behind(domain, value)) for value in domain.results
    )


def _behind(domain: Domain, value: ir.Value) -> set[Nest]:
    """The nests that make ``value``, directly or not."""
    found: set[Nest] = set()
    waiting = [value]
    while waiting:
        made = domain.writer(waiting.pop())
        if made is not None and made[0] not in found:
            found.add(made[0])
            waiting += [access.value for access in made[0].reads if access is not None]
    return found


def forced(domain: Domain) -> dict[Dim, int]:
    """What legality leaves no choice about: whole rows, single elements, reduced dims."""
    tiles: dict[Dim, int] = {}
    for dim in domain.dims:
        if dim.whole or dim.extent in (0, 1) or dim.kind == "reduction":
            tiles[dim] = WHOLE
    for nest in domain.nests:
        for loop, size in rule_of(nest).needs(nest).items():
            dim = domain.loops(nest)[loop]
            if size == SINGLE and dim.extent != 1 and not dim.whole:
                tiles[dim] = SINGLE
    return tiles


def keep_inside(domain: Domain, tiles: dict[Dim, int]) -> None:
    """Let the tiles of a dim that is written into a part of a larger one divide it.

    The last tile is cut off where the buffer ends, not where the part does: a ragged one would
    overwrite what lies behind the part.
    """
    for nest in domain.nests:
        if nest.onto is None:
            continue
        loops = domain.loops(nest)
        for dim in (loops[loop] for index in nest.writes[0].indices if index.partial for loop in index.loops):
            tiles[dim] = _divisor(dim.extent, tiles.get(dim, WHOLE))


def _divisor(extent: int | None, size: int) -> int:
    """The largest divisor up to ``size``; all if that is much less and all is not much more."""
    if extent is None:
        return SINGLE
    if size == WHOLE or extent % size == 0:
        return size
    divisor = next(part for part in range(size, 0, -1) if extent % part == 0)
    return WHOLE if 2 * divisor < size and extent <= 4 * size else divisor


def memory_order(domain: Domain) -> list[Dim]:
    """The dims of the largest access, innermost first."""
    best: list[Dim] = []
    most = -1
    for nest in domain.nests:
        loops = domain.loops(nest)
        for access in (*nest.writes, *nest.reads):
            if access is None:
                continue
            dims = [loops[loop] for index in access.indices for loop in index.loops]
            size = prod(dim.extent or ROW for dim in dims)
            if size >= most:
                best, most = [dim for dim in reversed(dims) if dim.extent != 1], size
    return best or list(domain.dims[:1])


def innermost_dims(domain: Domain) -> set[Dim]:
    """The dims along which the kernel's large tensors are contiguous."""
    found = set()
    for nest in domain.nests:
        loops = domain.loops(nest)
        for access in (*nest.reads, *nest.writes):
            dims = [loops[loop] for index in access.indices for loop in index.loops] if access else []
            dims = [dim for dim in dims if dim.extent != 1]
            if len(dims) > 1:
                found.add(dims[-1])
    return found
