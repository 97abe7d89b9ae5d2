"""What a thread does by itself where each runs a task of its own: stores, branches and loops within loops."""

from __future__ import annotations

from functools import partial

from mlir import ir
from mlir.dialects import scf

from ..layouts.access import bytes_of
from .emitter import Emitter
from .registry import rule
from .scalars import element_pointer
from .streamed import store_result


@rule("memref.store")
def emit_store(em: Emitter, op: ir.Operation) -> None:
    """One element."""
    value, memref, *indices = op.operands
    pointer = element_pointer(em, memref, indices)
    buffer = em.buffers[memref]
    store_result(em.build, buffer, [em.scalar(value)], pointer, bytes_of(buffer.element))


@rule("scf.if")
def emit_if(em: Emitter, op: ir.Operation) -> None:
    """The branch, over scalars; the one that is taken, if that is known."""

    def emitted(region: ir.Region) -> list[ir.Value]:
        *ops, end = (inner.operation for inner in region.blocks[0].operations)
        em.emit(ops)
        return [em.scalar(value) for value in end.operands]

    then, other = op.regions
    results = em.choose(
        em.number(op.operands[0]),
        [result.type for result in op.results],
        partial(emitted, then),
        partial(emitted, other) if len(other.blocks) else None,
    )
    for old, new in zip(op.results, results, strict=True):
        em.set_scalar(old, new)


@rule("scf.parallel")
def emit_parallel(em: Emitter, op: ir.Operation) -> None:
    """One loop in another: the thread is alone with its task."""
    body = op.regions[0].blocks[0]
    rank = len(body.arguments)
    bounds = [em.scalar(operand) for operand in op.operands]

    def nest(dim: int) -> None:
        if dim == rank:
            em.emit([inner.operation for inner in body.operations][:-1])
            return
        loop = scf.ForOp(bounds[dim], bounds[rank + dim], bounds[2 * rank + dim])
        em.set_scalar(body.arguments[dim], loop.induction_variable)
        with ir.InsertionPoint(loop.body), em.region():
            nest(dim + 1)
            scf.YieldOp([])

    nest(0)
