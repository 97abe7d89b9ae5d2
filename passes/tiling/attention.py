"""mlopt.attention: an scf.for over blocks of keys, with a running maximum, sum and weighted sum.

Before::

    %t = linalg.generic {mlopt.op = "mul"} ins(%s)            // scores, from linalg.generic {scores}
    %r = mlopt.attention (b, m, d | n) ins(%t, %v)

After, in a task that has 64 rows of one matrix::

    %r:3 = scf.for %n = 0 to %keys step 64 iter_args(%top = -inf, %sum = 0, %acc = 0) {
      %s = vector.contract …, %q, %k                          // the scores' tile, on demand: 1x64x64
      %t = arith.mulf %s, %scale
      %new = vector.multi_reduction <maximumf>, %t, %top
      %p = math.exp (%t - %new)
      %old = math.exp (%top - %new)
      %total = vector.multi_reduction <add>, %p, %sum * %old
      %next = vector.contract %p, %v, %acc * %old
      scf.yield %new, %total, %next
    }
    %r#2 / %r#1

Keys past the end, and those that the mask takes away, score -inf. A row of only such ones keeps -inf for its
maximum, of which exp makes NaN: 0 stands for it there. ``zero_nans`` looks at the sums of the weights, which
are NaN where one of them is. With ``causal`` the loop ends after the task's last
row. The weights stay in the accumulator's type, in which values are widened; ``mlopt.rounds`` goes on to the
contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from mlir import ir
from mlir.dialects import arith, math, vector

from ...dialects.attributes import ROUNDS
from ..structured import ATTENTION
from .access import Nest
from .analysis import single_loops
from .combiner import convert
from .emitter import Emitter
from .registry import SINGLE
from .vectors import reshape

BLOCK = 64  # keys


def can_tile(nest: Nest) -> str | None:
    """Every ``mlopt.attention``."""
    return None if nest.op.name == ATTENTION else "not attention"


def needs(nest: Nest) -> dict[int, int]:
    """Loops inside an index with a factor; the keys' loop is run here."""
    return dict.fromkeys(single_loops(nest) & set(nest.parallels), SINGLE)


def rows_of(nest: Nest) -> list[int]:
    """The loops of the scores but the keys', in their order."""
    scores = nest.reads[0]
    assert scores is not None
    return [
        index.loops[0] for index in scores.indices if index.loops and index.loops[0] not in nest.reductions
    ]


def values_loop(nest: Nest) -> int:
    """The loop along a value's elements, which the scores do not have."""
    rows = rows_of(nest)
    (own,) = (loop for loop in nest.parallels if loop not in rows)
    return own


def causal_loop(nest: Nest) -> int | None:
    """The loop that keys are not ahead of."""
    loop = ir.IntegerAttr(nest.op.attributes["causal"]).value
    return None if loop < 0 else int(loop)


def emit(emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
    """The rows' sums of weighted values, divided by the sums of their weights."""
    element = nest.op.results[0].type.element_type
    rows, outs = rows_of(nest), list(nest.parallels)
    shape, wide = emitter.sizes(nest, rows), emitter.sizes(nest, outs)
    (keys,) = nest.reductions
    number = {value: ir.FloatAttr.get(element, value) for value in (-inf, 0.0, 1.0)}
    starts = [
        emitter.splat(number[-inf], shape),
        emitter.splat(number[0.0], shape),
        emitter.splat(number[0.0], wide),
    ]

    def step(carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        top, total, sums = carried
        scores = _scores(emitter, nest, [*rows, keys])
        new = vector.MultiDimReductionOp(vector.CombiningKind.MAXIMUMF, scores, top, [len(rows)]).result
        none = arith.CmpFOp(arith.CmpFPredicate.OEQ, new, starts[0]).result
        less = arith.SelectOp(none, starts[1], new).result
        tall = emitter.arrange(less, rows, [*rows, keys], scores.type.shape)
        weights = math.ExpOp(arith.SubFOp(scores, tall).result).result
        kept = math.ExpOp(arith.SubFOp(top, less).result).result
        before = arith.MulFOp(total, kept).result
        total = vector.MultiDimReductionOp(vector.CombiningKind.ADD, weights, before, [len(rows)]).result
        scaled = arith.MulFOp(sums, emitter.arrange(kept, rows, outs, wide)).result
        return [new, total, _weighted(emitter, nest, weights, scaled)]

    emitter.ahead(nest, {emitter.dim(nest, keys)})
    _, total, sums = emitter.chunks(
        emitter.dim(nest, keys),
        emitter.tiles[emitter.dim(nest, keys).id] or BLOCK,
        starts,
        step,
        end=_end(emitter, nest),
    )
    if ir.BoolAttr(nest.op.attributes["zero_rows"]).value:
        empty = arith.CmpFOp(arith.CmpFPredicate.OEQ, total, starts[1]).result
        total = arith.SelectOp(empty, emitter.splat(number[1.0], shape), total).result
    result = arith.DivFOp(sums, emitter.arrange(total, rows, outs, wide)).result
    if ir.BoolAttr(nest.op.attributes["zero_nans"]).value:
        nan = arith.CmpFOp(arith.CmpFPredicate.UNO, total, total).result
        result = arith.SelectOp(emitter.arrange(nan, rows, outs, wide), starts[2], result).result
    return [emitter.result(result, outs, nest.writes[0])]


def _scores(emitter: Emitter, nest: Nest, loops: Sequence[int]) -> ir.Value:
    """The scores' tile over ``loops``, of which the last are the keys; -inf past the last key."""
    access = nest.reads[0]
    assert access is not None
    scores = emitter.operand(nest, access, loops)
    inside = emitter.inside(nest, loops[-1:])
    if inside is None:
        return scores
    nothing = ir.FloatAttr.get(scores.type.element_type, -inf)
    mask = emitter.arrange(inside, loops[-1:], loops, scores.type.shape)
    return arith.SelectOp(mask, scores, emitter.splat(nothing, scores.type.shape)).result


def _weighted(emitter: Emitter, nest: Nest, weights: ir.Value, sums: ir.Value) -> ir.Value:
    """``sums`` and the block's values, weighted."""
    access = nest.reads[1]
    assert access is not None
    loops = range(len(nest.kinds))
    axes = emitter.axes(nest, access, loops)
    kept = [axis for axis in axes if axis is not None]
    values = emitter.own(nest, access)
    sizes = [size for size, axis in zip(values.type.shape, axes, strict=True) if axis is not None]
    values = convert(reshape(values, sizes), weights.type.element_type)
    maps = [[*rows_of(nest), *nest.reductions], kept, list(nest.parallels)]
    where = [ir.AffineMap.get(len(loops), 0, [ir.AffineDimExpr.get(at) for at in dims]) for dims in maps]
    product = vector.ContractionOp(
        sums.type,
        weights,
        values,
        sums,
        ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in where]),
        ir.ArrayAttr.get([ir.Attribute.parse(f"#vector.iterator_type<{kind}>") for kind in nest.kinds]),
    )
    rounds = ROUNDS.get(nest.op)
    if rounds is not None:
        ROUNDS.set(product.operation, rounds)
    return product.result


def _end(emitter: Emitter, nest: Nest) -> ir.Value | None:
    """The key after the last that a causal task's rows attend to; None: all keys."""
    loop = causal_loop(nest)
    if loop is None:
        return None
    span = emitter.span(nest, loop)
    rows, keys = (emitter.extents[emitter.dim(nest, each)] for each in (loop, nest.reductions[0]))
    extent = emitter.index(keys)
    if not isinstance(span.start, ir.Value):  # the task has all rows
        return arith.MinSIOp(emitter.index(rows), extent).result
    after = arith.AddIOp(span.start, emitter.index(span.size)).result
    return arith.MinSIOp(after, extent).result
