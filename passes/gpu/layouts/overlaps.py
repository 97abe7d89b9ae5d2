"""Writes of one task to the same place, which threads must do in their order.

A part that is inserted into what the same task has written, as into padding, covers some of it. The two tiles
have layouts of their own: one thread writes an element first, and another one writes it again.
"""

from __future__ import annotations

from mlir import ir

from ...constants import integer_of
from ...operations import ops_named
from .access import Access, access_of
from .tiles import sizes_of


def must_wait(write: ir.Operation) -> bool:
    """Whether a transfer_write may cover what another one wrote before, or in an earlier turn of a loop."""
    loops = _loops(write)
    task = loops[-1]
    is_before = True
    for other in ops_named(task, write.name):
        if other == write:
            is_before = False
            continue
        comes_before = is_before or set(loops[:-1]).intersection(_loops(other))
        if comes_before and _may_overlap(access_of(other), access_of(write)):
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
