"""The loops around the stores: which dim is the lane, what is unrolled, in which order.

- Element-wise and reducing kernels: lanes along the innermost dim written, four registers; none where
  that would gather what lies in rows and is summed along them: then the sums have the lanes.
- Contractions: lanes along the dim in which an operand is contiguous and that is not summed
  (n of a matmul, the output channels of a convolution); rows of another dim are unrolled so
  that the accumulators fill about half of the registers.
- Transposes: a block of one register by as many rows.
- Dims that some reduction sums come last, so that its result is made once, outside of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import gcd, prod

from mlir import ir
from mlir.dialects import arith

from ...constants import integer_of
from .blocked import contraction_loop, emit_blocks, plan_blocks, walked_dim
from .bounds import DYNAMIC, Extent, fits, range_of
from .columns import emit_columns, plan_columns
from .cover import Cover, Inside, cover
from .dims import Dim
from .edges import strips_apart
from .emitter import Emitter
from .factors import loops_of
from .fragment import UNIT, Axis, Strip, element_of, is_vector, sizes_of
from .guests import Guest, Nest
from .layout import Layout
from .memory import memory_dims, memory_size
from .panel import LARGEST_BYTES, LARGEST_TURNED_BYTES, LONGEST_SIDE, Packing, plan_panels
from .reduce import looped_dims
from .strided import is_dense
from .types import bits_of, widest
from .write import store_strip

# Native registers in a strip of lanes, at most.
REGISTERS = 4
# Bytes of a panel that needs no blocks, for each bit of a register: CPUs with 512 of them have 1 MB of cache
# and more for each core. (2048^3: 1 % less than with two blocks of 256 KB.)
_PANEL_BYTES_A_BIT = 1024
# Accumulators of a contraction, registers by rows, best first: with 32 registers and with 16.
WIDE_SHAPES = ((4, 4), (4, 6), (2, 8), (4, 5), (2, 7), (4, 3), (3, 8), (2, 6), (1, 8))
NARROW_SHAPES = ((2, 6), (2, 4), (2, 5), (1, 8), (1, 7), (2, 3))


def plan_nest(layout: Layout, root: ir.OpView, roots: Sequence[ir.OpView], vector_bits: int) -> Nest:
    """Choose the loops for the tile that a transfer_write stores; any of ``roots`` may be stored in them."""
    made = layout.made_from(root.valueToStore)
    most_lanes = REGISTERS * vector_bits // _widest_bits(layout, roots)
    contractions = [op for op in made if op.operation.name == "vector.contract"]
    if contractions:
        nest = _contraction_nest(layout, root, contractions[0], vector_bits, most_lanes)
        if nest is not None:
            return nest
    nest = _plain_nest(layout, root, made, most_lanes)
    return replace(nest, columns=plan_columns(layout, root, nest.covers)) if len(roots) == 1 else nest


def _widest_bits(layout: Layout, roots: Sequence[ir.OpView]) -> int:
    """The bits of the widest element in what these tiles are made from."""
    tiles = [root.valueToStore for root in roots]
    tiles += [value for tile in tiles for op in layout.made_from(tile) for value in op.results]
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
    summed = _summed(layout, made)
    apart = _reads_apart(layout, root, made, lane)
    is_made_of_sums = not any(layout.classes.of(root.valueToStore, dim) in summed for dim in wide)
    if is_made_of_sums and any(_runs_along(layout, read, summed) >= native for read in apart):
        return Nest(tuple(Cover(dim) for dim in wide), REGISTERS * native)
    registers = 1 if apart else REGISTERS
    lanes = min(registers * native, power_of_two(sizes[lane]))
    block = _transposed_dim(layout, root, made, lane)
    unroll = {}
    if block is not None:
        side = min(native, 16, power_of_two(sizes[block] + 1) // 2)
        lanes = min(lanes, max(min(native, 16), side))
        unroll[block] = min(side, lanes)
    covers = [Cover(dim, unroll.get(dim, 1), lanes if dim == lane else 0) for dim in wide]
    covers.sort(key=lambda how: layout.classes.of(root.valueToStore, how.dim) in summed)
    return Nest(tuple(covers), REGISTERS * native)


def power_of_two(size: int) -> int:
    """The least power of two that is not below ``size``."""
    return 1 << (size - 1).bit_length()


def _summed(layout: Layout, made: Sequence[ir.OpView]) -> set[Dim]:
    return {
        layout.classes.of(op.source, dim)
        for op in made
        if op.operation.name == "vector.multi_reduction"
        for dim in looped_dims(op)
    }


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


def _contraction_nest(
    layout: Layout, root: ir.OpView, op: ir.OpView, vector_bits: int, most_lanes: int
) -> Nest | None:
    mine, sizes = layout.classes.all_of(root.valueToStore), sizes_of(root.valueToStore)
    found = _lane_operand(layout, op, mine)
    if found is None:
        return None
    lane, operand = found
    shared = {known for known in layout.classes.all_of(operand) if known}
    rows = [dim for dim in range(len(sizes)) if mine[dim] and mine[dim] not in shared]
    order = memory_dims(root)
    rows.sort(key=lambda dim: order[dim] or 0)
    native = max(vector_bits // max(bits_of(element_of(op.acc)), 8), 1)
    row_size = sizes[rows[-1]] if rows else 1
    registers, count, blocks = _register_tile(row_size, sizes[lane], native, vector_bits, most_lanes)
    if registers & (registers - 1):
        registers, blocks = 1, registers  # loops carry vectors of 48 lanes badly
    lanes = min(registers * native, power_of_two(sizes[lane]))
    summed = _summed(layout, layout.made_from(root.valueToStore))

    def place(how: Cover) -> tuple[bool, int, int]:
        rank = 3 if rows and how.dim == rows[-1] else 2 if how.dim in rows else 1 if how.dim == lane else 0
        return mine[how.dim] in summed, rank, how.dim

    covers = [
        Cover(dim, blocks, lanes) if dim == lane else Cover(dim, count if rows and dim == rows[-1] else 1)
        for dim, size in enumerate(sizes)
        if size != 1
    ]
    if rows and count > 1:
        along = _reads_along(layout, op.operands, mine[rows[-1]])
        apart = strips_apart(along, row_size, count, _turns_around(op))
        covers = [replace(how, apart=apart) if how.dim == rows[-1] else how for how in covers]
    covers.sort(key=place)
    found_reads = _reads_along(layout, op.operands, mine[lane])
    all_rows = prod(sizes[dim] for dim in rows)
    how = Packing(
        next(how.width for how in covers if how.dim == lane),
        all_rows // prod(how.count for how in covers if how.dim != lane),
        min(native, lanes, LONGEST_SIDE),
        largest=max(LARGEST_BYTES, vector_bits * _PANEL_BYTES_A_BIT),
    )
    return _packed(Nest(tuple(covers), lanes), layout, root, op, lane, all_rows, how, found_reads)


def _packed(
    nest: Nest,
    layout: Layout,
    root: ir.OpView,
    op: ir.OpView,
    lane: int,
    rows: int,
    how: Packing,
    reads: Sequence[tuple[ir.OpView, int]],
) -> Nest:
    """The nest with the reads of its lanes packed, and cut into blocks, where that pays."""
    packed = plan_panels(reads, how)
    loop = contraction_loop(layout, root)
    if packed or loop is None or len(reads) != 1:
        return replace(nest, packed=packed or plan_panels(reads, replace(how, most=LARGEST_TURNED_BYTES)))
    read, dim = reads[0]
    tile = sizes_of(root.valueToStore)
    blocks = plan_blocks(loop, read, dim, nest.covers, lane, rows, tile, element_of(op.acc))
    walked = walked_dim(loop, read)
    if blocks is None or walked is None:
        return replace(nest, packed=plan_panels(reads, replace(how, most=LARGEST_TURNED_BYTES)))
    return replace(nest, packed=plan_panels(reads, replace(how, window=(walked, blocks.size))), blocks=blocks)


def _turns_around(op: ir.OpView) -> int:
    """How often the loop around an op runs; 1 without one."""
    loop = op.operation.parent
    bounds = [integer_of(operand) for operand in list(loop.operands)[:3]] if loop.name == "scf.for" else []
    known = [bound for bound in bounds if bound is not None]
    return -(-(known[1] - known[0]) // known[2]) if len(known) == 3 else 1


def _reads_along(layout: Layout, values: Iterable[ir.Value], dim: Dim | None) -> list[tuple[ir.OpView, int]]:
    """The reads that tiles are made from that have a class of dims, each with its dim of the class."""
    reads = [(read, layout.classes.all_of(read.results[0])) for read in reads_of(layout, values)]
    return [(read, classes.index(dim)) for read, classes in reads if dim in classes]


def reads_of(layout: Layout, values: Iterable[ir.Value]) -> list[ir.OpView]:
    """The reads that tiles are made from."""
    return [
        op
        for value in values
        for op in layout.made_from(value)
        if op.operation.name == "vector.transfer_read"
    ]


def _lane_operand(layout: Layout, op: ir.OpView, mine: Sequence[Dim | None]) -> tuple[int, ir.Value] | None:
    """The root's dim along which a contraction's operand is contiguous and unsummed, and that operand."""
    loops = loops_of(op)
    fallback = None
    for place in (1, 0):
        operand = op.operands[place]
        known = layout.classes.all_of(operand)
        free = [
            dim
            for dim, loop in enumerate(loops[place])
            if loop in loops[2] and known[dim] in mine and known[dim] is not None
        ]
        if not free:
            continue
        best = layout.innermost(operand, free)
        found = mine.index(known[best]), operand
        reads = [made for made in layout.made_from(operand) if made.operation.name == "vector.transfer_read"]
        if any(layout.contiguous(read) == known[best] for read in reads):
            return found
        fallback = fallback or found
    return fallback


def _register_tile(
    rows: int, columns: int, native: int, vector_bits: int, most_lanes: int
) -> tuple[int, int, int]:
    """(registers a row, rows, lane blocks) of the accumulators, with the least waste at the edges.

    An epilogue in wider elements than the accumulators' leaves room for fewer lanes.
    """
    all_shapes = WIDE_SHAPES if vector_bits >= 512 else NARROW_SHAPES
    shapes = [shape for shape in all_shapes if shape[0] * native <= most_lanes]

    def waste(shape: tuple[int, int]) -> int:
        width, height = shape[0] * native, min(shape[1], rows)
        return -(-rows // height) * height * -(-columns // width) * width

    registers, height = min(shapes, key=waste)
    height = min(height, rows)
    budget = all_shapes[0][0] * all_shapes[0][1]
    blocks = max(min(budget // (registers * height), columns // (registers * native)), 1)
    return registers, height, blocks


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
    once = any(updates(em.layout, each) for each in (root, *(guest.root for guest in guests)))

    def level(at: int, axes: dict[int, Axis]) -> list[ir.Value]:
        inside = Inside(root, nest.covers, extents, axes)
        if nest.blocks and nest.blocks.depth == at:
            emit_blocks(em, nest.blocks, inside)
        if nest.columns and nest.columns.depth == at:
            emit_columns(em, nest.columns, inside)
        if at == len(nest.covers):
            _store(em, root, tuple(axes.get(dim, UNIT) for dim in range(rank)))
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
    return any(read.base == root.base for read in reads_of(layout, [root.valueToStore]))


def _store(em: Emitter, root: ir.OpView, strip: Strip) -> None:
    with root.location:
        store_strip(em, root, strip)
