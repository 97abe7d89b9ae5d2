"""A tensor that a buffer becomes is taken when the loops that fill the buffer are done.

::

    %t = bufferization.to_tensor %alloc restrict            scf.for … { memref.store …, %alloc }
    scf.for … { memref.store …, %alloc }              ->    %t = bufferization.to_tensor %alloc restrict
    linalg.generic ins(%t)                                  linalg.generic ins(%t)

The importer writes it as on the left, where nothing says that the generic needs the loop. Legal always: no op
may write the buffer between a ``restrict`` to_tensor and the uses of its result, unless it means this.
"""

from __future__ import annotations

from mlir import ir

from ..groups import entry_ops, operands_of, touches_memory
from ..structured import structured_ops


def take_tensors_late(func: ir.Operation) -> None:
    """Move each bufferization.to_tensor of ``func`` behind the last op on memory before its first reader."""
    for op in reversed(structured_ops(func, "bufferization.to_tensor")):
        after = None
        for each in _ops_from(func, op):
            if any(value == op.results[0] for _, _, value in operands_of(each)):
                break
            if touches_memory(each):
                after = each
        if after is not None:
            op.move_after(after)


def _ops_from(func: ir.Operation, op: ir.Operation) -> list[ir.Operation]:
    """The ops behind ``op`` in the entry block, with the terminator."""
    ops = [*entry_ops(func), func.regions[0].blocks[0].operations[-1].operation]
    return ops[ops.index(op) + 1 :]
