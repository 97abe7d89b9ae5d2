"""A variance in parts: each part's own, around its own mean, and how far the parts' means lie apart.

::

    %s = generic {sum} (p | w reduced) ins(%x);  %m = (sum of %s) / N
    %d = %x - %m
    %q = generic {sum} (p | w reduced) ins(%d * %d)
  ->
    %mp = %s / W                                     W: the elements of a part, N of all
    %d' = %x - %mp
    %q' = generic {sum} (p | w reduced) ins(%d' * %d')
    sum of %q' + W * (%mp - %m) * (%mp - %m)         instead of the sum of %q

A task then reads its part from memory once, and from its cache the second time; before, all of memory was
read for the mean, and again for the squares. Legal as sums may be done in any order: both are the sum of
squares around the mean, by Chan's formula, and none is a difference of large numbers. Run it when sums have
been split.
"""

from __future__ import annotations

import math

from mlir import ir
from mlir.dialects import arith, linalg

from ..constants import constant, is_zero, scalar_constant
from ..operations import defining_op
from ..structured import (
    body_of,
    element_type,
    fill_value,
    inits_of,
    inputs_of,
    kinds_of,
    loop_extents,
    make_generic,
    maps_of,
    replace_op,
    structured_ops,
)
from .parts import body_ops, elementwise, is_elementwise, is_same, readers_of


def combine_variances(func: ir.Operation) -> None:
    """Rewrite the partial sums of squares of ``func``."""
    for op in reversed(structured_ops(func)):  # what sums parts up is written again
        difference = _difference_of(op) if _is_part(op) else None
        sums = None if difference is None else _parts_of_mean(difference.operands[1])
        if difference is not None and sums is not None and can_combine(op, difference, sums):
            _combine(op, difference, sums)


def can_combine(op: ir.Operation, difference: ir.Operation, sums: ir.Operation) -> bool:
    """Whether ``op`` and ``sums`` sum over the same parts, known to have elements, ``sums`` from zero on."""
    source, other = difference.operands[0], inputs_of(sums)
    same = len(other) == 1 and is_same(source, other[0])
    if not same or kinds_of(op) != kinds_of(sums) or maps_of(op) != maps_of(sums):
        return False
    if not is_zero(fill_value(inits_of(sums)[0])):
        return False
    kept = {expr.position for expr in maps_of(sums)[-1].results}
    of_mean = {expr.position for expr in maps_of(difference)[1].results}
    wide = element_type(source).width >= 32
    return wide and of_mean <= kept and None not in loop_extents(op) and 0 not in loop_extents(op)


def _is_sum(op: ir.Operation | None) -> bool:
    """Whether a generic sums floats that it reads in its loops' order."""
    if (
        not body_ops(op, "arith.addf")
        or op is None
        or len(inputs_of(op)) != 1
        or "reduction" not in kinds_of(op)
    ):
        return False
    identity = ir.AffineMap.get_identity(len(kinds_of(op)), op.context)
    (add,) = body_ops(op, "arith.addf")
    return maps_of(op)[0] == identity and set(add.operands) == set(body_of(op).arguments)


def _is_part(op: ir.Operation) -> bool:
    """Whether ``op`` makes partial sums, which one op sums up."""
    if not _is_sum(op) or "parallel" not in kinds_of(op):
        return False
    readers = readers_of(op.results[0])
    return len(readers) == 1 and _is_sum(readers[0])


def _difference_of(op: ir.Operation) -> ir.Operation | None:
    """The difference whose square ``op`` sums."""
    square = defining_op(inputs_of(op)[0], "linalg.generic")
    if square is None or not body_ops(square, "arith.mulf") or not is_elementwise(square):
        return None
    inputs = set(inputs_of(square))
    (product,) = body_ops(square, "arith.mulf")
    arguments = list(body_of(square).arguments)[: len(inputs_of(square))]
    if len(inputs) != 1 or not set(product.operands) <= set(arguments):
        return None
    difference = defining_op(next(iter(inputs)), "linalg.generic")
    if difference is None or not body_ops(difference, "arith.subf") or len(inputs_of(difference)) != 2:
        return None
    (minus,) = body_ops(difference, "arith.subf")
    identity = ir.AffineMap.get_identity(len(kinds_of(difference)), op.context)
    tensor, mean, result = maps_of(difference)
    in_order = list(minus.operands) == list(body_of(difference).arguments)[:2]
    broadcast = all(isinstance(expr, ir.AffineDimExpr) for expr in mean.results) and mean != identity
    return difference if in_order and broadcast and tensor == result == identity else None


def _parts_of_mean(mean: ir.Value) -> ir.Operation | None:
    """The partial sums that ``mean`` is made of, if it is their sum by the number of elements."""
    quotient = defining_op(mean, "linalg.generic")
    ops = body_ops(quotient, "arith.divf")
    if quotient is None or not ops or len(inputs_of(quotient)) != 1 or not is_elementwise(quotient):
        return None
    count = scalar_constant(ops[0].operands[1])
    total = defining_op(inputs_of(quotient)[0], "linalg.generic")
    if (
        total is None
        or not _is_sum(total)
        or count is None
        or ops[0].operands[0] != body_of(quotient).arguments[0]
    ):
        return None
    value = inputs_of(total)[0]
    collapse = defining_op(value, "tensor.collapse_shape")
    sums = defining_op(value if collapse is None else collapse.operands[0], "linalg.generic")
    if sums is None or not _is_sum(sums) or "parallel" not in kinds_of(sums):
        return None
    return sums if count.value == _elements(sums) * _elements(total) else None


def _elements(op: ir.Operation) -> int:
    """How many elements one result of a reduction sums."""
    extents = zip(loop_extents(op), kinds_of(op), strict=True)
    return math.prod(extent or 0 for extent, kind in extents if kind == "reduction")


def _combine(op: ir.Operation, difference: ir.Operation, sums: ir.Operation) -> None:
    """Let ``op`` sum around the parts' means, and what sums it up add how far these are from the mean."""
    source, mean = difference.operands[0], difference.operands[1]
    parts, at = maps_of(sums)[-1], ir.InsertionPoint(op)
    count, rank = parts.n_dims, len(parts.results)
    every, part = ir.AffineMap.get_identity(count, op.context), ir.AffineMap.get_identity(rank, op.context)
    with at, op.location:
        elements = constant(ir.FloatAttr.get(element_type(source), float(_elements(sums))))
    means = elementwise(sums.results[0], [sums.results[0]], [part], at, lambda x: arith.divf(x, elements))
    apart = elementwise(source, [source, means], [every, parts], at, arith.subf)
    op.operands[0] = elementwise(source, [apart], [every], at, lambda x: arith.mulf(x, x))
    total, other = readers_of(op.results[0])[0], readers_of(sums.results[0])
    in_shape = next(inputs_of(each)[0] for each in other if _is_sum(each) and maps_of(each) == maps_of(total))
    _add_distances(total, in_shape, mean, elements)


def _add_distances(total: ir.Operation, sums: ir.Value, mean: ir.Value, elements: ir.Value) -> None:
    """Let ``total`` add to each part's squares how far the part's mean is from the mean of all."""
    every, result = maps_of(total)
    at = ir.InsertionPoint(total)
    inputs, maps = [*inputs_of(total), sums, mean], [every, every, result, result]
    op = make_generic(inputs, inits_of(total), maps, kinds_of(total), None, location=total.location, at=at)
    block = body_of(op)
    with ir.InsertionPoint(block), total.location:
        squares, part, whole, accumulator = block.arguments
        off = arith.subf(arith.divf(part, elements), whole)
        one = arith.addf(squares, arith.mulf(elements, arith.mulf(off, off)))
        linalg.YieldOp([arith.addf(one, accumulator)])
    replace_op(total, list(op.results))
