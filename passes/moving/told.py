"""What became of a function's moves: those that are gone, and those that stay where they were, and why.

A move copies (a slice, a transpose, a concat), or is a reshape of what a kernel makes, which keeps its
readers out of that kernel. Moves before all rewrites and after them are compared by source line: rewrites go
through moves in many steps, of which only the outcome is a decision. What a move saves if it is gone is all
that it would read and write as a kernel of its own; a reshape, that the tensor is written and read.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import partial

from mlir import ir

from ...dialects.attributes import WHOLE
from ...dialects.decisions import Decision
from ..costs.cost import Cost
from ..costs.count import bytes_of, cost_alone
from ..costs.machine import Machine
from ..hoist import made_of_weights
from ..operations import defining_op
from ..raising.reshape import RESHAPES
from ..rewrites import rewrite_of, seconds_of
from ..structured import ASSUMED, ATTENTION, structured_ops, word_for
from .between import why_between
from .concat_parts import concat_of
from .reads import is_move, why_not_read
from .views import is_made

_CONCAT = "tensor.insert_slice"
_COMPUTE = ("linalg.generic", ATTENTION)


class Moves:
    """The moves of ``func`` as it is now, priced for ``machine``; those of weights are @prepare's."""

    def __init__(self, func: ir.Operation, machine: Machine) -> None:
        self._func, self._machine = func, machine
        self._before = [self._priced(op, "") for op, _ in self._all(made_of_weights(func))]

    def decisions(self) -> list[Decision]:
        """About each of them, once ``func`` has been rewritten: gone, or left, with one reason against it."""
        weights = made_of_weights(self._func)
        left = [
            self._priced(op, reason)
            for op, readers in self._all(weights)
            if (reason := _why_left(op, readers, weights)) is not None
        ]
        gone = {_name(each): list[Decision]() for each in self._before}
        for each in self._before:
            gone[_name(each)].append(each)
        for each in left:
            if same := gone.get(_name(each)):
                same.remove(min(same, key=partial(_difference, each)))
        return [*(each for same in gone.values() for each in same), *left]

    def _all(self, weights: Set[ir.Value]) -> Iterator[tuple[ir.Operation, list[ir.Operation]]]:
        """Each move, and what reads its elements."""
        ops = structured_ops(self._func), *(structured_ops(self._func, name) for name in _MOVES)
        for op in (op for named in ops for op in named):
            users = (use.owner.operation for use in op.results[0].uses)
            readers = [user for user in users if user.name != "tensor.dim"]
            if readers and op.results[0] not in weights and _is_move(op, readers):
                yield op, readers

    def _priced(self, op: ir.Operation, reason: str) -> Decision:
        copies = op.name not in (*RESHAPES, _CONCAT)
        cost = cost_alone(op, ASSUMED) if copies else Cost(2 * bytes_of(op.results[0], ASSUMED))
        word = {"tensor.extract_slice": "slice", _CONCAT: "concat"}.get(op.name) or word_for(op)
        return rewrite_of(op, reason, cost.bytes, seconds_of(cost, self._machine), word=word)


_MOVES = ("tensor.extract_slice", _CONCAT, *RESHAPES)


def _name(move: Decision) -> tuple[str, tuple[str, ...]]:
    return move.ops, move.places


def _difference(one: Decision, other: Decision) -> int:
    return abs(one.bytes - other.bytes)


def _is_move(op: ir.Operation, readers: list[ir.Operation]) -> bool:
    """Whether ``op`` copies; of a reshape: whether it is between a kernel and what could go on in it."""
    if op.name == "linalg.generic":
        return is_move(op)
    if op.name not in RESHAPES:
        return op.name != _CONCAT or concat_of(op.results[0]) is not None
    value = op.operands[0]
    while (before := defining_op(value, *RESHAPES)) is not None:
        value = before.operands[0]
    return is_made(value) and any(reader.name in _COMPUTE for reader in readers)


def _why_left(op: ir.Operation, readers: list[ir.Operation], weights: Set[ir.Value]) -> str | None:
    """Why the move ``op`` was not made part of its readers; None of a concat of what was made in parts."""
    if op.name == _CONCAT:
        return WHOLE.get(op)
    if op.name == "tensor.extract_slice":
        return "it starts at places that each call computes, or takes steps"
    reasons = (_why_apart(op, reader, weights) for reader in readers)
    return next((reason for reason in reasons if reason), "a later step has made it")


def _why_apart(op: ir.Operation, reader: ir.Operation, weights: Set[ir.Value]) -> str | None:
    if reader.name not in _COMPUTE:
        return (
            "the caller gets it" if reader.name == "func.return" else f"{word_for(reader)} reads it as it is"
        )
    if op.name in RESHAPES:
        return why_between(reader, op.results[0]) or f"{word_for(reader)} cannot run through what it was"
    number = list(reader.operands).index(op.results[0])
    return why_not_read(reader, number, weights)
