"""What the loops of vector.multi_reduction share: dims, strips of the source, lanes."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, vector

from ...combining import reduced_dims
from .emitter import Emitter
from .fragment import UNIT, Axis, Key, Strip, is_vector, lane_of, sizes_of
from .masks import lane_mask
from .types import combine
from .vectors import spread


def looped_dims(op: ir.OpView) -> list[int]:
    """The dims of the source that a multi_reduction takes away, unit dims left out."""
    sizes = sizes_of(op.operands[0])
    return [dim for dim in reduced_dims(op) if sizes[dim] != 1]


def source_strip(op: ir.OpView, kept: Strip, reduced: dict[int, Axis]) -> Strip:
    """The source's strip for the result's strip and the positions in the reduced dims."""
    gone, rest = reduced_dims(op), iter(kept)
    return tuple(
        reduced.get(dim, UNIT) if dim in gone else next(rest) for dim in range(len(sizes_of(op.operands[0])))
    )


def source_key(op: vector.MultiDimReductionOp, key: Key) -> Key:
    """The key in the source of what is at ``key`` in the result."""
    gone, rest = reduced_dims(op), iter(key)
    return tuple(0 if dim in gone else next(rest) for dim in range(len(sizes_of(op.source))))


def counted(em: Emitter, total: ir.Value, value: ir.Value, strip: Strip, start: ir.Value) -> ir.Value:
    """``value`` as wide as ``total``, and ``start`` in the lanes that do not count."""
    lane = lane_of(strip)
    mask = None
    if lane is not None:
        at = tuple(0 for _ in strip)
        mask = lane_mask(em, strip, at)
    if not is_vector(total):
        return value
    with em.here():
        lanes = total.type.shape[0]
        value = spread(value, lanes)
        return value if mask is None else arith.SelectOp(mask, value, spread(start, lanes)).result


def tree(em: Emitter, kind: str, value: ir.Value, element: ir.Type) -> ir.Value:
    """The lanes of ``value`` combined: the upper half with the lower half, until one is left."""
    with em.here():
        lanes = value.type.shape[0]
        while lanes > 1:
            lanes //= 2
            low = vector.ShuffleOp(value, value, list(range(lanes))).result
            high = vector.ShuffleOp(value, value, list(range(lanes, 2 * lanes))).result
            value = combine(kind, low, high, element)
        return vector.ExtractOp(value, [], [0]).result
