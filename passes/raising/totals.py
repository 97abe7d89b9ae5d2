"""A reduction of everything becomes a reduction of rows and one of what the rows gave.

::

    generic (i, j reduced) ins(%x : 4096x1024) -> tensor<f32>
  ->
    %p = generic (i | j reduced) ins(%x) -> tensor<4096xf32>
    generic (i reduced) ins(%p) -> tensor<f32>

Legal for operations that may be done in any order: sums and products of floats are rounded in another one, as
eager's are. A full reduction is one task; this leaves it little to do. Small ones stay as they are.
"""

from __future__ import annotations

import math

from mlir import ir
from mlir.dialects import linalg, tensor

from ..structured import (
    DYNAMIC,
    body_of,
    constant,
    defining_op,
    element_type,
    fill_value,
    inits_of,
    inputs_of,
    kinds_of,
    label_of,
    loop_extents,
    make_generic,
    maps_of,
    replace_op,
    sizes_of,
    structured_ops,
)
from .reshape import grouped

SMALL = 1 << 14  # elements that one task reduces soon enough
PARTS = 64  # partial results, at least
_NEUTRAL = {"arith.addf": 0.0, "arith.addi": 0, "arith.mulf": 1.0, "arith.muli": 1}
_IDEMPOTENT = (
    *("arith.maximumf", "arith.minimumf", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"),
    *("arith.andi", "arith.ori"),
)


def split_totals(func: ir.Operation) -> None:
    """Split the large full reductions of ``func``."""
    for op in structured_ops(func):
        if "parallel" in kinds_of(op) or len(op.results) != 1 or not can_reorder(op):
            continue
        extents = loop_extents(op)
        if math.prod(SMALL if extent is None else extent for extent in extents) <= SMALL:
            continue
        if len(extents) == 1:
            _split_loop(op, extents[0])
        else:
            _split(op, _outer_loops(extents))


def can_reorder(op: ir.Operation) -> bool:
    """Whether the body combines an element with the accumulator by an operation that knows no order."""
    combiner = _combiner(op)
    accumulator = body_of(op).arguments[len(inputs_of(op))]
    if combiner is None or len(list(accumulator.uses)) != 1 or accumulator not in list(combiner.operands):
        return False
    start = fill_value(inits_of(op)[0])
    if start is None:
        return False
    neutral = _NEUTRAL.get(combiner.name)
    return combiner.name in _IDEMPOTENT or (neutral is not None and start.value == neutral)


def _combiner(op: ir.Operation) -> ir.Operation | None:
    yielded = list(body_of(op).operations)[-1].operation.operands[0]
    return defining_op(yielded, *_NEUTRAL, *_IDEMPOTENT)


def _outer_loops(extents: list[int | None]) -> int:
    """How many outer loops give enough partial results; one stays to be reduced."""
    parts = 1
    for count, extent in enumerate(extents[:-1], start=1):
        parts *= PARTS if extent is None else extent
        if parts >= PARTS:
            return count
    return len(extents) - 1


def _split_loop(op: ir.Operation, extent: int | None) -> None:
    """Make one loop two, if it has a divisor of a fitting size, and split there."""
    numbered = any(inner.operation.name == "linalg.index" for inner in body_of(op).operations)
    widths = range(4096, 63, -1)
    width = next((each for each in widths if extent and extent % each == 0), None)
    plain = all(len(where.results) == 0 or where.is_permutation for where in maps_of(op))
    if numbered or width is None or extent is None or not plain:
        return
    with op.location, ir.InsertionPoint(op):
        shape = [extent // width, width]
        operands = [
            tensor.ExpandShapeOp(
                ir.RankedTensorType.get(shape, element_type(value)), value, grouped([[0, 1]]), [], shape
            ).result
            if where.results
            else value
            for value, where in zip(op.operands, maps_of(op), strict=True)
        ]
        identity = ir.AffineMap.get_identity(2)
        maps = [identity if where.results else ir.AffineMap.get(2, 0, []) for where in maps_of(op)]
        new = make_generic(
            operands[:-1],
            operands[-1:],
            maps,
            ["reduction"] * 2,
            label_of(op),
            location=op.location,
            at=ir.InsertionPoint(op),
            body=body_of(op),
        )
    replace_op(op, new.results)
    _split(new, 1)


def _split(op: ir.Operation, outer: int) -> None:
    """Keep the first ``outer`` loops parallel, and reduce what comes of them in a second op."""
    combiner = _combiner(op)
    assert combiner is not None
    maps, count = maps_of(op), len(kinds_of(op))
    inputs, init = inputs_of(op), inits_of(op)[0]
    start, label = fill_value(init), label_of(op)
    with op.location, ir.InsertionPoint(op):
        empty = tensor.EmptyOp(_sizes_of_loops(op, outer), element_type(init)).result
        neutral = linalg.fill(constant(start), outs=[empty])
        kept = ir.AffineMap.get(count, 0, [ir.AffineExpr.get_dim(loop) for loop in range(outer)])
        kinds = ["parallel"] * outer + ["reduction"] * (count - outer)
        name = combiner.name
        parts = make_generic(
            inputs,
            [neutral],
            [*maps[:-1], kept],
            kinds,
            label,
            location=op.location,
            at=ir.InsertionPoint(op),
            body=body_of(op),
        ).results[0]
        if outer > 1:
            shape = parts.type.shape
            size = DYNAMIC if DYNAMIC in shape else math.prod(shape)
            kind = ir.RankedTensorType.get([size], element_type(init))
            parts = tensor.CollapseShapeOp(kind, parts, grouped([list(range(outer))])).result
        one, none = ir.AffineMap.get_identity(1), ir.AffineMap.get(1, 0, [])
        total = make_generic(
            [parts],
            [init],
            [one, none],
            ["reduction"],
            label,
            location=op.location,
            at=ir.InsertionPoint(op),
        )
        block = body_of(total)
        with ir.InsertionPoint(block):
            kind = block.arguments[0].type
            both = ir.Operation.create(name, results=[kind], operands=list(block.arguments))
            linalg.YieldOp([both.results[0]])
    replace_op(op, total.results)


def _sizes_of_loops(op: ir.Operation, outer: int) -> list[int | ir.Value]:
    """The extents of the first loops, read off the operands."""
    sizes: dict[int, int | ir.Value] = {}
    for value, where in zip(op.operands, maps_of(op), strict=True):
        if not where.results:
            continue
        for expr, size in zip(where.results, sizes_of(value), strict=True):
            if isinstance(expr, ir.AffineDimExpr):
                sizes.setdefault(expr.position, size)
    return [sizes[loop] for loop in range(outer)]
