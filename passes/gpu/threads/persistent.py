"""The tasks of a block of a persistent grid: every so many-th, as many as the launch has blocks.

The kernel's twin for what is unaligned is launched with a block for each task, which does that one alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ....dialects.attributes import SCHEDULE
from ...operations import ops_named
from ..layouts.boxes import TILE, stored
from ..layouts.warpgroup import PATTERN_BYTES
from .builder import Number
from .emitter import Emitter
from .grid import Loops
from .neighbours import bind_places
from .registry import rule


@rule("mlopt.turns")
def emit_turns(em: Emitter, op: ir.Operation) -> None:
    """How many tasks there are from the block's own one on, a launch apart.

    What they store leaves shared memory while the next one is on its way: its bytes are never given back.
    """
    if not em.aligned:
        em.set_scalar(op.results[0], 1)
        return
    build, forall = em.build, _forall(op)
    tasks, blocks = _launched(em, forall, _counts(em, forall))
    left = build.sub(build.add(tasks, build.sub(blocks, 1)), _block(em))
    em.set_scalar(op.results[0], build.div(left, blocks))
    writes = [use.owner.operation for tile in ops_named(forall, TILE) for use in tile.results[0].uses]
    if writes:
        em.staging = em.shared.alloc(max(stored(write)[1].bytes for write in writes), PATTERN_BYTES)


@rule("mlopt.task")
def emit_task(em: Emitter, op: ir.Operation) -> None:
    """The places of the block's task of a turn."""
    if not em.aligned:
        return
    build, forall = em.build, _forall(op)
    counts = _counts(em, forall)
    _, blocks = _launched(em, forall, counts)
    task = build.add(_block(em), build.mul(em.number(op.operands[0]), blocks))
    bind_places(em, forall, Loops.of(forall).places(build, task, counts))


def _counts(em: Emitter, forall: ir.Operation) -> Sequence[Number]:
    loops = Loops.of(forall)
    return [loops.count(em.build, loop, em.number) for loop in range(loops.rank)]


def _launched(em: Emitter, forall: ir.Operation, counts: Sequence[Number]) -> tuple[Number, Number]:
    """The tasks, and the blocks of the launch."""
    tasks: Number = 1
    for count in counts:
        tasks = em.build.mul(tasks, count)
    (most,) = (SCHEDULE.get(forall) or {})["persistent"]
    return tasks, em.build.least(tasks, most)


def _block(em: Emitter) -> Number:
    """The block's number."""
    build, word = em.build, ir.IntegerType.get_signless(32)

    def make() -> Number:
        own = build.op("nvvm.read.ptx.sreg.ctaid.x", [], word)
        return own if own.type == build.index else build.op("arith.extui", [own], build.index)

    return em.at_entry("block", make)


def _forall(op: ir.Operation) -> ir.Operation:
    """The scf.forall that an op is in."""
    parent = op.parent.operation
    return parent if parent.name == "scf.forall" else _forall(parent)
