"""cf.assert: the number of the message that failed first goes to the status cell; the thread goes on."""

from __future__ import annotations

from mlir import ir

from .emitter import Emitter
from .registry import rule


@rule("cf.assert")
def emit_assert(em: Emitter, op: ir.Operation) -> None:
    """One thread of the block swaps its message's number in for zero."""
    message = ir.StringAttr(op.attributes["msg"]).value
    if message not in em.messages:
        em.messages.append(message)
    number = em.messages.index(message) + 1
    build, status = em.build, em.status
    assert status is not None, "a kernel with asserts has a status cell"
    holds = em.scalar(op.operands[0])
    truth = holds.type
    fails = build.op("arith.xori", [holds, build.constant(truth, 1)])
    first = em.only((1 << (4 + em.warps.bit_length())) - 1)
    word = ir.IntegerType.get_signless(32)

    def report() -> list[ir.Value]:
        relaxed = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _MONOTONIC)
        build.op(
            "llvm.cmpxchg",
            [status, build.constant(word, 0), build.constant(word, number)],
            ir.Type.parse("!llvm.struct<(i32, i1)>"),
            {"success_ordering": relaxed, "failure_ordering": relaxed},
        )
        return []

    em.choose(build.both(fails, first), [], report)


_MONOTONIC = 2  # llvm's relaxed ordering
