"""Buffers of a block in shared memory, which it has to itself from its task's beginning to its end."""

from __future__ import annotations

from math import prod

from mlir import ir

from ..layouts.access import bytes_of
from .emitter import Buffer, Emitter
from .registry import rule
from .stored import stored_type


@rule("memref.alloca")
def emit_alloca(em: Emitter, op: ir.Operation) -> None:
    """Bytes that nobody else gets: barriers between their uses are the kernel's own."""
    kind = ir.MemRefType(op.results[0].type)
    region = em.shared.alloc(prod(kind.shape) * bytes_of(kind.element_type))
    em.buffers[op.results[0]] = Buffer(
        None, em.shared.pointer(region), tuple(kind.shape), stored_type(kind.element_type), constant=False
    )


@rule("gpu.barrier")
def emit_barrier(em: Emitter, _: ir.Operation) -> None:
    """All threads of the block wait for each other."""
    em.shared.barrier()
