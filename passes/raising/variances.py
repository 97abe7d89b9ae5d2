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

Where nothing divides N, parts go on with some of what is left (`ragged`), and W is what each has of both.
A task then reads its part from memory once, and from its cache the second time; before, all of memory was
read for the mean, and again for the squares. Legal as sums may be done in any order: both are the sum of
squares around the mean, by Chan's formula, and none is a difference of large numbers. Run it when sums have
been split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, linalg

from ..constants import constant, index_constant, is_zero, scalar_constant
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
from .extremes import combiner, stages_of
from .parts import body_ops, elementwise, is_same, readers_of, reads_as_it_writes
from .ragged import passed_over


@dataclass(frozen=True)
class _Counts:
    """How many elements a part has: ``most``, but the first ones, whose ``share`` of the rest is passed over.

    ``dim``: that of the parts among those of the partial sums.
    """

    most: int
    share: int = 0
    before: int = 0
    dim: int = 0

    def value(self, kind: ir.Type) -> ir.Value:
        """The number, in the body of an op whose loops run through the partial sums."""
        if not self.before:
            return constant(ir.FloatAttr.get(kind, float(self.most)))
        whole, share = index_constant(self.most - self.share), index_constant(self.share)
        end = arith.muli(arith.addi(linalg.IndexOp(self.dim).result, index_constant(1)), share)
        rest = arith.maxsi(arith.subi(end, index_constant(self.before)), index_constant(0))
        count = arith.addi(whole, arith.minsi(rest, share))
        return arith.sitofp(kind, arith.index_cast(ir.IntegerType.get_signless(64), count))


def combine_variances(func: ir.Operation) -> None:
    """Rewrite the partial sums of squares of ``func``."""
    for op in reversed(structured_ops(func)):  # what sums parts up is written again
        if not _is_part(op):
            continue
        squares = stages_of(op)
        differences = [each for stage in squares if (each := _difference_of(stage)) is not None]
        if len(differences) < len(squares):
            continue
        found = _parts_of_mean(differences[0].operands[1])
        if found is not None and can_combine(squares, differences, stages_of(found[0])):
            _combine(squares, differences, *found)


def can_combine(
    squares: Sequence[ir.Operation], differences: Sequence[ir.Operation], sums: Sequence[ir.Operation]
) -> bool:
    """Whether both sum over the same parts, known to have elements, ``sums`` from zero on."""
    if len(squares) != len(sums) or not is_zero(fill_value(inits_of(sums[-1])[0])):
        return False
    return (
        all(map(_are_alike, squares, differences, sums))
        and len({each.operands[1] for each in differences}) == 1
    )


def _are_alike(op: ir.Operation, difference: ir.Operation, sums: ir.Operation) -> bool:
    """Whether ``op`` and ``sums`` sum the same elements of the same parts."""
    source, other = difference.operands[0], inputs_of(sums)
    same = len(other) == 1 and is_same(source, other[0])
    if not same or kinds_of(op) != kinds_of(sums) or maps_of(op) != maps_of(sums):
        return False
    if combiner(op) != "arith.addf" or passed_over(op) != passed_over(sums):
        return False
    kept = {expr.position for expr in maps_of(sums)[-1].results}
    of_mean = {expr.position for expr in maps_of(difference)[1].results}
    wide = element_type(source).width >= 32
    return wide and of_mean <= kept and None not in loop_extents(op) and 0 not in loop_extents(op)


def _is_sum(op: ir.Operation | None) -> bool:
    """Whether a generic sums all the floats that it reads in its loops' order."""
    is_whole = op is not None and len(inputs_of(op)) == 1 and bool(body_ops(op, "arith.addf"))
    return is_whole and op is not None and "reduction" in kinds_of(op) and combiner(op) == "arith.addf"


def _is_rest(op: ir.Operation) -> bool:
    """Whether a generic sums what is left for parts, but for elements that they have already."""
    return passed_over(op) is not None and combiner(op) == "arith.addf"


def _is_part(op: ir.Operation) -> bool:
    """Whether ``op`` makes partial sums, which one op sums up."""
    if not (_is_sum(op) or _is_rest(op)) or "parallel" not in kinds_of(op):
        return False
    readers = readers_of(op.results[0])
    return len(readers) == 1 and _is_sum(readers[0])


def _difference_of(op: ir.Operation) -> ir.Operation | None:
    """The difference whose square ``op`` sums."""
    square = defining_op(inputs_of(op)[0], "linalg.generic")
    if square is None or not body_ops(square, "arith.mulf") or not reads_as_it_writes(square):
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


def _parts_of_mean(mean: ir.Value) -> tuple[ir.Operation, _Counts] | None:
    """The partial sums that ``mean`` is the sum of, by the number of elements, and how many each is of."""
    quotient = defining_op(mean, "linalg.generic")
    ops = body_ops(quotient, "arith.divf")
    if quotient is None or not ops or len(inputs_of(quotient)) != 1 or not reads_as_it_writes(quotient):
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
    if sums is None or not (_is_sum(sums) or _is_rest(sums)) or "parallel" not in kinds_of(sums):
        return None
    counts = _counts(sums)
    if collapse is not None and counts.before:
        return None  # its one loop does not tell which part it is at
    return (sums, counts) if count.value == counts.most * _elements(total) - counts.before else None


def _counts(sums: ir.Operation) -> _Counts:
    """How many elements each of the partial sums is of."""
    stages = stages_of(sums)
    most, passed = sum(map(_elements, stages)), passed_over(sums)
    if passed is None:
        return _Counts(most)
    part, before = passed
    dims = [expr.position for expr in maps_of(sums)[-1].results]
    return _Counts(most, _elements(sums), before, dims.index(part))


def _elements(op: ir.Operation) -> int:
    """How many elements one result of a reduction sums."""
    extents = zip(loop_extents(op), kinds_of(op), strict=True)
    return math.prod(extent or 0 for extent, kind in extents if kind == "reduction")


def _combine(
    squares: Sequence[ir.Operation],
    differences: Sequence[ir.Operation],
    sums: ir.Operation,
    counts: _Counts,
) -> None:
    """Sum squares around the parts' means; what sums them up adds how far these are from the mean."""
    mean, parts, first = differences[0].operands[1], maps_of(sums)[-1], squares[-1]
    part = ir.AffineMap.get_identity(len(parts.results), sums.context)
    kind = element_type(sums.results[0])
    means = elementwise(
        sums.results[0],
        [sums.results[0]],
        [part],
        ir.InsertionPoint(first),
        lambda x: arith.divf(x, counts.value(kind)),
    )
    for op, difference in zip(squares, differences, strict=True):
        source, at = difference.operands[0], ir.InsertionPoint(op)
        every = ir.AffineMap.get_identity(parts.n_dims, op.context)
        apart = elementwise(source, [source, means], [every, parts], at, arith.subf)
        op.operands[0] = elementwise(source, [apart], [every], at, lambda x: arith.mulf(x, x))
    total, other = readers_of(squares[0].results[0])[0], readers_of(sums.results[0])
    in_shape = next(inputs_of(each)[0] for each in other if _is_sum(each) and maps_of(each) == maps_of(total))
    _add_distances(total, in_shape, mean, counts)


def _add_distances(total: ir.Operation, sums: ir.Value, mean: ir.Value, counts: _Counts) -> None:
    """Let ``total`` add to each part's squares how far the part's mean is from the mean of all."""
    every, result = maps_of(total)
    at = ir.InsertionPoint(total)
    inputs, maps = [*inputs_of(total), sums, mean], [every, every, result, result]
    op = make_generic(inputs, inits_of(total), maps, kinds_of(total), None, location=total.location, at=at)
    block = body_of(op)
    with ir.InsertionPoint(block), total.location:
        squares, part, whole, accumulator = block.arguments
        elements = counts.value(part.type)
        off = arith.subf(arith.divf(part, elements), whole)
        one = arith.addf(squares, arith.mulf(elements, arith.mulf(off, off)))
        linalg.YieldOp([arith.addf(one, accumulator)])
    replace_op(total, list(op.results))
