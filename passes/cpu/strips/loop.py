"""scf.for that carries tiles: the same loop, inside the strips, with fragments carried.

A window's loop leaves out the turns in which it reads padding (`narrowed.py`, `edges.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .borders import knowing
from .carried import run_loop, yielded_of
from .edges import Edge, find_edge
from .emitter import Emitter
from .fragment import Fragment, Strip, keys_of
from .narrowed import Row, find_row
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
    edge, row = find_edge(em, value, strip), find_row(em, value, strip)
    if edge is None and row is None:
        return run_loop(em, value, strip, {}, bounds)
    sums, cut = em.emit(loop.operands[3], strip), dict(em.border.cut)
    if edge is not None:
        sums, cut[edge.loop.operation] = with_unseen(em, value, strip, sums, edge), edge
    with knowing(em, cut=cut):
        if row is not None:
            sums = _run_rows(em, value, strip, sums, row, bounds)
        elif edge is not None and edge.loop.operation == loop:
            sums = _run_parts(em, value, strip, sums, edge)
        else:
            sums = run_loop(em, value, strip, {0: sums}, bounds)
    return sums if edge is None else with_seen(em, value, strip, sums, edge)


def _run_rows(
    em: Emitter, value: ir.Value, strip: Strip, sums: Fragment, row: Row, bounds: Sequence[ir.Value]
) -> Fragment:
    """The turns whose row lies in memory, added to ``sums``, and to what comes of the others."""
    sums = with_row(em, value, strip, sums, row)
    first, end = row.inside(em, bounds)
    with knowing(em, within=em.border.within | {(row.window.read.operation, row.dim)}):
        return run_loop(em, value, strip, {0: sums}, [first, end, bounds[2]])


def _run_parts(em: Emitter, value: ir.Value, strip: Strip, sums: Fragment, edge: Edge) -> Fragment:
    """Each turn for the positions that lie in memory in it."""
    values = dict(sums.values)
    for part in edge.parts:
        if part.low == part.high:
            continue
        some = edge.strip(strip, part)
        start = Fragment({key: values[edge.key(key, part)] for key in keys_of(some)})
        turns = [em.index(part.first), em.index(part.end), em.index(1)]
        with knowing(em, within=em.border.within | {(edge.window.read.operation, edge.dim)}):
            found = run_loop(em, value, some, {0: start}, turns)
        values |= {edge.key(key, part): found[key] for key in keys_of(some)}
    return Fragment(values)
