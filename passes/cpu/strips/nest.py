"""The loops around the stores: which dim is the lane, what is unrolled, in which order.

- Element-wise and reducing kernels: lanes along the innermost dim written, four registers; none where
  that would gather what lies in rows and is summed along them: then the sums have the lanes.
- Contractions: `products`.
- Transposes: a block of one register by as many rows.
- Dims that some reduction sums come last, so that its result is made once, outside of them.
- Scans: as memory holds what is written, so that a loop along rows carries totals, or one of rows runs over
  columns (`scan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from mlir import ir
from mlir.dialects import arith

from ...powers import power_above
from .blocked import emit_blocks
from .bounds import DYNAMIC, Extent, fits, range_of
from .columns import emit_columns, plan_columns
from .cover import Cover, Inside, cover
from .dims import Dim
from .emitter import Emitter
from .fragment import UNIT, Axis, Strip, element_of, is_vector, sizes_of
from .guests import Guest, Nest
from .layout import Layout
from .memory import memory_dims, memory_size
from .prefetch_row import prefetch_row
from .prefetch_tile import prefetch_result
from .products import product_nest
from .scan import cover_scanned, dim_along, keep_columns, scans_behind, start_columns
from .strided import is_dense
from .types import widest
from .write import store_strip

# Native registers in a strip of lanes, at most.
REGISTERS = 4


def plan_nest(layout: Layout, root: ir.OpView, roots: Sequence[ir.OpView], vector_bits: int) -> Nest:
    """Choose the loops for the tile that a transfer_write stores; any of ``roots`` may be stored in them."""
    made = layout.made_from(root.valueToStore)
    most_lanes = REGISTERS * vector_bits // _widest_bits(layout, [each.valueToStore for each in roots])
    contractions = [op for op in made if op.operation.name == "vector.contract"]
    if contractions:
        nest = product_nest(layout, root, contractions, vector_bits, most_lanes)
        if nest is not None:
            return nest
    nest = _plain_nest(layout, root, made, most_lanes)
    if any(op.operation.name == "vector.scan" for op in made):
        return replace(nest, covers=_in_memory_order(root, nest.lanes))
    if any(sizes_of(each.valueToStore) != sizes_of(root.valueToStore) for each in roots):
        return nest
    others = [each for each in roots if each != root]
    planned = plan_columns(layout, [root, *others], nest.covers)
    return nest if planned is None else replace(nest, covers=planned[0], columns=planned[1])


def full_lanes(layout: Layout, value: ir.Value, vector_bits: int) -> int:
    """The lanes of a full strip where ``value``, of which there is one, is made from tiles."""
    return REGISTERS * max(vector_bits // _widest_bits(layout, [value]), 1)


def _widest_bits(layout: Layout, values: Sequence[ir.Value]) -> int:
    """The bits of the widest element in the tiles among ``values`` and what they are made from."""
    tiles = [*values, *(value for each in values for op in layout.made_from(each) for value in op.results)]
    return widest(element_of(tile) for tile in tiles if is_vector(tile))


def _plain_nest(layout: Layout, root: ir.OpView, made: Sequence[ir.OpView], most_lanes: int) -> Nest:
    sizes = sizes_of(root.valueToStore)
    native = max(most_lanes // REGISTERS, 1)
    wide = [dim for dim, size in enumerate(sizes) if size != 1]
    order = memory_dims(root)
    wide.sort(key=lambda dim: order[dim] or 0)
    if not wide:
        return Nest(tuple(Cover(dim) for dim in range(len(sizes))), REGISTERS * native)
    lane = wide[-1]
    summed = layout.summed(root.valueToStore)
    apart = _reads_apart(layout, root, made, lane)
    is_made_of_sums = not any(layout.classes.of(root.valueToStore, dim) in summed for dim in wide)
    if is_made_of_sums and any(_runs_along(layout, read, summed) >= native for read in apart):
        return Nest(tuple(Cover(dim) for dim in wide), REGISTERS * native)
    registers = 1 if apart else REGISTERS
    lanes = min(registers * native, power_above(sizes[lane]))
    block = _transposed_dim(layout, root, made, lane)
    unroll = {}
    if block is not None:
        side = min(native, 16, power_above(sizes[block] + 1) // 2)
        lanes = min(lanes, max(min(native, 16), side))
        unroll[block] = min(side, lanes)
    covers = [Cover(dim, unroll.get(dim, 1), lanes if dim == lane else 0) for dim in wide]
    covers.sort(key=lambda how: layout.classes.of(root.valueToStore, how.dim) in summed)
    return Nest(tuple(covers), REGISTERS * native)


def _in_memory_order(root: ir.OpView, most_lanes: int) -> tuple[Cover, ...]:
    """The covers of a tile as memory holds it, with lanes along the innermost one."""
    sizes, order = sizes_of(root.valueToStore), memory_dims(root)
    wide = sorted((dim for dim, size in enumerate(sizes) if size != 1), key=lambda dim: order[dim] or 0)
    lanes = [min(most_lanes, power_above(sizes[dim])) if dim == wide[-1] else 0 for dim in wide]
    return tuple(Cover(dim, 1, count) for dim, count in zip(wide, lanes, strict=True))


def _reads_apart(layout: Layout, root: ir.OpView, made: Sequence[ir.OpView], lane: int) -> list[ir.OpView]:
    """The reads in which lanes along ``lane`` are far apart in memory."""
    known = layout.classes.of(root.valueToStore, lane)
    found = []
    for op in made:
        if op.operation.name == "vector.transfer_read" and known in layout.classes.all_of(op.results[0]):
            place = memory_dims(op)[layout.classes.all_of(op.results[0]).index(known)]
            if place is not None and place != op.base.type.rank - 1 and not is_dense(op.base, place):
                found.append(op)
    return found


def _runs_along(layout: Layout, read: ir.OpView, summed: set[Dim]) -> int:
    """How long the tile of a read is along memory's innermost dim, if that is summed; else 0."""
    innermost = layout.contiguous(read)
    if innermost is None or innermost not in summed:
        return 0
    return sizes_of(read.results[0])[layout.classes.all_of(read.results[0]).index(innermost)]


def _transposed_dim(layout: Layout, root: ir.OpView, made: Sequence[ir.OpView], lane: int) -> int | None:
    """A dim of the root that is contiguous in a read which has the lane dim as another one."""
    mine = layout.classes.all_of(root.valueToStore)
    for op in made:
        if op.operation.name != "vector.transfer_read":
            continue
        found = layout.contiguous(op)
        if (
            found is not None
            and found != mine[lane]
            and found in mine
            and (mine[lane] in layout.classes.all_of(op.results[0]))
        ):
            return mine.index(found)
    return None


def extent_of(em: Emitter, root: ir.OpView, dim: int) -> Extent:
    """How many positions of a written tile's dim lie in memory."""
    tile = sizes_of(root.valueToStore)[dim]
    place = memory_dims(root)[dim]
    assert place is not None
    index, size = root.indices[place], root.base.type.shape[place]
    if root.in_bounds[dim].value or fits(index, tile, size):
        return Extent(tile, None, tile, tile, tile, (index, size))
    known = range_of(index)
    start, total, most = em.scalar(index), memory_size(em, root.base, place), em.index(tile)
    with em.here():
        left = arith.MinSIOp(arith.SubIOp(total, start).result, most).result
    em.place(left)
    if size == DYNAMIC or known.high is None:
        return Extent(None, left, tile, 1, 1, (index, size))
    least, multiple = min(size - known.high, tile), gcd(tile, size, known.multiple)
    return Extent(None, left, tile, least, multiple, (index, size))


def emit_nest(em: Emitter, root: ir.OpView, nest: Nest, guests: Sequence[Guest]) -> None:
    """The loops of a nest with the stores of its root, and those of its guests where they fit in."""
    rank = len(sizes_of(root.valueToStore))
    extents = {how.dim: extent_of(em, root, how.dim) for how in nest.covers}
    em.lanes, em.packed = nest.lanes, nest.packed
    written = [root, *(guest.root for guest in guests)]
    scans = scans_behind(em.layout, [each.valueToStore for each in written])
    scanned = dim_along(em.layout, root.valueToStore, scans) if scans else None
    once = bool(scans) or any(updates(em.layout, each) for each in written)
    dims = em.layout.classes.all_of(root.valueToStore)

    def start(at: int, axes: dict[int, Axis]) -> list[ir.Value]:
        if at == len(nest.covers):
            start_columns(em, scans, lambda dim: axes.get(dims.index(dim), UNIT))
        else:
            how = nest.covers[at]
            cover(em, extents[how.dim], how, once, [], lambda axis, _: start(at + 1, {**axes, how.dim: axis}))
        return []

    def level(at: int, axes: dict[int, Axis]) -> list[ir.Value]:
        inside = Inside(root, nest.covers, extents, axes)
        for blocks in nest.blocks:
            if blocks.depth == at:
                emit_blocks(em, blocks, inside)
        if nest.columns and nest.columns.depth == at:
            emit_columns(em, nest.columns, inside)
        if at == len(nest.covers):
            _store(em, root, tuple(axes.get(dim, UNIT) for dim in range(rank)))
        elif nest.covers[at].dim == scanned:
            how = nest.covers[at]
            if not how.lanes:
                keep_columns(em, scans, {dims[inner.dim] for inner in nest.covers[at + 1 :]})
                start(at + 1, axes)
            cover_scanned(
                em, extents[how.dim], how, scans, lambda axis: level(at + 1, {**axes, how.dim: axis})
            )
        else:
            how = nest.covers[at]
            cover(
                em,
                extents[how.dim],
                how,
                once,
                [],
                lambda axis, _: level(at + 1, {**axes, how.dim: axis}),
            )
        for guest in guests:
            if guest.depth == at:
                _store(
                    em, guest.root, tuple(UNIT if dim is None else axes.get(dim, UNIT) for dim in guest.dims)
                )
        return []

    level(0, {})


def updates(layout: Layout, root: ir.OpView) -> bool:
    """Whether a written tile is made from what its buffer held: no position may be visited twice."""
    return any(read.base == root.base for read in layout.reads_of([root.valueToStore]))


def _store(em: Emitter, root: ir.OpView, strip: Strip) -> None:
    with root.location:
        prefetch_row(em, root, strip)
        prefetch_result(em, root, strip)
        store_strip(em, root, strip)
