"""vector.deinterleave: every other element of what is read.

Lanes along the halved dim are picked from two vectors of as many lanes; other lanes and single positions are
read where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mlir import ir
from mlir.dialects import arith, vector

from .emitter import Emitter
from .fragment import UNIT, Axis, Fragment, Strip, keys_of
from .registry import rule
from .vectors import spread


def _uses(value: ir.Value, strip: Strip) -> Sequence[tuple[ir.Value, Strip]]:
    return [(value.owner.operands[0], (*strip[:-1], UNIT))]


@rule("vector.deinterleave", uses=_uses)
def emit_deinterleave(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """The elements at even positions, or at odd ones for the second result."""
    first, source = ir.OpResult(value).result_number, value.owner.operands[0]
    *outer, axis = strip
    values: dict[tuple[int, ...], ir.Value] = {}
    for step in range(axis.count):
        both = _doubled(em, axis, step, first)
        fragment = em.emit(source, (*outer, both))
        for key in keys_of((*outer, UNIT)):
            values[*key[:-1], step] = _picked(em, fragment, key[:-1], axis.lanes)
    return Fragment(values)


def _doubled(em: Emitter, axis: Axis, step: int, first: int) -> Axis:
    """Where the elements of a step of ``axis`` lie, and those between them; no neighbour of the last one."""
    at = axis.point(step)
    base, limit, skipped = axis.base, axis.limit, step * axis.lanes
    two, less = em.index(2), em.index(2 * skipped + 1)
    with em.here():
        if base is not None:
            base = em.place(arith.MulIOp(base, two).result)
        if isinstance(limit, ir.Value):
            limit = em.place(arith.SubIOp(arith.MulIOp(limit, two).result, less).result)
        elif axis.lanes:
            valid = axis.lanes if limit is None else min(limit - skipped, axis.lanes)
            limit = max(2 * valid - 1, 0)
    count = 2 if axis.lanes else 1
    return replace(at, base=base, offset=2 * at.offset + first, count=count, limit=limit, bound=None)


def _picked(em: Emitter, fragment: Fragment, key: tuple[int, ...], lanes: int) -> ir.Value:
    if not lanes:
        return fragment[*key, 0]
    with em.here():
        low, high = (spread(fragment[*key, half], lanes) for half in range(2))
        return vector.ShuffleOp(low, high, list(range(0, 2 * lanes, 2))).result
