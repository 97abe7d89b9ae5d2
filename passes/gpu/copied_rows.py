"""Rows of a convolution's windows side by side in memory, and its weights in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import constant, index_constant
from ..moving.reads import original
from ..operations import defining_op
from ..raising.reshape import grouped
from ..raising.slices import insert
from ..structured import (
    body_of,
    copy_generic,
    inits_of,
    inputs_of,
    kinds_of,
    loop_extents,
    make_copy,
    make_generic,
    maps_of,
    replace_op,
)
from ..tiling.pads import fill_of_pad


@dataclass(frozen=True)
class Row:
    """The loops along a row of a window, of the result's ``column``, places and channels, and what is beside.

    ``filled``: its places and channels with the zeros that fill it up. ``kept``: dims of the image that have
    other loops; ``outer``: other loops that are summed, ``made``: those that only the weights have.
    """

    column: int
    place: int
    channel: int
    filled: tuple[int, int]
    kept: tuple[int, ...]
    outer: tuple[int, ...]
    made: tuple[int, ...]


def copy_rows(op: ir.Operation, row: Row) -> None:
    """Let a convolution read copies of its rows, and of its weights in their order."""
    read, _, written = maps_of(op)
    kinds = kinds_of(op)
    stay = [loop for loop in range(len(kinds)) if loop not in (row.place, row.channel)]
    with op.location, ir.InsertionPoint(op):
        rows, weights = _rows_of(op, row), _weights_of(op, row)
        places = [ir.AffineConstantExpr.get(0)] * len(kinds)
        for at, loop in enumerate(stay):
            places[loop] = ir.AffineDimExpr.get(at)
        depth, count = ir.AffineDimExpr.get(len(stay)), len(stay) + 1
        turn = ir.AffineMap.get(count, 0, places)
        maps = (
            [*(read.results[dim].compose(turn) for dim in row.kept), places[row.column], depth],
            [*(places[loop] for loop in row.outer), depth, *(places[loop] for loop in row.made)],
            [places[loop] for loop in loops_of(written)],
        )
        made = copy_generic(
            op,
            [rows, weights, *inits_of(op)],
            at=ir.InsertionPoint(op),
            maps=[ir.AffineMap.get(count, 0, exprs) for exprs in maps],
            kinds=[*(kinds[loop] for loop in stay), "reduction"],
        )
    replace_op(op, list(made.results))


def _rows_of(op: ir.Operation, row: Row) -> ir.Value:
    """The rows of an image, one for each column of the result."""
    image, read, kept = inputs_of(op)[0], maps_of(op)[0], len(row.kept)
    shape = shape_of(op, row)
    rank, element = len(shape), image.type.element_type
    loops = [ir.AffineConstantExpr.get(0)] * read.n_dims
    for at, loop in enumerate((row.column, row.place, row.channel), kept):
        loops[loop] = ir.AffineDimExpr.get(at)
    turn = ir.AffineMap.get(rank, 0, loops)
    exprs = [
        ir.AffineDimExpr.get(row.kept.index(dim)) if dim in row.kept else expr.compose(turn)
        for dim, expr in enumerate(read.results)
    ]
    last = ir.AffineMap.get(0, 0, [ir.AffineConstantExpr.get(size - 1) for size in shape])
    ends = [ir.AffineConstantExpr(expr.compose(last)).value + 1 for expr in exprs]
    source = _padded(image, [*map(max, image.type.shape, ends)])
    made = make_generic(
        [source],
        [tensor.EmptyOp(shape, element).result],
        [ir.AffineMap.get(rank, 0, exprs), ir.AffineMap.get_identity(rank)],
        ["parallel"] * rank,
        "rows",
        location=op.location,
        at=ir.InsertionPoint(op),
    )
    places = loop_extents(op)[row.place] or 0
    with ir.InsertionPoint(body_of(made)):
        value = body_of(made).arguments[0]
        if row.filled[0] > places:
            place = linalg.IndexOp(kept + 1).result
            inside = arith.cmpi(arith.CmpIPredicate.ult, place, index_constant(places))
            value = arith.select(inside, value, constant(ir.FloatAttr.get(element, 0.0)))
        linalg.YieldOp([value])
    return _joined(made.results[0], kept + 1)


def _weights_of(op: ir.Operation, row: Row) -> ir.Value:
    """The weights in the order of rows, with zeros, turned once."""
    weights, where = original(op, 1)
    loops, order = loops_of(where), [*row.outer, row.place, row.channel, *row.made]
    sizes = [weights.type.shape[loops.index(loop)] for loop in order]
    empty = tensor.EmptyOp(sizes, weights.type.element_type).result
    read = ir.AffineMap.get(len(order), 0, [ir.AffineDimExpr.get(order.index(loop)) for loop in loops])
    at = ir.InsertionPoint(op)
    turned = make_copy(weights, empty, read, "transpose", location=op.location, at=at).results[0]
    first = len(row.outer)
    sizes[first : first + 2] = row.filled
    return _joined(_padded(turned, sizes), first)


def _padded(source: ir.Value, sizes: Sequence[int]) -> ir.Value:
    """A tensor with zeros behind it; what is padded already is padded once."""
    if list(source.type.shape) == list(sizes):
        return source
    pad = defining_op(source, "tensor.insert_slice")
    starts = [0] * len(sizes)
    if pad is not None and fill_of_pad(pad) is not None:
        source, starts = pad.operands[0], list(pad.opview.static_offsets)
    zero = constant(ir.FloatAttr.get(source.type.element_type, 0.0))
    onto = linalg.fill(zero, outs=[tensor.EmptyOp(sizes, source.type.element_type).result])
    return insert(source, onto, starts, list(source.type.shape), "pad")


def _joined(value: ir.Value, first: int) -> ir.Value:
    """A tensor of which the dim ``first`` and the next one are one."""
    shape = list(value.type.shape)
    groups = [[dim] for dim in range(first)] + [[first, first + 1]]
    groups += [[dim] for dim in range(first + 2, len(shape))]
    sizes = [prod(shape[dim] for dim in group) for group in groups]
    kind = ir.RankedTensorType.get(sizes, value.type.element_type)
    return tensor.CollapseShapeOp(kind, value, grouped(groups)).result


def loops_of(where: ir.AffineMap) -> list[int]:
    """The loop of each dim, of a map of loops as they are."""
    return [ir.AffineDimExpr(expr).position for expr in where.results]


def shape_of(op: ir.Operation, row: Row) -> list[int]:
    """The shape of all rows, with their places and channels apart."""
    sizes = inputs_of(op)[0].type.shape
    return [*(sizes[dim] for dim in row.kept), loop_extents(op)[row.column] or 0, *row.filled]
