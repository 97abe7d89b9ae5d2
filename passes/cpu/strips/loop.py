"""scf.for that carries tiles: the same loop, inside the strips, with fragments carried."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, scf

from ...base import PassError
from .emitter import Emitter, normal_strip
from .fragment import Fragment, Strip, keys_of, lane_of
from .narrowed import Row, find_row
from .registry import rule, rule_of
from .vectors import spread


def _uses(value: ir.Value, strip: Strip) -> list[tuple[ir.Value, Strip]]:
    op, number = value.owner.opview, ir.OpResult(value).result_number
    return [(op.operands[3 + number], strip), (_yielded(op)[number], strip)]


def _yielded(op: ir.OpView) -> list[ir.Value]:
    body = op.regions[0].blocks[0]
    return list(body.operations[len(body.operations) - 1].operands)


@rule("scf.for", uses=_uses)
def emit_loop(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """Carry what the asked result needs, each value at the one strip it is needed at."""
    bounds = [em.scalar(operand) for operand in value.owner.operands[:3]]
    row = find_row(em, value, strip)
    return (
        run_loop(em, value, strip, {}, bounds) if row is None else _run_apart(em, value, strip, row, bounds)
    )


def _run_apart(em: Emitter, value: ir.Value, strip: Strip, row: Row, bounds: Sequence[ir.Value]) -> Fragment:
    """The turns whose row lies in memory first; then those before them, and those after them."""
    lower, upper, step = bounds
    first, end = row.inside(em, bounds)
    start = em.emit(value.owner.operands[3], strip)
    with row.known(em):
        total = run_loop(em, value, strip, {0: start}, [first, end, step])
    zero, one, two = em.index(0), em.index(1), em.index(2)
    with em.loop(zero, two, one, _flat(em, total, strip)) as loop:
        inside = _fragments({0: strip}, list(loop.inner_iter_args))
        with em.here():
            before = arith.CmpIOp(arith.CmpIPredicate.eq, loop.induction_variable, zero).result
            begin = arith.SelectOp(before, lower, end).result
            stop = arith.SelectOp(before, first, upper).result
        em.close(_flat(em, run_loop(em, value, strip, inside, [begin, stop, step]), strip))
    return _fragments({0: strip}, list(loop.results))[0]


def run_loop(
    em: Emitter, value: ir.Value, strip: Strip, starts: dict[int, Fragment], bounds: Sequence[ir.Value]
) -> Fragment:
    """The loop within ``bounds``; ``starts`` are the carried values that do not start as the op says."""
    op, number = value.owner.opview, ir.OpResult(value).result_number
    wanted = _wanted(op, number, strip)
    carried = []
    for place, at in wanted.items():
        carried += _flat(em, starts[place] if place in starts else em.emit(op.operands[3 + place], at), at)
    yielded = _yielded(op)
    with em.loop(bounds[0], bounds[1], bounds[2], carried, source=op) as loop:
        em.remember(op.induction_variable, (), Fragment({(): loop.induction_variable}))
        inside = _fragments(wanted, list(loop.inner_iter_args))
        for place, at in wanted.items():
            em.remember(op.inner_iter_args[place], at, inside[place])
        em.close([one for place, at in wanted.items() for one in _flat(em, em.emit(yielded[place], at), at)])
    results = _fragments(wanted, list(loop.results))
    if not starts:
        for place, at in wanted.items():
            em.remember(op.results[place], at, results[place])
    return results[number]


def _flat(em: Emitter, fragment: Fragment, strip: Strip) -> list[ir.Value]:
    lane = lane_of(strip)
    with em.here():
        return [
            fragment[key] if lane is None else spread(fragment[key], strip[lane].lanes)
            for key in keys_of(strip)
        ]


def _fragments(wanted: dict[int, Strip], values: list[ir.Value]) -> dict[int, Fragment]:
    rest = iter(values)
    return {place: Fragment({key: next(rest) for key in keys_of(at)}) for place, at in wanted.items()}


def _wanted(op: scf.ForOp, number: int, strip: Strip) -> dict[int, Strip]:
    """The carried values that one turn of the loop asks for, and where."""
    wanted: dict[int, Strip] = {number: normal_strip(op.results[number], strip)}
    seen: set[tuple[ir.Value, Strip]] = set()
    pending: list[tuple[ir.Value, Strip]] = [(_yielded(op)[number], wanted[number])]
    while pending:
        value, at = pending.pop()
        at = normal_strip(value, at)
        if (value, at) in seen:
            continue
        seen.add((value, at))
        owner = value.owner
        if not isinstance(owner, ir.Block):
            inner = owner.opview
            if _inside(inner.operation, op):
                pending += rule_of(inner).uses(value, at)
            continue
        loop, place = owner.owner, ir.BlockArgument(value).arg_number - 1
        if place < 0 or loop.operation.name != "scf.for":
            continue
        if loop.operation == op.operation:
            if wanted.setdefault(place, at) != at:
                raise PassError(op, "strip-mine: a loop-carried tile is used at two different strips")
            pending.append((_yielded(op)[place], at))
        elif _inside(loop.operation, op):
            pending += [(loop.operands[3 + place], at), (_yielded(loop.opview)[place], at)]
    return dict(sorted(wanted.items()))


def _inside(op: ir.Operation, loop: scf.ForOp) -> bool:
    parent = op.parent
    while parent is not None and parent.operation != loop.operation:
        parent = parent.operation.parent
    return parent is not None
