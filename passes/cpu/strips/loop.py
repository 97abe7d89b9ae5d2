"""scf.for that carries tiles: the same loop, inside the strips, with fragments carried.

A window's loop leaves out the turns in which it reads padding (`narrowed.py`, `edges.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith

from .borders import knowing
from .carried import run_loop, yielded_of
from .edges import Edge, find_edge
from .emitter import Emitter
from .fragment import Fragment, Strip, keys_of
from .narrowed import find_row
from .padding import turn_of, with_row, with_seen, with_unseen
from .registry import rule


def _uses(value: ir.Value, strip: Strip) -> list[tuple[ir.Value, Strip]]:
    op, number = value.owner.opview, ir.OpResult(value).result_number
    return [(op.operands[3 + number], strip), (yielded_of(op)[number], strip)]


@rule("scf.for", uses=_uses)
def emit_loop(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """Carry what the asked result needs, each value at the one strip it is needed at."""
    loop = value.owner.operation
    if loop in em.border.cut:
        return _run_parts(em, value, strip, em.emit(loop.operands[3], strip), em.border.cut[loop])
    if loop in em.border.pinned:
        return run_loop(em, value, strip, {}, turn_of(em, em.border.pinned[loop]))
    bounds = [em.scalar(operand) for operand in loop.operands[:3]]
    bounds[:2] = em.border.bounds.get(loop, bounds[:2])
    edge, row = find_edge(em, value, strip), find_row(em, value, strip)
    if edge is None and row is None:
        return run_loop(em, value, strip, {}, bounds)
    sums = em.emit(loop.operands[3], strip)
    if edge is not None:
        sums = with_unseen(em, value, strip, sums, edge)
    if row is not None:
        sums = with_row(em, value, strip, sums, row)
    sums = run_turns(em, value, strip, sums, bounds)
    return sums if edge is None else with_seen(em, value, strip, sums, edge)


def run_turns(
    em: Emitter, value: ir.Value, strip: Strip, sums: Fragment, bounds: Sequence[ir.Value]
) -> Fragment:
    """``sums``, and the turns within ``bounds`` for the positions that lie in memory."""
    edge, row = find_edge(em, value, strip), find_row(em, value, strip)
    cut = {} if edge is None else {edge.loop.operation: edge}
    with knowing(em, cut={**em.border.cut, **cut}):
        if row is not None:
            first, end = row.inside(em, bounds)
            with knowing(em, within=em.border.within | {(row.window.read.operation, row.dim)}):
                return run_loop(em, value, strip, {0: sums}, [first, end, bounds[2]])
        if edge is not None and edge.loop.operation == value.owner:
            return _run_parts(em, value, strip, sums, edge, bounds if em.block else None)
        return run_loop(em, value, strip, {0: sums}, bounds)


def _run_parts(
    em: Emitter,
    value: ir.Value,
    strip: Strip,
    sums: Fragment,
    edge: Edge,
    bounds: Sequence[ir.Value] | None = None,
) -> Fragment:
    """Each turn, of those within ``bounds``, for the positions that lie in memory in it."""
    values = dict(sums.values)
    for part in edge.parts:
        if part.low == part.high:
            continue
        some = edge.strip(strip, part)
        start = Fragment({key: values[edge.key(key, part)] for key in keys_of(some)})
        turns = [em.index(part.first), em.index(part.end), em.index(1)]
        if bounds is not None:
            with em.here():
                turns[0] = arith.MaxSIOp(turns[0], bounds[0]).result
                turns[1] = arith.MinSIOp(turns[1], bounds[1]).result
        with knowing(em, within=em.border.within | {(edge.window.read.operation, edge.dim)}):
            found = run_loop(em, value, some, {0: start}, turns)
        values |= {edge.key(key, part): found[key] for key in keys_of(some)}
    return Fragment(values)
