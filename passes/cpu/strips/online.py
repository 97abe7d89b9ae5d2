"""Sums of exponentials of long rows: one loop finds the maximum and adds up, memory is read once.

    %m = vector.multi_reduction <maximumf>, %x, %least [1] : vector<1x131072xf32> to vector<1xf32>
    %s = vector.multi_reduction <add>, math.exp (%x - broadcast %m), %zero [1]
  ->
    %m, %s = scf.for %c … step 64 iter_args(%m0 = -3.4e38, %s0 = 0) {
      %v = vector.load %x[%i, %c] : vector<64xf32>
      %m1, %s1 = scf.if any(%v > %m0 or %v is NaN) {
        yield max(%m0, %v), %s0 * exp(%m0 - max(%m0, %v))
      } else {
        yield %m0, %s0
      }
      yield %m1, %s1 + exp(%v - %m1)
    }

A maximum of what has come so far rises seldom: some 15 times in 131072 random numbers. It starts at the
least finite number, relative to which exp(-inf) is 0: what comes before the first finite number counts for
nothing. A NaN stays in both results, an infinite maximum makes the sum NaN, as in two loops; in rows of
minus infinity alone the sum is 0 in the end, and becomes NaN. Blocks of turns have sums of their own, as
elsewhere (`reduce.py`), and go on from the maximum before them: the order depends on the tile's shape alone.

Legal where nothing else reads the exponentials or the differences, which are those to another maximum. Done
for rows of `LEAST` numbers: in shorter ones the maximum rises too often. On a Zen 4, cross-entropy of 512
rows of 131072 takes 0.73 of the time on one thread (17.7 to 12.9 ms) and 0.74 on two (9.45 to 6.95); 64 MB
in rows of 16384 0.78, 4 MB of them 0.95, of 4096 1.09. Rows that ascend, so that each strip raises the
maximum, take 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, math, scf, vector

from ....dialects.attributes import NOT_POSITIVE
from ...combining import kind_of
from ...operations import ops_named
from ...softmaxes import REDUCTION, is_softmax_sum, maximum_of
from ...structured import has_one_use
from .cover import Cover, cover, cover_blocks, known_extent
from .emitter import Emitter
from .fragment import Axis, Fragment, Strip, keys_of, lane_of, sizes_of
from .reductions import counted, looped_dims, source_key, source_strip, tree
from .scratch import Scratch
from .types import LARGER, combine
from .vectors import spread

BLOCK = 256  # turns of a loop that have sums of their own
LEAST = 16384  # numbers in a row
LOWEST = -3.4028234663852886e38  # the least finite one in f32


def online_sum_of(em: Emitter, op: ir.OpView, strip: Strip) -> ir.OpView | None:
    """The sum of exponentials that ``op`` is, or is the maximum of, if one loop is to find both."""
    for total in ops_named(op.operation.block, REDUCTION):
        if is_softmax_sum(total) and op.operation in (total, maximum_of(total)):
            found = can_go_online(em, total, strip) and should_go_online(total.opview)
            return total.opview if found else None
    return None


def can_go_online(em: Emitter, total: ir.Operation, strip: Strip) -> bool:
    """Whether the loop keeps nothing for others that is relative to a maximum before the last."""
    power, maximum = total.operands[0], maximum_of(total)
    difference = power.owner.operands[0]
    relative = difference.owner.operands[1]
    return (
        maximum.block == total.block
        and all(has_one_use(value) for value in (power, difference, relative))
        and lane_of(strip) is None
        and len(list(keys_of(strip))) == 1
        and not any(
            isinstance(each, Scratch) and each.owner.operation in (total, maximum)
            for each in em.scratches.values()
        )
    )


def should_go_online(total: ir.OpView) -> bool:
    """Whether the row is so long that its maximum seldom rises."""
    dims = looped_dims(total)
    return len(dims) == 1 and sizes_of(total.source)[dims[0]] >= LEAST


def emit_online(em: Emitter, total: ir.OpView, asked: ir.Value, strip: Strip) -> Fragment:
    """``asked``, of the maximum and the sum, at ``strip``; the other one is remembered."""
    maximum, difference = maximum_of(total.operation).opview, total.source.owner.operands[0].owner
    (x, relative), kind = difference.operands, ir.F32Type.get()
    (key,), (dim,) = keys_of(strip), looped_dims(total)
    size, how = sizes_of(total.source)[dim], Cover(dim, 1, em.lanes)
    least = em.constant(ir.FloatAttr.get(kind, -float("inf")), kind)
    zero = em.constant(ir.FloatAttr.get(kind, 0.0), kind)
    with em.here():
        start = [em.constant(ir.FloatAttr.get(kind, LOWEST), kind), spread(zero, em.lanes)]

    def turn(axis: Axis, carried: list[ir.Value]) -> list[ir.Value]:
        place = source_strip(total, strip, {dim: axis})
        at = source_key(total, key)
        numbers = counted(em, carried[1], em.emit(x, place)[at], place, least)
        highest, sums = _raised(em, numbers, carried)
        em.remember(relative, place, Fragment(dict.fromkeys(keys_of(place), highest)))
        powers = counted(em, sums, em.emit(total.source, place)[at], place, zero)
        with em.here():
            return [highest, arith.addf(sums, powers)]

    def join(carried: Sequence[ir.Value], apart: Sequence[ir.Value]) -> list[ir.Value]:
        with em.here():
            return [apart[0], arith.addf(_relative_to(apart[0], *carried), apart[1])]

    if size // how.width > BLOCK:
        highest, sums = cover_blocks(
            em, size, how, BLOCK, start, lambda before: [before[0], start[1]], turn, join
        )
    else:
        highest, sums = cover(em, known_extent(size), how, True, start, turn)
    total_sum = tree(em, "add", sums, kind)
    found = _without_empty(em, highest, total_sum)
    results = {}
    for op, value in zip((maximum, total), found, strict=True):
        acc = em.emit(op.acc, strip)[key]
        with em.here():
            results[op.result] = Fragment({key: combine(kind_of(op), acc, value, kind)})
    for result, fragment in results.items():
        em.remember(result, strip, fragment)
    return results[asked]


def _raised(em: Emitter, numbers: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
    """The maximum and the sums relative to it once these ``numbers`` have come, which are not added yet."""
    highest, sums = carried
    lanes, bit = sums.type.shape[0], ir.IntegerType.get_signless(1)
    with em.here():
        higher = arith.cmpf(arith.CmpFPredicate.UGT, numbers, spread(highest, lanes))
        rises = vector.reduction(bit, vector.CombiningKind.OR, higher)
    nan = em.constant(ir.FloatAttr.get(highest.type, float("nan")), highest.type)
    with em.branch(rises, [highest.type, sums.type]) as branch:
        most = tree(em, LARGER, numbers, highest.type)
        with em.here():
            unordered = arith.cmpf(arith.CmpFPredicate.UNO, numbers, numbers)
            is_nan = vector.reduction(bit, vector.CombiningKind.OR, unordered)
            raised = arith.select(is_nan, nan, combine(LARGER, highest, most, highest.type))
            scaled = _relative_to(raised, highest, sums)
        em.close([raised, scaled])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([highest, sums])
    return list(branch.results)


def _relative_to(highest: ir.Value, before: ir.Value, sums: ir.Value) -> ir.Value:
    """``sums`` relative to ``before``, relative to the maximum ``highest``, which is not below it."""
    power = math.ExpOp(spread(arith.subf(before, highest), sums.type.shape[0]))
    NOT_POSITIVE.set(power.operation, True)
    return arith.mulf(sums, power.result)


def _without_empty(em: Emitter, highest: ir.Value, total: ir.Value) -> list[ir.Value]:
    """Both as two loops find them in rows of minus infinity alone, too: the sum of others is 1 at least."""
    kind = total.type
    zero, least, nan = (
        em.constant(ir.FloatAttr.get(kind, number), kind) for number in (0.0, -float("inf"), float("nan"))
    )
    with em.here():
        is_empty = arith.cmpf(arith.CmpFPredicate.OEQ, total, zero)
        return [arith.select(is_empty, least, highest), arith.select(is_empty, nan, total)]
