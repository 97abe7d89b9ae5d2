"""cf.assert: the number of the message that failed first goes to the status cell; the thread goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mlir import ir

from .emitter import Emitter
from .registry import rule

_MONOTONIC = 2  # llvm's relaxed ordering


@rule("cf.assert")
def emit_assert(em: Emitter, op: ir.Operation) -> None:
    """One thread of the block swaps its message's number in for zero, here or where ``held`` is told."""
    number = em.messages.index(ir.StringAttr(op.attributes["msg"]).value) + 1
    holds = em.scalar(op.operands[0])
    if em.held is None or op.parent.operation.name != "scf.forall":
        report(em, number, holds)
    else:
        em.held[number] = em.build.both(em.held.get(number, True), holds)


@contextmanager
def told_last(em: Emitter) -> Iterator[None]:
    """What a task asserts outside of its loops is told behind it.

    LLVM moves loads behind a branch that comes before their first use, also the one that tells.
    """
    em.held = {}
    yield
    held, em.held = em.held, None
    for number, holds in held.items():
        report(em, number, em.build.truth(holds))


def report(em: Emitter, number: int, holds: ir.Value) -> None:
    """Tell a message, unless it ``holds``."""
    build, status = em.build, em.status
    assert status is not None, "a kernel with asserts has a status cell"
    fails = build.op("arith.xori", [holds, build.constant(holds.type, 1)])
    first = em.only((1 << (4 + em.warps.bit_length())) - 1)
    word = ir.IntegerType.get_signless(32)

    def swap() -> list[ir.Value]:
        relaxed = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _MONOTONIC)
        build.op(
            "llvm.cmpxchg",
            [status, build.constant(word, 0), build.constant(word, number)],
            ir.Type.parse("!llvm.struct<(i32, i1)>"),
            {"success_ordering": relaxed, "failure_ordering": relaxed},
        )
        return []

    em.choose(build.both(fails, first), [], swap)
