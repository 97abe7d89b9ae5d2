"""The tasks of a thread that are neighbours: what they share is made once, and their accesses become wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mlir import ir

from ..turns.reads import depends_on
from .builder import Number
from .emitter import Emitter
from .grid import Loops
from .joined import join_accesses
from .straight import emit_straight

_READS = ("memref.load", "vector.transfer_read")
_PURE = ("affine.", "arith.", "math.", "vector.broadcast", "vector.extract")


def emit_neighbours(
    em: Emitter, forall: ir.Operation, group: Number, each: int, work: Sequence[ir.Operation]
) -> None:
    """The thread's group of ``each`` tasks along the last loop.

    They share what does not change along it: the place of a row that one index says is one place for all, so
    that what they read there is known to be neighbours.
    """
    buffers = dict(em.buffers)
    # What is joined is streamed then.
    em.buffers = {value: replace(buffer, streamed=False) for value, buffer in buffers.items()}
    build, loops = em.build, Loops.of(forall)
    *counts, last = (loops.count(build, loop, em.number) for loop in range(loops.rank))
    *places, first = loops.places(build, group, [*counts, build.div(last, each)])
    first = build.mul(first, each)
    own = [[*places, build.add(first, number)] for number in range(each)]
    shared = _shared(em, work, depends_on(forall, loops.rank - 1))
    bind_places(em, forall, own[0])
    em.emit(shared)
    rest = [op for op in work if op not in shared]
    blocks = emit_straight(em, rest, [partial(bind_places, em, forall, task) for task in own])
    em.buffers = buffers
    for block in blocks:
        join_accesses(em, block)


def bind_places(em: Emitter, forall: ir.Operation, places: Sequence[Number]) -> None:
    """The induction variables from a task's place in each loop."""
    steps = Loops.of(forall).steps
    arguments = list(forall.regions[0].blocks[0].arguments)[: len(steps)]
    for argument, place, step in zip(arguments, places, steps, strict=True):
        em.set_scalar(argument, em.build.mul(place, step))


def _shared(em: Emitter, work: Sequence[ir.Operation], changing: set[ir.Value]) -> list[ir.Operation]:
    """The ops that make the same in all tasks, of what nobody writes; not a choice by what is asserted."""
    asserted = {op.operands[0] for op in work if op.name == "cf.assert"}
    apart, shared = set(changing), list[ir.Operation]()
    for op in work:
        known = op.name.startswith(_PURE) or (op.name in _READS and em.buffers[op.operands[0]].constant)
        chosen = op.name == "arith.select" and op.operands[0] in asserted
        if known and not chosen and apart.isdisjoint(op.operands):
            shared.append(op)
        else:
            apart |= set(op.results)
    return shared
