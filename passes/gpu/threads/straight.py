"""Straight code for several tasks of one thread, whose asserts are one branch for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir

from ...operations import defining_op
from .asserts import report
from .builder import Truth
from .emitter import Emitter, Task
from .fragment import uniform

_ASSERT = "cf.assert"
_READS = ("memref.load", "vector.transfer_read")
_LIKELY = 1 << 20  # to 1: that all asserts hold


def emit_straight(
    em: Emitter, work: Sequence[ir.Operation], tasks: Sequence[Callable[[], None]]
) -> list[ir.Block]:
    """Emit ``work`` for each of ``tasks``, which set the induction variables; the blocks that it is in.

    With asserts, all that need not wait for them comes first, and the loads of all tasks are on their way
    together. The rest is there twice: where all hold, an index that is taken if it is inside, else 0, is
    taken as it is; where one fails, that is told, and the thread goes on with zeros for what it would read:
    kernels that come later read nothing that nobody wrote.
    """
    ahead, behind = parts_of(work)
    block = ir.InsertionPoint.current.block
    if not ahead:
        for task in tasks:
            with em.task():
                task()
                em.emit(behind)
        return [block]
    states, em.held = [], {}
    for task in tasks:
        with em.task() as state:
            task()
            em.emit(ahead)
        states.append(state)
    held, em.held = em.held, None
    true = em.build.truth(True)
    every: Truth = True
    for holds in held.values():
        every = em.build.both(every, holds)
    right, wrong = _branch(em.build.truth(every))
    with ir.InsertionPoint(wrong.operations[0]):
        for number, holds in held.items():
            report(em, number, em.build.truth(holds))
        _emit_rest(em, behind, states, reads=False)
    with ir.InsertionPoint(right.operations[0]):
        for _, scalars in states:
            scalars |= {op.operands[0]: true for op in ahead if op.name == _ASSERT}
        _emit_rest(em, behind, states)
    return [block, right, wrong]


def _emit_rest(em: Emitter, work: Sequence[ir.Operation], states: Sequence[Task], reads: bool = True) -> None:
    for state in states:
        with em.task(state):
            for op in work:
                if reads or op.name not in _READS:
                    em.emit([op])
                    continue
                (result,) = op.results
                zero = em.build.zero(em.element(result.type))
                if isinstance(result.type, ir.VectorType):
                    em.set_fragment(result, uniform(zero))
                else:
                    em.set_scalar(result, zero)


def _branch(holds: ir.Value) -> tuple[ir.Block, ir.Block]:
    """End the current block; the blocks of the threads for which it holds, and of the others, to the end."""
    block = ir.InsertionPoint.current.block
    right, wrong = block.region.blocks.append(), block.region.blocks.append()
    right.append(block.operations[len(block.operations) - 1])
    with ir.InsertionPoint(wrong):
        ir.Operation.create("nvvm.exit")  # after a return LLVM would join what both blocks do
        ir.Operation.create("llvm.unreachable")
    attributes = {
        "branch_weights": ir.DenseI32ArrayAttr.get([_LIKELY, 1]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0]),
    }
    with ir.InsertionPoint(block):
        ir.Operation.create("cf.cond_br", [], [holds], attributes, [right, wrong])
    return right, wrong


def parts_of(work: Sequence[ir.Operation]) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """What comes before the branch and what behind it; nothing comes before it where nothing is asserted.

    Behind it are writes, and what depends on a choice by an asserted condition, unless a condition needs it.
    All is before it where something reads after a write: that may be what was written.
    """
    checks = [op for op in work if op.name == _ASSERT]
    if not checks:
        return [], list(work)
    needed = _slice_of(checks)
    holds = [op.operands[0] for op in checks]
    later: set[ir.Value] = set()
    ahead: list[ir.Operation] = []
    behind: list[ir.Operation] = []
    written = False
    for op in work:
        chosen = op.name == "arith.select" and op.operands[0] in holds
        waits = chosen or not op.results or any(operand in later for operand in op.operands)
        if op in needed or not waits:
            if written and op.name in _READS:
                return list(work), []
            ahead.append(op)
            continue
        written = written or not op.results
        later |= set(op.results)
        behind.append(op)
    return ahead, behind


def _slice_of(ops: Sequence[ir.Operation]) -> set[ir.Operation]:
    """These ops and all that makes their operands."""
    found: set[ir.Operation] = set()
    left = list(ops)
    while left:
        op = left.pop()
        if op not in found:
            found.add(op)
            makers = map(defining_op, op.operands)
            left += [maker for maker in makers if maker is not None]
    return found
