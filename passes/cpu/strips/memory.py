"""Where a transfer's positions lie in memory."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import memref

from ...constants import integer_of
from .bounds import DYNAMIC, Range, fits, range_of
from .emitter import Emitter
from .fragment import UNIT, Axis, Key, Strip, sizes_of


def memory_dims(op: ir.OpView) -> list[int | None]:
    """For each dim of a transfer's tile its memory dim; None if the read is broadcast along it."""
    dims: list[int | None] = []
    for result in ir.AffineMapAttr(op.attributes["permutation_map"]).value.results:
        dims.append(ir.AffineDimExpr(result).position if isinstance(result, ir.AffineDimExpr) else None)
    return dims


def lie_apart(one: ir.OpView, other: ir.OpView) -> bool:
    """Whether two transfers of one buffer are known to touch nothing in common."""
    sides = []
    for op in (one, other):
        sizes = dict(zip(memory_dims(op), sizes_of(tile_of(op)), strict=True))
        sides.append([(integer_of(index), sizes.get(dim, 1)) for dim, index in enumerate(op.indices)])
    return any(
        first is not None and second is not None and (first + size <= second or second + length <= first)
        for (first, size), (second, length) in zip(*sides, strict=True)
    )


def inside(op: ir.OpView, tile_dim: int, memory_dim: int, axis: Axis) -> bool:
    """Whether all valid positions of an axis are known to lie inside memory."""
    size = op.base.type.shape[memory_dim]
    index = op.indices[memory_dim]
    if op.in_bounds[tile_dim].value or fits(index, sizes_of(tile_of(op))[tile_dim], size):
        return True
    return axis.bound is not None and axis.bound[1] == size and axis.bound[0] == index


def range_at(op: ir.OpView, memory_dim: int, axis: Axis, step: int = 0) -> Range:
    """Where the ``step``-th position of an axis (the first of its lanes) may lie in a memory dim."""
    start, base = (
        range_of(op.indices[memory_dim]),
        Range(0, 0, 0) if axis.base is None else range_of(axis.base),
    )
    offset = axis.offset + step * max(axis.lanes, 1)
    low = None if start.low is None or base.low is None else start.low + base.low + offset
    high = None if start.high is None or base.high is None else start.high + base.high + offset
    return Range(low, high, 1)


def lies_inside(op: ir.OpView, tile_dim: int, memory_dim: int, axis: Axis, step: int) -> bool:
    """Whether the ``step``-th position of an axis is known to lie inside memory, if it is valid."""
    if inside(op, tile_dim, memory_dim, axis):
        return True
    size, known = op.base.type.shape[memory_dim], range_at(op, memory_dim, axis, step)
    if size == DYNAMIC or known.low is None or known.high is None:
        return False
    return known.low >= 0 and known.high + max(axis.lanes, 1) <= size


def tile_of(op: ir.OpView) -> ir.Value:
    """The tile that a transfer reads or writes."""
    return op.results[0] if len(op.results) else op.valueToStore


def memory_indices(
    em: Emitter, op: ir.OpView, dims: Sequence[int | None], strip: Strip, key: Key
) -> list[ir.Value]:
    """The memory index of the first lane at ``key``."""
    indices = [em.scalar(index) for index in op.indices]
    for dim, axis, step in zip(dims, strip, key, strict=True):
        if dim is None or axis == UNIT:
            continue
        indices[dim] = em.sum(indices[dim], em.position(axis, step))
    return indices


def memory_size(em: Emitter, source: ir.Value, dim: int) -> ir.Value:
    """The extent of a memory dim as an index."""
    size = source.type.shape[dim]
    if size != DYNAMIC:
        return em.index(size)
    axis = em.index(dim)
    with em.here():
        return memref.DimOp(source, axis).result


def has_room(op: ir.OpView, memory_dim: int, axis: Axis) -> bool:
    """Whether the lanes of an axis, valid or not, lie in a row of the task's scratch.

    Rows of scratch are written from first to last: what runs over is written over.
    """
    owner, shape = op.base.owner, op.base.type.shape
    if isinstance(owner, ir.Block) or owner.name != "memref.alloca" or memory_dim != len(shape) - 1:
        return False
    start = integer_of(op.indices[memory_dim]) if axis.base is None else None
    return start is not None and start + axis.offset + axis.count * axis.lanes <= shape[-1]


def walked_dim(loop: ir.OpView, read: ir.OpView) -> int | None:
    """The memory dim that a read in the loop indexes by the loop's own variable."""
    found = [dim for dim, index in enumerate(read.indices) if index == loop.induction_variable]
    return found[0] if len(found) == 1 else None
