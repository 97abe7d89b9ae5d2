"""Sums of columns: some rows of memory at a time, with the columns' sums in a buffer.

    for rows in blocks of 16:
      for columns in strips: sums[columns] += ((x[0] + x[1]) + (x[2] + x[3])) + …

A strip of columns that walks down all rows reads a few bytes of each of thousands of pages. Blocks
read memory along its rows (4096^2: 7.0 to 3.4 ms). Each block is summed pairwise, from its first row
on, and joined to the sums of those before it; what is left over at the end is a shorter block. The
order depends on the tile's shape alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir

from ...combining import kept_dims, kind_of
from .blocked import Sums
from .cover import Cover, Inside, cover, known_extent
from .emitter import Emitter
from .fragment import UNIT, Axis, Fragment, Strip, element_of, keys_of, sizes_of
from .layout import Layout
from .panel import is_far_apart
from .reduce import looped_dims, source_strip
from .types import bytes_of, combine
from .vectors import spread

ROWS = 16
# Of at least so many rows, whose parts that a task reads are at least panel.FAR_APART_BYTES apart.
_LEAST_ROWS = 32
_SUMS_BYTES = 32 * 1024


@dataclass(frozen=True)
class Columns:
    """The reduction that is made so, inside how many covers of the nest."""

    op: ir.OpView
    depth: int


def plan_columns(layout: Layout, root: ir.OpView, covers: Sequence[Cover]) -> Columns | None:
    """Whether the root is made from the sums of columns alone, and blocks of rows pay."""
    reductions = [
        op for op in layout.made_from(root.valueToStore) if op.operation.name == "vector.multi_reduction"
    ]
    place = next((at for at, how in enumerate(covers) if how.lanes), None)
    if len(reductions) != 1 or place is None or place != len(covers) - 1:
        return None
    if reductions[0].operation.block != root.operation.block:
        return None
    op, lane = reductions[0], layout.classes.of(root.valueToStore, covers[place].dim)
    size = sizes_of(root.valueToStore)[covers[place].dim]
    kept, rows = layout.classes.all_of(op.results[0]), looped_dims(op)
    summed = [layout.classes.of(op.source, dim) for dim in rows]
    if lane is None or lane not in kept or not rows or size <= covers[place].width:
        return None
    if any(known is None or known in layout.classes.all_of(root.valueToStore) for known in summed):
        return None
    if prod(sizes_of(op.source)[dim] for dim in rows) < _LEAST_ROWS:
        return None
    if size * bytes_of(element_of(op.source)) > _SUMS_BYTES:
        return None
    reads = [made for made in layout.made_from(op.source) if made.operation.name == "vector.transfer_read"]
    apart = any(
        layout.contiguous(read) == lane
        and summed[-1] in layout.classes.all_of(read.results[0])
        and is_far_apart(read)
        for read in reads
    )
    return Columns(op, place) if apart else None


def emit_columns(em: Emitter, columns: Columns, inside: Inside) -> None:
    """Make the sums for the axes chosen so far, and have them read from the buffer from now on."""
    op, how, kept = columns.op, inside.covers[columns.depth], kept_dims(columns.op)
    total, classes = op.results[0], em.layout.classes
    kind, element = kind_of(op), element_of(op.source)
    written, extent = inside.root.valueToStore, inside.extents[how.dim]
    chosen = {classes.of(written, dim): axis for dim, axis in inside.axes.items()}
    lane = classes.of(written, how.dim)
    names = classes.all_of(total)
    sums = Sums(total, [dim for dim, known in enumerate(names) if known in chosen])

    def strip_of(axis: Axis) -> Strip:
        return tuple(axis if known == lane else chosen.get(known, UNIT) if known else UNIT for known in names)

    def start(axis: Axis, _: list[ir.Value]) -> list[ir.Value]:
        strip = strip_of(axis)
        sums.store(em, strip, em.emit(op.acc, strip))
        return []

    def block(reduced: dict[int, Axis]) -> None:
        def add(axis: Axis, _: list[ir.Value]) -> list[ir.Value]:
            strip = strip_of(axis)
            asked = source_strip(op, strip, reduced)
            rows = em.emit(op.source, asked)
            before = sums.load(em, strip)
            joined = {}
            for key in keys_of(strip):
                parts = [
                    _spread(em, rows[at], axis.lanes)
                    for at in keys_of(asked)
                    if tuple(at[dim] for dim in kept) == key
                ]
                with em.here():
                    joined[key] = combine(kind, before[key], _pairwise(kind, parts, element), element)
            sums.store(em, strip, Fragment(joined))
            return []

        cover(em, extent, how, True, [], add)

    dims = looped_dims(op)
    blocks = [*(Cover(dim) for dim in dims[:-1]), Cover(dims[-1], ROWS)]

    def nest(at: int, reduced: dict[int, Axis]) -> list[ir.Value]:
        if at == len(blocks):
            block(reduced)
            return []
        rows, dim = blocks[at], blocks[at].dim
        every = known_extent(sizes_of(op.source)[dim])
        cover(em, every, rows, True, [], lambda axis, _: nest(at + 1, {**reduced, dim: axis}))
        return []

    cover(em, extent, how, True, [], start)
    nest(0, {})
    sums.depth = em.depth
    em.scratches[total] = sums


def _spread(em: Emitter, value: ir.Value, lanes: int) -> ir.Value:
    """A vector of a row's values, where new ops go."""
    with em.here():
        return spread(value, lanes)


def _pairwise(kind: str, parts: list[ir.Value], element: ir.Type) -> ir.Value:
    while len(parts) > 1:
        pairs = [
            combine(kind, left, right, element) for left, right in zip(parts[::2], parts[1::2], strict=False)
        ]
        parts = [*pairs, *parts[len(pairs) * 2 :]]
    return parts[0]
