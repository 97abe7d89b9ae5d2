"""Sums of columns: some rows of memory at a time, with the columns' sums in a buffer.

    for rows in blocks of 16:
      for columns in strips: sums[columns] += ((x[0] + x[1]) + (x[2] + x[3])) + …

A strip of columns that walks down all rows reads a few bytes of each of thousands of pages. Blocks
read memory along its rows (4096^2: 7.0 to 3.4 ms). Each block is summed pairwise, from its first row
on, and joined to the sums of those before it; what is left over at the end is a shorter block. The
order depends on the tile's shape alone.

So it is where the sums are read by rows, as in x - x.mean(0): what all rows of a column read is made
ahead, in a buffer too, and the loops of the result have rows around columns (4096^2: 22 to 10 ms).
Sums of exp, as in softmax(0), stay in strips.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir

from ...combining import kept_dims, kind_of
from ...operations import defining_op
from .blocked import Sums
from .cover import Body, Cover, Inside, cover, known_extent
from .dims import Dim
from .emitter import Emitter
from .fragment import UNIT, Axis, Fragment, Strip, element_of, is_vector, keys_of, sizes_of
from .layout import Layout
from .panel import is_far_apart
from .reductions import looped_dims, source_strip
from .types import bits_of, bytes_of, combine
from .vectors import spread

ROWS = 16
# Of at least so many rows, whose parts that a task reads are at least panel.FAR_APART_BYTES apart.
_LEAST_ROWS = 32
_SUMS_BYTES = 32 * 1024


@dataclass(frozen=True)
class Columns:
    """What is made ahead for the columns, in this order, inside how many covers of the nest.

    Reductions, and what is made of them for a column and read in each of its rows.
    """

    ops: tuple[ir.OpView, ...]
    depth: int


def plan_columns(
    layout: Layout, roots: Sequence[ir.OpView], covers: Sequence[Cover]
) -> tuple[tuple[Cover, ...], Columns] | None:
    """Covers with rows around columns, if all roots are made from sums of columns alone, and blocks pay.

    The covers are those of the first root.
    """
    root, made = roots[0], _made_from(layout, roots)
    reductions = [op for op in made if op.operation.name == "vector.multi_reduction"]
    how = next((how for how in covers if how.lanes), None)
    if how is None or not reductions or any(op.operation.block != root.operation.block for op in reductions):
        return None
    written, names = layout.classes.all_of(root.valueToStore), _names(layout, reductions[0].results[0])
    lane, size = written[how.dim], sizes_of(root.valueToStore)[how.dim]
    kept = [each for each in covers if written[each.dim] in names]
    rows = [each for each in covers if written[each.dim] not in names]
    if lane not in names or kept[-1] != how or size <= how.width:
        return None
    if any(_names(layout, op.results[0]) != names or not _can_sum(op, size) for op in reductions):
        return None
    is_inside = bool(rows) and how == covers[-1]  # they would be made again for each row
    is_dear = bool(rows) and any(_is_dear(layout, op) for op in reductions)
    if not is_inside and (is_dear or not any(_should_sum(layout, op, lane) for op in reductions)):
        return None
    ahead = {op.operation for op in reductions} | _read_in_rows(layout, made, names)
    ops = tuple(op for op in root.operation.block.operations if op.operation in ahead)
    return (*kept[:-1], *rows, how), Columns(ops, len(kept) - 1)


def _made_from(layout: Layout, roots: Sequence[ir.OpView]) -> list[ir.OpView]:
    made = {op.operation: op for root in roots for op in layout.made_from(root.valueToStore)}
    return list(made.values())


def _names(layout: Layout, value: ir.Value) -> set[Dim]:
    return {known for known in layout.classes.all_of(value) if known is not None}


def _can_sum(op: ir.OpView, size: int) -> bool:
    """Whether there is something to sum, and its sums for ``size`` columns stay in L1."""
    return bool(looped_dims(op)) and size * bytes_of(element_of(op.source)) <= _SUMS_BYTES


def _should_sum(layout: Layout, op: ir.OpView, lane: Dim) -> bool:
    """Whether blocks of rows pay: there are enough of them, in pages of their own."""
    dims = looped_dims(op)
    return prod(sizes_of(op.source)[dim] for dim in dims) >= _LEAST_ROWS and any(
        layout.contiguous(read) == lane
        and layout.classes.of(op.source, dims[-1]) in layout.classes.all_of(read.results[0])
        and is_far_apart(read)
        for read in layout.reads_of([op.source])
    )


def _is_dear(layout: Layout, op: ir.OpView) -> bool:
    """Whether exp and the like are summed: of a block of them registers run over, and a strip keeps them."""
    return any(made.operation.name.startswith("math.") for made in layout.made_from(op.source))


def _read_in_rows(layout: Layout, made: Sequence[ir.OpView], names: set[Dim]) -> set[ir.Operation]:
    """What is made of reductions for a column, where it is spread along rows."""
    found = set()
    for op in made:
        if op.operation.name != "vector.broadcast" or _names(layout, op.results[0]) <= names:
            continue
        value = op.source
        while (reshape := defining_op(value, "vector.shape_cast")) is not None:
            value = reshape.operands[0]
        is_column = is_vector(value) and _names(layout, value) == names and bits_of(element_of(value)) >= 8
        if is_column and layout.summed(value):
            found.add(value.owner)
    return found


def emit_columns(em: Emitter, columns: Columns, inside: Inside) -> None:
    """Make all of it for the axes chosen so far, and have it read from buffers from now on."""
    em.scratches = {
        value: kept
        for value, kept in em.scratches.items()
        if isinstance(kept, Sums) or kept.owner not in columns.ops
    }
    for op in columns.ops:
        _emit_column(em, op, inside)


def _emit_column(em: Emitter, op: ir.OpView, inside: Inside) -> None:
    """One op's loops over the columns, which are the last cover."""
    how, written, classes = inside.covers[-1], inside.root.valueToStore, em.layout.classes
    made, extent = op.results[0], inside.extents[how.dim]
    chosen = {classes.of(written, dim): axis for dim, axis in inside.axes.items()}
    lane, names = classes.of(written, how.dim), classes.all_of(made)
    buffer = Sums(made, [dim for dim, known in enumerate(names) if known in chosen])

    def strip_of(axis: Axis) -> Strip:
        return tuple(axis if known == lane else chosen.get(known, UNIT) if known else UNIT for known in names)

    def start(axis: Axis, _: list[ir.Value]) -> list[ir.Value]:
        strip = strip_of(axis)
        buffer.store(em, strip, em.emit(op.acc if is_reduction else made, strip))
        return []

    is_reduction = op.operation.name == "vector.multi_reduction"
    cover(em, extent, how, True, [], start)
    if is_reduction:
        _add_rows(em, op, buffer, strip_of, lambda add: cover(em, extent, how, True, [], add))
    buffer.depth = em.depth
    em.scratches[made] = buffer


def _add_rows(
    em: Emitter,
    op: ir.OpView,
    sums: Sums,
    strip_of: Callable[[Axis], Strip],
    strips: Callable[[Body], object],
) -> None:
    """Add all rows to the sums, a block at a time; ``strips`` are the loops over columns."""
    kind, element, kept = kind_of(op), element_of(op.source), kept_dims(op)

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

        strips(add)

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

    nest(0, {})


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
