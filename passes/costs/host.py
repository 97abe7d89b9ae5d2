"""What the host function does itself: loops that write to memory where indices say, copies of buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil

from mlir import ir

from ..constants import integer_of
from ..structured import COPY
from .cost import Cost
from .count import bytes_of, count_op

_READS, _STORE = ("tensor.extract", "memref.load"), "memref.store"
_LOOPS = ("scf.for", "scf.while", "scf.if")


def is_host_work(op: ir.Operation) -> bool:
    """Whether ``op`` of a host function takes time there, and is no kernel."""
    return op.name in (*_LOOPS, COPY)


def host_label(op: ir.Operation) -> str:
    """What is shown of such an op."""
    return "copy" if op.name == COPY else "loop"


def written_by(op: ir.Operation) -> list[ir.Value]:
    """The buffers that such an op writes to."""
    if op.name == COPY:
        return [op.operands[1]]
    return list(dict.fromkeys(inner.operands[1] for inner, _ in _runs_of(op, 1) if inner.name == _STORE))


def stores_of(op: ir.Operation, unknown: int = 1) -> int:
    """How many elements a loop of the host function writes; ``unknown`` as for `cost_of_host_work`."""
    return sum(times for inner, times in _runs_of(op, unknown) if inner.name == _STORE)


def accessed_by(op: ir.Operation, value: ir.Value, unknown: int = 1) -> int:
    """The bytes of ``value`` that such an op reads and writes; ``unknown`` as for `cost_of_host_work`."""
    if op.name == COPY:
        return bytes_of(value, unknown)
    accesses = ((where, times) for inner, times in _runs_of(op, unknown) for where in _moved(inner))
    return sum(times * bytes_of(element) for (place, element), times in accesses if place == value)


def _moved(op: ir.Operation) -> list[tuple[ir.Value, ir.Value]]:
    """Where ``op`` reads or writes an element, and the element."""
    if op.name in _READS:
        return [(op.operands[0], op.results[0])]
    return [(op.operands[1], op.operands[0])] if op.name == _STORE else []


def cost_of_host_work(op: ir.Operation, unknown: int = 1) -> Cost:
    """Its cost: each access and each operation as often as it runs.

    A loop counts ``unknown`` times where its bounds are not known, a dynamic size as ``unknown``, each branch
    once.
    """
    if op.name == COPY:
        return Cost(sum(bytes_of(value, unknown) for value in op.operands))
    moved = 0
    work: dict[str, Counter[str]] = {"contracted": Counter(), "elementwise": Counter(), "special": Counter()}
    for inner, times in _runs_of(op, unknown):
        moved += sum(times * bytes_of(element) for _, element in _moved(inner))
        count_op(inner, times, work)
    return Cost(moved, **{kind: dict(part) for kind, part in work.items()})


def _runs_of(op: ir.Operation, unknown: int, times: int = 1) -> Iterator[tuple[ir.Operation, int]]:
    """Each op inside ``op`` and how often it runs."""
    times *= _trips(op, unknown)
    for region in op.regions:
        for block in region.blocks:
            for inner in (each.operation for each in block.operations):
                yield inner, times
                yield from _runs_of(inner, unknown, times)


def _trips(op: ir.Operation, unknown: int) -> int:
    if op.name != "scf.for":
        return 1
    bounds = [integer_of(value) for value in list(op.operands)[:3]]
    if None in bounds:
        return unknown
    low, high, step = (bound or 0 for bound in bounds)
    return max(ceil((high - low) / step), 0)
