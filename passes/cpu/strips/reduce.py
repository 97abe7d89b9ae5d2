"""vector.multi_reduction: a loop of its own with the accumulators in registers.

The order of a reduction is fixed by its tile's shape alone. Along a lane dim of W lanes,
lane j takes positions j, j+W, j+2W, … in ascending order, starting from the neutral element;
at the end the upper half of the lanes is joined to the lower half until one is left, and the
op's own accumulator is joined last, from the left. Other reduced dims are loops around that,
in the tile's order. Float sums and products of many turns are made of blocks of turns, each with
accumulators of its own: errors grow with the length of a block and the number of blocks, not with
their product. (65536 times 0.1 in f32 is off by 2e-6, not by 1e-5.)

A maximum that is NaN where an element is waits eight cycles a turn for the one before. A long one leaves NaN
out, which takes two, and has a second accumulator, which is NaN once an element was.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod

from mlir import ir
from mlir.dialects import arith, vector

from ....dialects.attributes import DROPS_NAN
from ...combining import kind_of, neutral_of
from .cover import Cover, cover, cover_blocks, known_extent
from .emitter import Emitter
from .fragment import Axis, Fragment, Strip, element_of, is_vector, keys_of, lane_of, sizes_of
from .online import emit_online, online_sum_of
from .prefetch_row import prefetch_reduced
from .reductions import counted, looped_dims, source_key, source_strip, tree
from .registry import rule
from .scratch import Scratch
from .types import LARGER, SMALLER, combine
from .vectors import spread

BLOCK = 256  # turns of a loop that have accumulators of their own: blocks of 64 cost 7 % of a long row's sum
WITHOUT_NAN = {"maximumf": LARGER, "minimumf": SMALLER}
CHAIN = 8  # turns from which on they take longer than joining the two accumulators
LEAST = 8  # turns of the loops inside another that have accumulators of their own, each time


def _uses(value: ir.Value, strip: Strip) -> Sequence[tuple[ir.Value, Strip]]:
    return [(value.owner.operands[1], strip)]


@rule("vector.multi_reduction", uses=_uses)
def emit_reduction(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """Loops over the reduced dims, then the lanes' tree if they were reduced."""
    op = value.owner.opview
    total = online_sum_of(em, op, strip)
    if total is not None:
        return emit_online(em, total, value, strip)
    kind = LARGER if DROPS_NAN.get(op) else kind_of(op)
    element = element_of(op.source)
    start = em.constant(neutral_of(kind_of(op), element), element)
    keys, kept_lane = list(keys_of(strip)), lane_of(strip)
    covers = _covers(em, op, kept_lane is None)
    lanes = strip[kept_lane].lanes if kept_lane is not None else max((how.lanes for how in covers), default=0)
    with em.here():
        neutral = [spread(start, lanes) if lanes else start for _ in keys]
    rounds = isinstance(element, ir.FloatType) and kind in ("add", "mul")
    turns = prod(sizes_of(op.source)[each.dim] // each.width for each in covers)
    marks = len(keys) == 1 and kind in WITHOUT_NAN and turns >= CHAIN
    inner = WITHOUT_NAN[kind] if marks else kind

    def body(reduced: dict[int, Axis], values: list[ir.Value]) -> list[ir.Value]:
        asked = source_strip(op, strip, reduced)
        fragment = em.emit(op.source, asked)
        prefetch_reduced(em, op, asked)
        read = [counted(em, values[0], fragment[source_key(op, key)], asked, start) for key in keys]
        with em.here():
            totals = [combine(inner, *pair, element) for pair in zip(values, read, strict=False)]
            return [*totals, *([_marked(values[-1], read[0])] if marks else [])]

    def join(carried: Sequence[ir.Value], apart: Sequence[ir.Value]) -> list[ir.Value]:
        with em.here():
            return [combine(kind, *pair, element) for pair in zip(carried, apart, strict=True)]

    def nest(at: int, reduced: dict[int, Axis], values: list[ir.Value]) -> list[ir.Value]:
        if at == len(covers):
            return body(reduced, values)
        how, sizes = covers[at], sizes_of(op.source)
        inside = prod(sizes[each.dim] // each.width for each in covers[at + 1 :])

        def turn(axis: Axis, carried: list[ir.Value]) -> list[ir.Value]:
            places = {**reduced, how.dim: axis}
            if rounds and inside >= LEAST:
                return join(carried, nest(at + 1, places, neutral))
            return nest(at + 1, places, carried)

        if rounds and sizes[how.dim] // how.width > BLOCK:
            return cover_blocks(em, sizes[how.dim], how, BLOCK, values, lambda _: neutral, turn, join)
        return cover(em, known_extent(sizes[how.dim]), how, True, values, turn)

    with ExitStack() as filling:
        for scratch in em.scratches.values():
            if isinstance(scratch, Scratch) and scratch.owner == op:
                filling.enter_context(scratch.filling(em, strip))
        totals = nest(0, {}, neutral * 2 if marks else neutral)
    if marks:
        total, mark = totals
        with em.here():
            totals = [_marked(total, mark)]
    if kept_lane is None and lanes:
        totals = [tree(em, kind, total, element) for total in totals]
    first = em.emit(op.acc, strip)
    with em.here():
        joined = [
            combine(kind, spread(first[key], lanes) if is_vector(total) else first[key], total, element)
            for key, total in zip(keys, totals, strict=True)
        ]
    return Fragment(dict(zip(keys, joined, strict=True)))


def _covers(em: Emitter, op: vector.MultiDimReductionOp, lanes_free: bool) -> list[Cover]:
    """One position at a time, but lanes along the dim that lies innermost in memory."""
    dims = looped_dims(op)
    if not dims or not lanes_free:
        return [Cover(dim) for dim in dims]
    lane = em.layout.innermost(op.source, dims)
    width = min(em.lanes, 1 << (sizes_of(op.source)[lane] - 1).bit_length())
    return [*(Cover(dim) for dim in dims if dim != lane), Cover(lane, 1, width)]


def _marked(kept: ir.Value, value: ir.Value) -> ir.Value:
    """``value`` where it is NaN, else what is ``kept``."""
    return arith.select(arith.cmpf(arith.CmpFPredicate.UNO, value, value), value, kept)
