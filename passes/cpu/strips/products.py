"""The loops around the stores of a contraction.

Lanes run along the dim in which an operand is contiguous and that is not summed (n of a matmul, the output
channels of a convolution); rows of another dim are unrolled so that the accumulators fill about half of the
registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from mlir import ir

from ...constants import integer_of
from ...powers import power_above
from .blocked import contraction_loops, plan_blocks, plan_channels, plan_turns, whole_block
from .bounds import DYNAMIC
from .cover import Cover
from .dims import Dim
from .edges import strips_apart
from .factors import loops_of, reduced_sizes
from .fragment import element_of, sizes_of
from .guests import Nest
from .layout import Layout
from .memory import memory_dims, walked_dim
from .panel import (
    FAR_APART_BYTES,
    LARGEST_BYTES,
    LARGEST_TURNED_BYTES,
    LEAST_ROWS,
    LONGEST_SIDE,
    Packing,
    is_far_apart,
    is_turned,
    plan_panels,
)
from .register_tiles import TALL_BYTES, TALL_SHAPES, narrow_tile, tall_tile, wide_tile
from .types import bits_of, bytes_of

# Bytes of a panel that needs no blocks, for each bit of a register: CPUs with 512 of them have 1 MB of cache
# and more for each core. (2048^3: 1 % less than with two blocks of 256 KB.)
_PANEL_BYTES_A_BIT = 1024
# A block of a window's weights that L1 holds for all rows of a task, where few rows of a tile share them. A
# Zen 3 core, beside ONNX Runtime: 64 channels of 56x56 by 3x3 0.89 (0.82 without), 512 of 7x7 1.14 (0.87).
_CHANNELS_BYTES = 20 * 1024


def product_nest(
    layout: Layout, root: ir.OpView, ops: Sequence[ir.OpView], vector_bits: int, most_lanes: int
) -> Nest | None:
    """The loops for a tile that the first of ``ops`` makes, vector.contracts; None if no operand has lanes.

    Other products of its shape run in the same strips, one after the other.
    """
    op = ops[0]
    mine, sizes = layout.classes.all_of(root.valueToStore), sizes_of(root.valueToStore)
    found = _lane_operand(layout, op, mine)
    if found is None:
        return None
    lane, operand = found
    shared = {known for known in layout.classes.all_of(operand) if known}
    rows = [dim for dim in range(len(sizes)) if mine[dim] and mine[dim] not in shared]
    order = memory_dims(root)
    rows.sort(key=lambda dim: order[dim] or 0)
    is_wide = vector_bits >= 512
    native = max(vector_bits // max(bits_of(element_of(op.acc)), 8), 1)
    row_size, all_rows = sizes[rows[-1]] if rows else 1, prod(sizes[dim] for dim in rows)
    is_tall = most_lanes >= TALL_SHAPES[0][0] * native
    of_window = _window_bytes(op, operand)
    a_lane = of_window or _column_bytes(layout, op, operand)
    if not is_wide:
        registers, count, blocks = narrow_tile(
            row_size, sizes[lane], native, most_lanes, bytes_of(element_of(operand))
        )
    elif is_tall and a_lane * most_lanes >= TALL_BYTES:
        registers, count, blocks = tall_tile(row_size, sizes[lane], native)
    else:
        reads = _reads_along(layout, [operand], mine[lane])
        turned = any(is_turned(read, dim) for read, dim in reads)
        column = 0 if turned else _depth(op) * bytes_of(element_of(operand))
        loose = all_rows < LEAST_ROWS and any(map(is_far_apart, (read for read, _ in reads)))
        registers, count, blocks = wide_tile(row_size, sizes[lane], native, most_lanes, column, loose)
    if registers & (registers - 1):
        registers, blocks = 1, registers * blocks  # loops carry vectors of 48 lanes badly
    lanes = min(registers * native, power_above(sizes[lane]))
    summed = layout.summed(root.valueToStore)

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
        # The tests of few rows take as long as the rows.
        turns = _turns_around(op) if is_wide else 0
        apart = strips_apart(along, row_size, count, turns)
        covers = [replace(how, apart=apart) if how.dim == rows[-1] else how for how in covers]
    covers.sort(key=place)
    products = _side_by_side(layout, ops, mine[lane])
    width = next(how.width for how in covers if how.dim == lane)
    how = Packing(
        width,
        all_rows,
        min(native, lanes, LONGEST_SIDE),
        largest=max(LARGEST_BYTES, vector_bits * _PANEL_BYTES_A_BIT // len(products)),
    )
    nest = Nest(tuple(covers), lanes)
    if of_window and len(products) == 1 and not plan_panels(products[0][1], how):
        half = vector_bits * _PANEL_BYTES_A_BIT
        plan, most = (plan_turns, half) if is_wide else (plan_channels, _CHANNELS_BYTES)
        cut = plan(layout, root, covers, lane, all_rows, of_window * width, most)
        if cut is not None:
            return replace(nest, blocks=(cut,))
    return _packed(nest, layout, root, products, lane, all_rows, how)


_Reads = list[tuple[ir.OpView, int]]  # each with its dim of the lanes


def _side_by_side(
    layout: Layout, ops: Sequence[ir.OpView], lane: Dim | None
) -> list[tuple[ir.OpView, _Reads]]:
    """Products of the first op's shape that read other columns, each with its reads of the lanes."""
    found: list[tuple[ir.OpView, _Reads]] = []
    columns: list[list[tuple[ir.Value, ir.Value]]] = []
    for op in ops:
        reads = _reads_along(layout, op.operands, lane)
        first = [(read.base, read.indices[memory_dims(read)[dim] or 0]) for read, dim in reads]
        alike = layout.classes.all_of(op.results[0]) == layout.classes.all_of(ops[0].results[0])
        if not found or (alike and first not in columns):
            found.append((op, reads))
            columns.append(first)
    return found


def _packed(
    nest: Nest,
    layout: Layout,
    root: ir.OpView,
    products: Sequence[tuple[ir.OpView, _Reads]],
    lane: int,
    rows: int,
    how: Packing,
) -> Nest:
    """The nest with the reads of its lanes packed, and cut into blocks, where that pays."""
    all_reads = [each for _, reads in products for each in reads]
    packed = plan_panels(all_reads, how)
    larger = replace(how, most_turned=LARGEST_TURNED_BYTES)
    uncut = replace(nest, packed=packed or plan_panels(all_reads, larger))
    loops = contraction_loops(layout, root)
    alone = len(products) == 1
    if (packed and alone) or len(loops) != len(products) or any(len(reads) != 1 for _, reads in products):
        return uncut
    tile, blocks = sizes_of(root.valueToStore), []
    for op, ((read, dim),) in products:
        loop = next((each for each in loops if walked_dim(each, read) is not None), None)
        if loop is None:
            return uncut
        element, cut = element_of(op.acc), None
        if not packed:
            cut = plan_blocks(loop, read, dim, nest.covers, lane, rows, tile, element)
        if cut is None and not alone:
            cut = whole_block(loop, nest.covers, lane, rows, element)
        if cut is None:
            return uncut
        window = None if packed else (walked_dim(loop, read) or 0, cut.size)
        nest = replace(nest, packed=nest.packed | plan_panels([(read, dim)], replace(how, window=window)))
        blocks.append(cut)
    return replace(nest, blocks=tuple(blocks))


def _window_bytes(op: ir.OpView, weights: ir.Value) -> int:
    """What a contraction in the loops of a window reads of a factor for a lane; 0 if there is no window."""
    return _depth(op) * bytes_of(element_of(weights)) if len(_loops_around(op)) > 1 else 0


def _column_bytes(layout: Layout, op: ir.OpView, lanes: ir.Value) -> int:
    """What a product reads for a lane of its smaller factor, a matrix of short rows; 0 of any other."""
    other = op.lhs if lanes == op.rhs else op.rhs
    bases = [read.base.type for value in (lanes, other) for read in layout.reads_of([value])]
    if len(bases) != 2 or bases[0].rank != 2 or any(DYNAMIC in base.shape for base in bases):
        return 0
    (depth, row), size = bases[0].shape, bytes_of(bases[0].element_type)
    is_smaller = depth * row <= prod(bases[1].shape)
    return depth * size if is_smaller and row * size < FAR_APART_BYTES else 0


def _depth(op: ir.OpView) -> int:
    """How many products a contraction and the loops around it add up to a number."""
    return prod(reduced_sizes(op).values()) * prod(map(_turns, _loops_around(op)))


def _loops_around(op: ir.OpView) -> list[ir.Operation]:
    """The loops that carry a contraction's sums, innermost first."""
    loops, loop = [], op.operation.parent
    while loop.name == "scf.for" and len(loop.results):
        loops.append(loop)
        loop = loop.parent
    return loops


def _turns_around(op: ir.OpView) -> int:
    """How often the loop around an op runs; 1 without one."""
    return _turns(op.operation.parent)


def _turns(loop: ir.Operation) -> int:
    bounds = [integer_of(operand) for operand in list(loop.operands)[:3]] if loop.name == "scf.for" else []
    known = [bound for bound in bounds if bound is not None]
    return -(-(known[1] - known[0]) // known[2]) if len(known) == 3 else 1


def _reads_along(layout: Layout, values: Iterable[ir.Value], dim: Dim | None) -> list[tuple[ir.OpView, int]]:
    """The reads that tiles are made from that have a class of dims, each with its dim of the class."""
    reads = [(read, layout.classes.all_of(read.results[0])) for read in layout.reads_of(values)]
    return [(read, classes.index(dim)) for read, classes in reads if dim in classes]


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
