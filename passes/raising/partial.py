"""Reductions whose order is free: partial results first, then a reduction of those.

::

    generic (i, j reduced) ins(%x : 4096x1024) -> tensor<f32>
  ->
    %p = generic (i | j reduced) ins(%x) -> tensor<4096xf32>
    generic (i reduced) ins(%p) -> tensor<f32>

Legal for operations that may be done in any order (`can_reorder`): sums and products of floats are rounded in
another one, as eager's are.
"""

from __future__ import annotations

import math

from mlir import ir
from mlir.dialects import linalg, tensor

from ..constants import constant
from ..operations import defining_op
from ..structured import (
    DYNAMIC,
    body_of,
    element_type,
    fill_value,
    inits_of,
    inputs_of,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    replace_op,
    sizes_of,
)
from .reshape import grouped

_NEUTRAL = {"arith.addf": 0.0, "arith.addi": 0, "arith.mulf": 1.0, "arith.muli": 1}
_IDEMPOTENT = (
    *("arith.maximumf", "arith.minimumf", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"),
    *("arith.andi", "arith.ori"),
)


def combiner_of(op: ir.Operation) -> ir.Operation | None:
    """What combines an element with the accumulator in the body of a reduction with one result."""
    yielded = body_of(op).operations[-1].operation.operands[0]
    return defining_op(yielded, *_NEUTRAL, *_IDEMPOTENT)


def can_reorder(op: ir.Operation) -> bool:
    """Whether the body combines an element with the accumulator by an operation that knows no order."""
    combiner = combiner_of(op)
    accumulator = body_of(op).arguments[len(inputs_of(op))]
    if combiner is None or len(list(accumulator.uses)) != 1 or accumulator not in list(combiner.operands):
        return False
    start = fill_value(inits_of(op)[0])
    if start is None:
        return False
    neutral = _NEUTRAL.get(combiner.name)
    return is_idempotent(combiner) or (neutral is not None and start.value == neutral)


def is_idempotent(combiner: ir.Operation) -> bool:
    """Whether a reduction by ``combiner`` may take an element twice: a maximum, say."""
    return combiner.name in _IDEMPOTENT


def reduce_twice(
    op: ir.Operation, early: list[int], outermost: bool = False, rest: ir.Operation | None = None
) -> ir.Operation:
    """Reduce all but the loops ``early`` first, and those in a second op, which is returned.

    ``outermost``: what comes of the first one has these loops in front of the others. ``rest``: a reduction
    behind ``op`` of more elements in each step of these loops, which goes on from what ``op`` makes.
    """
    combiner = combiner_of(op)
    assert combiner is not None
    name = combiner.name
    kinds, maps, init = kinds_of(op), maps_of(op), inits_of(op)[0]
    kept = [loop for loop, kind in enumerate(kinds) if kind == "parallel" or loop in early]
    if outermost:
        kept.sort(key=lambda loop: loop not in early)
    at = ir.InsertionPoint(rest or op)
    with op.location, at:
        parts = _partial(op, kept, None)
        if rest is not None:
            parts = _partial(rest, kept, parts)
        if kept == early and len(kept) > 1:
            parts = _as_vector(parts)
            kept = kept[:1]
        places = [
            ir.AffineExpr.get_dim(kept.index(expr.position)) if _is_loop(expr) else expr
            for expr in maps[-1].results
        ]
        total = make_generic(
            [parts],
            [init],
            [ir.AffineMap.get_identity(len(kept)), ir.AffineMap.get(len(kept), 0, places)],
            [kinds[loop] for loop in kept],
            label_of(op),
            location=op.location,
            at=at,
        )
        block = body_of(total)
        with ir.InsertionPoint(block):
            both = ir.Operation.create(
                name, results=[block.arguments[0].type], operands=list(block.arguments)
            )
            linalg.YieldOp([both.results[0]])
    replace_op(op, total.results)
    if rest is not None:
        rest.erase()
    return total


def _partial(op: ir.Operation, kept: list[int], onto: ir.Value | None) -> ir.Value:
    """What ``op`` makes in each step of the loops ``kept``, from ``onto`` on; it gives its body away."""
    kinds, maps, init = kinds_of(op), maps_of(op), inits_of(op)[0]
    if onto is None:
        sizes = _sizes_of_loops(op)
        empty = tensor.EmptyOp([sizes[loop] for loop in kept], element_type(init)).result
        onto = linalg.fill(constant(fill_value(init)), outs=[empty])
    where = ir.AffineMap.get(len(kinds), 0, [ir.AffineExpr.get_dim(loop) for loop in kept])
    return make_generic(
        inputs_of(op),
        [onto],
        [*maps[:-1], where],
        ["parallel" if loop in kept else "reduction" for loop in range(len(kinds))],
        label_of(op),
        location=op.location,
        at=ir.InsertionPoint.current,
        body=body_of(op),
    ).results[0]


def _as_vector(parts: ir.Value) -> ir.Value:
    """Partial results of one total, in a row."""
    shape = parts.type.shape
    size = DYNAMIC if DYNAMIC in shape else math.prod(shape)
    kind = ir.RankedTensorType.get([size], element_type(parts))
    return tensor.CollapseShapeOp(kind, parts, grouped([list(range(len(shape)))])).result


def _sizes_of_loops(op: ir.Operation) -> dict[int, int | ir.Value]:
    """The extents of the loops, read off the operands."""
    sizes: dict[int, int | ir.Value] = {}
    for value, where in zip(op.operands, maps_of(op), strict=True):
        for expr, size in zip(where.results, sizes_of(value) if where.results else (), strict=True):
            if _is_loop(expr):
                sizes.setdefault(expr.position, size)
    return sizes


def _is_loop(expr: ir.AffineExpr) -> bool:
    return isinstance(expr, ir.AffineDimExpr)
