"""What is computed with the maximum of everything, in parts: each part takes its own maximum.

::

    %mp = generic {amax} (p | w reduced) ins(%x);  %m = the maximum of %mp
    sum of exp(%x - %m), in parts
  ->
    %sp = generic {sum} (p | w reduced) ins(exp(%x - %mp))
    sum of %sp * exp(%mp - %m)

    the least of where(%x == %m or %x is NaN, %place, n), in parts
  ->
    %ip = generic {amin} (p | w reduced) ins(where(%x == %mp or %x is NaN, %place, n))
    the least of where(%mp == %m or %mp is NaN, %ip, n)

A task then reads its part from memory once, and both results of a part are of one kernel; before, all of
memory was read for the maximum, and again with it. Legal for places always: the parts whose own maximum is
the maximum of all are those that hold it, and they hold it at the same places; minima likewise. Legal for
sums as they may be done in any order; a part of nothing but -inf subtracts 0 in place of its maximum, so that
its sum is 0 and not NaN. Run it when totals have been split.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, linalg, math

from ..constants import constant, is_zero, scalar_constant
from ..operations import defining_op
from ..structured import (
    body_of,
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
    structured_ops,
)
from .extremes import EXTREMES, Extreme, again, combiner, extreme_of, identity, of_parts, stages_of
from .parts import body_ops, elementwise, is_same, readers_of

_EQUAL = {"arith.cmpf": (1, 13), "arith.cmpi": (0, 1)}  # the predicates oeq and une, eq and ne


def combine_around_maxima(func: ir.Operation) -> None:
    """Rewrite the partial results of ``func`` that wait for a maximum of everything."""
    for op in reversed(structured_ops(func)):  # what combines parts is written again
        total = _total_of(op)
        if total is None:
            continue
        if combiner(op) == "arith.addf":
            _combine_sum(op, total)
        else:
            _combine_places(op, total)


def _total_of(op: ir.Operation) -> ir.Operation | None:
    """What combines the partial results that ``op`` makes of one tensor, if it makes such."""
    if not {"parallel", "reduction"} <= set(kinds_of(op)) or combiner(op) is None:
        return None
    readers = readers_of(op.results[0])
    same = len(readers) == 1 and readers[0].name == "linalg.generic" and combiner(readers[0]) == combiner(op)
    known = None not in loop_extents(op) and 0 not in loop_extents(op)
    return readers[0] if same and known and "reduction" in kinds_of(readers[0]) else None


def _combine_sum(op: ir.Operation, total: ir.Operation) -> None:
    """Sum each part of exp(x - max) around the part's own maximum."""
    stages = stages_of(op)
    found = [each for back, stage in enumerate(stages) if (each := _exponentials(stage, total, back))]
    if len(found) < len(stages) or not is_zero(fill_value(inits_of(stages[-1])[0])):
        return
    (chain, extreme), parts, at = found[0], maps_of(op)[-1], ir.InsertionPoint(stages[-1])
    own = ir.AffineMap.get_identity(len(parts.results), op.context)
    finite = elementwise(extreme.parts, [extreme.parts], [own], at, _zero_for_infinite)
    for stage, (its, of) in zip(stages, found, strict=True):
        at = ir.InsertionPoint(stage)
        stage.operands[0] = again(its, {of.whole: (finite, parts)}, of.source, at)
    at = ir.InsertionPoint(total)
    _weigh(total, again(chain[1:], of_parts(extreme, total), extreme.in_shape, at))


def _exponentials(
    op: ir.Operation, total: ir.Operation, back: int
) -> tuple[list[ir.Operation], Extreme] | None:
    """The ops that make exp(x - max), which ``op`` sums in parts; and the maximum of everything."""
    exp = defining_op(op.operands[0], "linalg.generic")
    difference = None if exp is None or not body_ops(exp, "math.exp") else defining_op(exp.operands[0])
    if exp is None or difference is None or not body_ops(difference, "arith.subf"):
        return None
    (minus,) = body_ops(difference, "arith.subf")
    if list(minus.operands) != list(body_of(difference).arguments)[:2]:
        return None
    extreme = extreme_of([exp, difference], op, total, back)
    if (
        extreme is None
        or extreme.combiner != "arith.maximumf"
        or not is_same(difference.operands[0], extreme.source)
    ):
        return None
    return ([exp, difference], extreme) if element_type(extreme.source).width >= 32 else None


def _weigh(total: ir.Operation, exponents: ir.Value) -> None:
    """Let ``total`` sum what it reads times exp(``exponents``); a product would go with the parts."""
    every, result = maps_of(total)
    op = make_generic(
        [total.operands[0], exponents],
        inits_of(total),
        [every, every, result],
        kinds_of(total),
        label_of(total),
        location=total.location,
        at=ir.InsertionPoint(total),
    )
    block = body_of(op)
    with ir.InsertionPoint(block), total.location:
        part, exponent, accumulator = block.arguments
        linalg.YieldOp([arith.addf(arith.mulf(part, math.exp(exponent)), accumulator)])
    replace_op(total, list(op.results))


def _zero_for_infinite(value: ir.Value) -> ir.Value:
    least = constant(ir.FloatAttr.get(value.type, -float("inf")))
    is_least = arith.cmpf(arith.CmpFPredicate.OEQ, value, least)
    return arith.select(is_least, constant(ir.FloatAttr.get(value.type, 0.0)), value)


def _combine_places(op: ir.Operation, total: ir.Operation) -> None:
    """Look for each part's own maximum in it, then for the parts that have the maximum of all."""
    where = defining_op(op.operands[0], "linalg.generic")
    is_whole = fill_value(inits_of(op)[0]) is not None
    if combiner(op) not in EXTREMES or not is_whole or where is None or len(inputs_of(where)) != 2:
        return
    select = body_ops(where, "arith.select")
    arguments = list(body_of(where).arguments)
    every, at_place, result = maps_of(where)
    if not select or list(select[0].operands)[:2] != arguments[:2] or not every == result == identity(every):
        return
    other = select[0].operands[2]
    chain = _condition(where.operands[0])
    extreme = extreme_of(chain, op, total)
    if scalar_constant(other) is None or extreme is None or not _says_where(chain[0], extreme):
        return
    parts, at = maps_of(op)[-1], ir.InsertionPoint(op)
    hits = again(chain, {extreme.whole: (extreme.parts, parts)}, extreme.source, at)
    op.operands[0] = elementwise(
        op.operands[0],
        [hits, where.operands[1]],
        [every, at_place],
        at,
        lambda hit, place: arith.select(hit, place, other),
    )
    every, at = maps_of(total)[0], ir.InsertionPoint(total)
    holds = again(chain, of_parts(extreme, total), extreme.in_shape, at)
    places = total.operands[0]
    total.operands[0] = elementwise(
        places, [holds, places], [every, every], at, lambda hit, place: arith.select(hit, place, other)
    )


def _condition(value: ir.Value) -> list[ir.Operation]:
    """The element-wise ops that make a truth value of others, each before what it reads."""
    chain: list[ir.Operation] = []
    todo = [value]
    while todo:
        op = defining_op(todo.pop(0), "linalg.generic")
        if op is None or op in chain or element_type(op.results[0]).width != 1:
            continue
        chain.append(op)
        todo += inputs_of(op)
    return chain


def _says_where(op: ir.Operation | None, extreme: Extreme, wanted: bool = True) -> bool:
    """Whether ``op`` is true (or with ``wanted`` false, not true) where the source is the extreme, or NaN."""
    if op is None or op.name != "linalg.generic" or "reduction" in kinds_of(op):
        return False
    body = [inner.operation for inner in body_of(op).operations][:-1]
    arguments = list(body_of(op).arguments)[: len(inputs_of(op))]
    if len(body) != 1 or not set(arguments) <= set(body[0].operands):
        return False
    if body[0].name == "arith.ori" and wanted and len(arguments) == 2:
        return all(_says_where(defining_op(value), extreme) for value in inputs_of(op))
    equal, unequal = _EQUAL.get(body[0].name, (None, None))
    if equal is None:
        return False
    predicate = body[0].attributes["predicate"].value
    if len(arguments) == 1:
        no = scalar_constant(body[0].operands[1])
        negates = body[0].name == "arith.cmpi" and predicate == equal and no is not None and not no.value
        return negates and _says_where(defining_op(op.operands[0]), extreme, not wanted)
    one, other = inputs_of(op)
    if predicate == (unequal if wanted else equal) and body[0].name == "arith.cmpf":  # NaN is not itself
        return is_same(one, extreme.source) and is_same(other, extreme.source)
    compared = is_same(one, extreme.source) and other == extreme.whole
    return compared and predicate == (equal if wanted else unequal)
