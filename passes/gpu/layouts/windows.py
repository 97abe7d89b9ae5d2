"""Windows that overlap along memory: a thread may load its part of a row, and have the rest from beside.

Of a maximum of 3x3 at every other place of f32 a thread with two results of a row takes the columns -1 to 3
from where it begins: 0 to 3 are one access of 16 bytes, and -1 is the last one of the lane before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from mlir import ir

from ...constants import integer_of
from ...divisors import divisor
from .access import FEW_STEPS, WIDE, Access
from .linear import Linear, linear_of
from .tiles import sizes_of


@dataclass(frozen=True)
class Overlap:
    """How a tile's elements lie in their rows.

    ``dim``: the tile's dim along the rows; ``step``: from one of its elements to the next in memory.
    ``rows``: whether windows share rows along the next dim, too.
    """

    dim: int
    step: int
    rows: bool


def overlap_of(access: Access) -> Overlap | None:
    """How the windows lie in rows of whole accesses, which loops that are written out read; else None.

    Each step of these reads at most an access before or behind where a thread's own accesses lie.
    """
    order, kind = access.order(), ir.MemRefType(access.buffer.type)
    loops = _written_out(access.op)
    if not loops or not order or access.step != 1 or not kind.has_static_shape:
        return None
    dim, wide = order[0], WIDE // access.element_bytes
    memory = access.dims[dim]
    step, size = prod(kind.shape[memory + 1 :]), sizes_of(access.tile)[dim]
    if step >= wide or wide % step or kind.shape[memory] * step % wide or size * step % wide:
        return None
    distances = set[int]()
    for numbers in product(*loops.values()):
        own = along_row(access, memory, dict(zip(loops, numbers, strict=True)))
        if any(factor * divisor(value) % wide for value, factor in own.terms.items()):
            return None
        if not access.in_bounds[dim] and not _begins_tile(own, size * step, kind.shape[memory] * step):
            return None
        distances.add(own.constant)
    if all(0 <= distance < step for distance in distances):
        return None  # they lie side by side
    if not all(-wide <= distance <= wide for distance in distances):
        return None
    return Overlap(dim, step, len(order) > 1 and _is_in_loop(access, access.dims[order[1]], loops))


def along_row(access: Access, memory: int, known: Mapping[ir.Value, int]) -> Linear:
    """How far a tile begins from its row's first element: what the dims from ``memory`` on make of it."""
    shape, place = list(ir.MemRefType(access.buffer.type).shape), Linear()
    for at in range(memory, len(shape)):
        place = place.plus(linear_of(access.indices[at], known), prod(shape[at + 1 :]))
    return place


def _written_out(op: ir.Operation) -> dict[ir.Value, range]:
    """The variables of the loops around ``op`` that have few steps, and these."""
    found, loop = dict[ir.Value, range](), op.parent.operation
    while loop.name == "scf.for":
        first, end, step = (integer_of(bound) for bound in list(loop.operands)[:3])
        if first is None or end is None or step is None or len(range(first, end, step)) > FEW_STEPS:
            break
        found[loop.regions[0].blocks[0].arguments[0]] = range(first, end, step)
        loop = loop.parent.operation
    return found


def _begins_tile(place: Linear, tile: int, row: int) -> bool:
    """Whether tiles, but for what is added to all of them, divide their row."""
    return row % tile == 0 and all(
        factor * divisor(value) % tile == 0 for value, factor in place.terms.items()
    )


def _is_in_loop(access: Access, memory: int, loops: Mapping[ir.Value, range]) -> bool:
    """Whether an index changes with some of the loops."""
    ends = [{value: where[at] for value, where in loops.items()} for at in (0, -1)]
    first, last = (linear_of(access.indices[memory], each) for each in ends)
    return first != last
