"""scf.for that carries tiles: the same loop, inside the strips, with fragments carried.

A window's loop leaves out the turns in which it reads padding (`narrowed.py`, `edges.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlir import ir

from .borders import Border, knowing
from .carried import run_loop, yielded_of
from .edges import Edge, find_edge
from .emitter import Emitter
from .fragment import Fragment, Key, Strip, element_of, keys_of, lane_of
from .narrowed import Row, find_row
from .registry import rule
from .types import is_float
from .vectors import add
from .windows import Window


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
        return run_loop(em, value, strip, {}, _turn(em, em.border.pinned[loop]))
    bounds = [em.scalar(operand) for operand in loop.operands[:3]]
    edge, row = find_edge(em, value, strip), find_row(em, value, strip)
    if edge is None and row is None:
        return run_loop(em, value, strip, {}, bounds)
    sums, cut = em.emit(loop.operands[3], strip), dict(em.border.cut)
    if edge is not None:
        sums, cut[edge.loop.operation] = _with_edges(em, value, strip, sums, edge), edge
    with knowing(em, cut=cut):
        if row is not None:
            return _run_rows(em, value, strip, sums, row, bounds)
        if edge is not None and edge.loop.operation == loop:
            return _run_parts(em, value, strip, sums, edge)
        return run_loop(em, value, strip, {0: sums}, bounds)


def _turn(em: Emitter, turn: int) -> list[ir.Value]:
    return [em.index(turn), em.index(turn + 1), em.index(1)]


def _run_rows(
    em: Emitter, value: ir.Value, strip: Strip, sums: Fragment, row: Row, bounds: Sequence[ir.Value]
) -> Fragment:
    """The turns whose row lies in memory, added to ``sums``, and to what comes of the others."""
    if is_float(element_of(value)):
        sums = _sum(em, sums, keys_of(strip), row.window, _outside_row(em, value, strip, row))
    first, end = row.inside(em, bounds)
    with knowing(em, within=em.border.within | {(row.window.read.operation, row.dim)}):
        return run_loop(em, value, strip, {0: sums}, [first, end, bounds[2]])


def _outside_row(em: Emitter, value: ir.Value, strip: Strip, row: Row) -> Fragment:
    """What comes of padding in the turns whose row lies there; made once for all strips of the row."""
    point, read = row.window.point(strip), row.window.read.operation
    key = (value, point, read, row.dim, row.axis)
    with em.at_level(max(em.home_of(value, point), em.depth_of(row.axis))):
        known = em.levels[-1].padding
        if key not in known:
            bounds = lower, upper, step = [em.scalar(operand) for operand in value.owner.operands[:3]]
            first, end = row.inside(em, bounds)
            with knowing(em, Border(outside=frozenset({read}))):
                before = run_loop(em, value, point, {0: _zeros(em, value, point)}, [lower, first, step])
                known[key] = run_loop(em, value, point, {0: before}, [end, upper, step])
        return known[key]


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


def _with_edges(em: Emitter, value: ir.Value, strip: Strip, sums: Fragment, edge: Edge) -> Fragment:
    """``sums``, and what comes of padding at the ends of a row, which is made before loops over rows."""
    for at in range(strip[edge.place].count) if is_float(element_of(value)) else ():
        keys = [key for key in keys_of(strip) if key[edge.place] == at]
        for turn in edge.outside(at):
            sums = _sum(em, sums, keys, edge.window, _outside_in(em, value, strip, edge, turn))
    return sums


def _outside_in(em: Emitter, value: ir.Value, strip: Strip, edge: Edge, turn: int) -> Fragment:
    """What comes of padding in one turn of an edge's loop."""
    point, loop = edge.window.point(strip), edge.loop.operation
    key = (value, point, loop, turn)
    with em.at_level(em.home_of(value, point)):
        known = em.levels[-1].padding
        if key not in known:
            turns = [em.scalar(operand) for operand in value.owner.operands[:3]]
            border = Border(outside=frozenset({edge.window.read.operation}), pinned={loop: turn})
            with knowing(em, border):
                alone = _turn(em, turn) if loop == value.owner else turns
                known[key] = run_loop(em, value, point, {0: _zeros(em, value, point)}, alone)
        return known[key]


def _sum(em: Emitter, sums: Fragment, keys: Iterable[Key], window: Window, padding: Fragment) -> Fragment:
    """``sums``, with ``padding`` added at ``keys``."""
    with em.here():
        more = {key: add(sums[key], padding[window.at_point(key)]) for key in keys}
    return Fragment({**sums.values, **more})


def _zeros(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    lane, element = lane_of(strip), element_of(value)
    kind = element if lane is None else ir.VectorType.get([strip[lane].lanes], element)
    zero = ir.FloatAttr.get(element, 0.0)
    filled = em.constant(zero if lane is None else ir.DenseElementsAttr.get_splat(kind, zero), kind)
    return Fragment(dict.fromkeys(keys_of(strip), filled))
