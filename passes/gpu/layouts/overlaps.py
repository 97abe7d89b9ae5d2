"""Accesses of one task to the same place, which threads must make in their order.

A part that is inserted into what the same task has written, as into padding, covers some of it. The two tiles
have layouts of their own: one thread writes an element first, and another one writes or reads it again.
"""

from __future__ import annotations

from mlir import ir

from ...constants import integer_of
from ...operations import ops_named
from .access import Access, access_of
from .tiles import sizes_of

_WRITE = "vector.transfer_write"
_TRANSFERS = ("vector.transfer_read", _WRITE)


def must_wait(op: ir.Operation) -> bool:
    """Whether a transfer and one before it, or in an earlier turn of a loop, may be of the same place.

    One of them writes: two reads have no order.
    """
    loops = _loops(op)
    task = loops[-1]
    is_before = True
    for other in ops_named(task, *_TRANSFERS):
        if other == op:
            is_before = False
            continue
        comes_before = is_before or set(loops[:-1]).intersection(_loops(other))
        if comes_before and _WRITE in (op.name, other.name) and _may_overlap(access_of(other), access_of(op)):
            return True
    return False


def buffer_of(access: Access) -> ir.Value:
    """The buffer of a transfer, seen through casts."""
    buffer = access.buffer
    while not isinstance(buffer, ir.BlockArgument) and buffer.owner.name == "memref.cast":
        buffer = buffer.owner.operands[0]
    return buffer


def _loops(op: ir.Operation) -> list[ir.Operation]:
    """The loops around an op, innermost first; the last one is its task's scf.forall, or its function."""
    loops = []
    parent = op.parent.operation
    while parent.name == "scf.for":
        loops.append(parent)
        parent = parent.parent.operation
    return [*loops, parent]


def _may_overlap(one: Access, other: Access) -> bool:
    """Whether two tiles may share an element: not in other buffers, or apart along a dim."""
    if buffer_of(one) != buffer_of(other):
        return False
    for dim, (first, second) in enumerate(zip(one.indices, other.indices, strict=True)):
        start, end = integer_of(first), integer_of(second)
        if start is None or end is None:
            continue
        if start + _size(one, dim) <= end or end + _size(other, dim) <= start:
            return False
    return True


def _size(access: Access, dim: int) -> int:
    """How many positions of a buffer's dim the tile covers."""
    return sizes_of(access.tile)[access.dims.index(dim)] if dim in access.dims else 1
