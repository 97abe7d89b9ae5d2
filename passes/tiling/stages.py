"""Element-wise work before a window: a task computes what its tile reads of it once, into scratch.

::

    %r = linalg.generic {relu} ins(%x)
    %p = tensor.insert_slice %r into (linalg.fill %c)[0, 1, 1] [8, 14, 14]
    %y = linalg.generic (c, i, j | ki, kj) ins(%p at (c, i + ki, j + kj), …)

A task that makes rows i to i + 3 of %y reads rows i - 1 to i + 4 of %r: a *stage*. It has a domain of its
own, of which a task's part (the hull of the window's positions) is known from the task's part of %y; the
window reads %r as an input of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from mlir import ir

from .access import Access, Index, Nest, shape_of
from .analysis import is_halved, loops_in

if TYPE_CHECKING:
    from ..domain import Dim, Domain

ALIGNMENT = 64  # bytes of a whole vector, of which the rows of a stage have a number


@dataclass(frozen=True, eq=False)
class Stage:
    """``reader`` reads a value by ``access``, through its padding; the ops of ``domain`` make it."""

    reader: Nest
    access: Access
    domain: Domain


def is_moved(access: Access) -> bool:
    """Whether a value is read at other positions than those of the loops, as by a window."""
    return any(not index.plain and not index.unit for index in access.indices)


def find_stages(
    nests: Sequence[Nest], results: Sequence[ir.Value]
) -> dict[ir.Value, tuple[Nest, Access, list[Nest]]] | str:
    """The values that windows among ``nests`` read of others: by whom, how, what makes them; or why not."""
    made_by = {write.value: nest for nest in nests for write in nest.writes}
    found: dict[ir.Value, tuple[Nest, Access, list[Nest]]] = {}
    for nest in nests:
        for access in nest.reads if nest.reductions else ():
            if access is None or access.value not in made_by or not is_moved(access):
                continue
            makers = _makers(access.value, nests, made_by)
            reason = _not_alone(access.value, nest, makers, nests, results) or _problem(nest, access, makers)
            if reason is not None:
                return reason
            found[access.value] = (nest, access, makers)
    return found


def without_stages(
    nests: Sequence[Nest], stages: Mapping[ir.Value, tuple[Nest, Access, list[Nest]]]
) -> tuple[list[Nest], dict[ir.Value, Nest]]:
    """The nests that are no part of a stage, and which one reads each; padding is written into stages."""
    gone = {maker for _, _, makers in stages.values() for maker in makers}
    kept, readers = [], {}
    for nest in nests:
        if nest in gone:
            continue
        own = [value for value, (reader, _, _) in stages.items() if reader is nest]
        if own:
            nest = replace(nest, reads=tuple(_unpadded(read, stages) for read in nest.reads))
        readers.update(dict.fromkeys(own, nest))
        kept.append(nest)
    return kept, readers


def _unpadded(
    read: Access | None, stages: Mapping[ir.Value, tuple[Nest, Access, list[Nest]]]
) -> Access | None:
    if read is None or read.value not in stages:
        return read
    return Access(read.value, tuple(replace(index, padded=False) for index in read.indices))


def window_range(nest: Nest, index: Index) -> tuple[int, int] | None:
    """The least and the most that the reduced loops add to ``index``; None if that is not known."""
    if isinstance(index.start, ir.Value):
        return None
    inner = loops_in(index.rest) if index.rest is not None else set()
    reduced = [loop for loop in index.loops if loop in nest.reductions]
    if index.stride != 1 and reduced:
        return None
    extents = {loop: nest.extents[loop] for loop in (*inner, *reduced)}
    if not inner <= set(nest.reductions) or None in extents.values():
        return None
    most = sum((nest.extents[loop] or 1) - 1 for loop in reduced)
    if index.rest is None:
        return 0, most
    context = len(nest.kinds)
    zero = [ir.AffineConstantExpr.get(0)] * context
    values = []
    for places in product(*(range(nest.extents[loop] or 1) for loop in inner)):
        at = list(zero)
        for loop, place in zip(inner, places, strict=True):
            at[loop] = ir.AffineConstantExpr.get(place)
        known = index.rest.compose(ir.AffineMap.get(0, 0, at))
        values.append(ir.AffineConstantExpr(ir.AffineExpr.simplify_affine_expr(known, 0, 0)).value)
    return min(values), max(values) + most


def part_sizes(nest: Nest, access: Access, sizes: Sequence[int]) -> list[int]:
    """How much of each dim a task reads, whose part of each loop has ``sizes``."""
    parts = []
    for index in access.indices:
        least, most = window_range(nest, index) or (0, 0)
        outer = sum(sizes[loop] - 1 for loop in index.loops if loop in nest.parallels) * index.stride
        parts.append(outer + most - least + 1)
    return parts


def memory_order(nest: Nest, access: Access, sizes: Sequence[int]) -> list[int]:
    """The dims of a stage from the outermost of memory: the one along the result's innermost comes last."""
    along = [loop for index in nest.writes[0].indices for loop in index.loops if sizes[loop] != 1]
    dims = [dim for loop in along for dim, index in enumerate(access.indices) if loop in index.loops]
    rank = len(access.indices)
    last = dims[-1] if dims else rank - 1
    return [*(dim for dim in range(rank) if dim != last), last]


def lead_of(before: int, element: ir.Type) -> int:
    """The elements before a row, so that what follows its first ``before``, padding, starts a vector."""
    return -before % _vector_of(element)


def memory_shape(access: Access, parts: Sequence[int], order: Sequence[int], lead: int) -> list[int]:
    """The memory of a stage: its rows are whole vectors.

    Where every other element is kept there is one behind the last, as they are read in pairs.
    """
    whole = _vector_of(access.value.type.element_type)
    *outer, row = (parts[dim] + is_halved(access, dim) for dim in order)
    return [*outer, -(-(lead + row) // whole) * whole]


def _vector_of(element: ir.Type) -> int:
    return ALIGNMENT // max(bits_of(element) // 8, 1)


def scratch_of(domain: Domain, tiles: Mapping[Dim, int]) -> int:
    """The bytes that a task of ``domain`` with these tile sizes needs for its stages, at most."""
    total = 0
    for value, stage in domain.stages.items():
        sizes = loop_sizes(domain, stage, tiles)
        parts = part_sizes(stage.reader, stage.access, sizes)
        order = memory_order(stage.reader, stage.access, sizes)
        element = value.type.element_type
        shape = memory_shape(stage.access, parts, order, lead_of(1, element))
        total += prod(shape) * max(bits_of(element) // 8, 1)
    return total


def loop_sizes(domain: Domain, stage: Stage, tiles: Mapping[Dim, int]) -> list[int]:
    """How much of each loop of a stage's reader one task has."""
    return [tiles.get(dim, 0) or dim.extent or 1 for dim in domain.loops(stage.reader)]


def bits_of(element: ir.Type) -> int:
    """How wide an element is; that of an index as in memory."""
    return int(element.width) if isinstance(element, (ir.FloatType, ir.IntegerType)) else 64


def _makers(value: ir.Value, nests: Sequence[Nest], made_by: Mapping[ir.Value, Nest]) -> list[Nest]:
    """The nests that make ``value``, directly or not, in order."""
    found: set[Nest] = set()
    pending = [value]
    while pending:
        nest = made_by.get(pending.pop())
        if nest is not None and nest not in found:
            found.add(nest)
            pending += [access.value for access in nest.reads if access is not None]
    return [nest for nest in nests if nest in found]


def _not_alone(
    value: ir.Value, reader: Nest, makers: Sequence[Nest], nests: Sequence[Nest], results: Sequence[ir.Value]
) -> str | None:
    """Why what ``makers`` make is needed elsewhere, too."""
    made = {write.value for maker in makers for write in maker.writes}
    others = [nest for nest in nests if nest not in makers and nest is not reader]
    reads = [access.value for nest in others for access in nest.reads if access is not None]
    reads += [access.value for access in reader.reads if access is not None and access.value != value]
    reads += [nest.onto for nest in others if nest.onto is not None]
    again = len([access for access in reader.reads if access is not None and access.value == value]) > 1
    if again or made & {*reads, *results}:
        return "what a window reads is needed elsewhere as well"
    return None


def _problem(reader: Nest, access: Access, makers: Sequence[Nest]) -> str | None:
    """Why a task cannot compute what its window reads of a value."""
    for maker in makers:
        inner = [op.operation.name for op in maker.body.operations] if maker.body is not None else []
        if any(not index.plain for write in maker.writes for index in write.indices):
            return "what is written ahead of a window has no loop for each dim"
        if maker.body is None or maker.reductions or {"tensor.extract", "cf.assert"} & {*inner}:
            return "only element-wise work is done ahead of a window"
    if is_halved(access, len(access.indices) - 1) and not all(map(_is_along_rows, makers)):
        return "what a window keeps every other element of is not computed along its rows"
    sizes = zip(shape_of(access.value), access.indices, strict=True)
    if any(not size for size, index in sizes if index.padded):
        return "where the padding of what a window reads begins is not known"
    if None in [reader.extents[loop] for loop in reader.reductions]:
        return "how far a window reaches is not known"
    return None


def _is_along_rows(maker: Nest) -> bool:
    """Whether neighbours in a row of what ``maker`` writes are read from neighbours in memory."""
    row = {loop for index in maker.writes[0].indices[-1:] for loop in index.loops}
    reads = (access for access in maker.reads if access is not None)
    return not any(row & {*index.loops} for access in reads for index in access.indices[:-1])


def is_bounded(stage: Stage) -> bool:
    """Whether it is known how much of a stage the window of a task reads."""
    moved = [dim for dim, index in enumerate(stage.access.indices) if not index.plain]
    shape = shape_of(stage.access.value)
    ranges = [window_range(stage.reader, stage.access.indices[dim]) for dim in moved]
    return None not in ranges and all(shape[dim] for dim in moved)
