"""Loops that carry tiles, inside the strips: the same loop with fragments carried, and what it checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlir import ir
from mlir.dialects import scf

from ...base import PassError
from ...constants import integer_of
from ...operations import nested_ops
from .emitter import Emitter, normal_strip
from .fragment import Fragment, Strip, keys_of, lane_of
from .memory import memory_dims
from .registry import rule_of
from .scalars import emit_assert
from .strided import is_dense
from .vectors import spread

_MOST_TURNS = 4  # that are written out
_WITH_LOOPS = ("scf.for", "vector.contract", "vector.multi_reduction")


def run_loop(
    em: Emitter, value: ir.Value, strip: Strip, starts: dict[int, Fragment], bounds: Sequence[ir.Value]
) -> Fragment:
    """The loop within ``bounds``; ``starts`` are the carried values that do not start as the op says."""
    op, number = value.owner.opview, ir.OpResult(value).result_number
    wanted = _wanted(op, number, strip)
    carried = []
    for place, at in wanted.items():
        carried += _flat(em, starts[place] if place in starts else em.emit(op.operands[3 + place], at), at)
    yielded = yielded_of(op)
    for lower, upper in _turns_apart(em, op, bounds):
        with em.loop(lower, upper, bounds[2], carried, source=op) as loop:
            em.remember(op.induction_variable, (), Fragment({(): loop.induction_variable}))
            inside = _fragments(wanted, list(loop.inner_iter_args))
            for place, at in wanted.items():
                em.remember(op.inner_iter_args[place], at, inside[place])
            for each in op.body.operations:
                if each.operation.name == "cf.assert":
                    emit_assert(em, each)
            em.close(
                [one for place, at in wanted.items() for one in _flat(em, em.emit(yielded[place], at), at)]
            )
        carried = list(loop.results)
    results = _fragments(wanted, carried)
    if not starts:
        for place, at in wanted.items():
            em.remember(op.results[place], at, results[place])
    return results[number]


def should_write_out(op: scf.ForOp, turns: int) -> bool:
    """Whether a loop is a window's innermost one, with few turns, that loads lanes a stride apart.

    Turns side by side share what they load, and it is known which of their lanes are padding; LLVM leaves
    such a loop as it is. Effect (one Zen 3 core, 64 x 112 x 112): max pool of 3x3/2 495 to 320 us.
    """
    if turns > _MOST_TURNS:
        return False
    inside = nested_ops(op)
    return not any(each.name in _WITH_LOOPS for each in inside) and any(
        each.name == "vector.transfer_read" and _is_spread(each.opview) for each in inside
    )


def _is_spread(read: ir.OpView) -> bool:
    return any(place is not None and is_dense(read.base, place) for place in memory_dims(read))


def _turns_apart(
    em: Emitter, op: scf.ForOp, bounds: Sequence[ir.Value]
) -> Iterator[tuple[ir.Value, ir.Value]]:
    """The bounds of each turn of a loop that should be written out, else those of the loop."""
    lower, upper, step = (integer_of(bound) for bound in bounds)
    turns = None if lower is None or upper is None or step is None else range(lower, upper, step)
    if turns is None or not should_write_out(op, len(turns)):
        yield bounds[0], bounds[1]
        return
    for turn in turns:
        yield em.index(turn), em.index(turn + turns.step)


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
    pending: list[tuple[ir.Value, Strip]] = [(yielded_of(op)[number], wanted[number])]
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
            pending.append((yielded_of(op)[place], at))
        elif _inside(loop.operation, op):
            pending += [(loop.operands[3 + place], at), (yielded_of(loop.opview)[place], at)]
    return dict(sorted(wanted.items()))


def _inside(op: ir.Operation, loop: scf.ForOp) -> bool:
    parent = op.parent
    while parent is not None and parent.operation != loop.operation:
        parent = parent.operation.parent
    return parent is not None


def yielded_of(op: ir.OpView) -> list[ir.Value]:
    """What a loop's body hands on."""
    body = op.regions[0].blocks[0]
    return list(body.operations[len(body.operations) - 1].operands)
