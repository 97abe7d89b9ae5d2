"""Which buffers the ops of a kernel may write to."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

_VIEWS = (
    "memref.cast",
    "memref.subview",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.reinterpret_cast",
)
_READERS = ("vector.transfer_read", "memref.load", "memref.dim", *_VIEWS)


def written_by(ops: Iterable[ir.Operation]) -> set[ir.Value]:
    """The buffers that some of ``ops`` may write to: all that they are given, if they do not only read."""
    return {
        buffer_of(value)
        for op in ops
        if op.name not in _READERS
        for value in op.operands
        if isinstance(value.type, ir.MemRefType)
    }


def buffer_of(value: ir.Value) -> ir.Value:
    """The buffer that a view is of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _VIEWS:
        value = value.owner.operation.operands[0]
    return value
