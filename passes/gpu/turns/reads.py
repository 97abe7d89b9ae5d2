"""Which ops of a task change along a loop of its scf.forall, which it shares, which come before its turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from mlir import ir

from ...operations import nested_ops, ops_named
from ..layouts.access import access_of, is_halved
from ..layouts.overlaps import buffer_of
from ..layouts.tiles import is_tile

_SCALAR = ("arith.", "affine.")


def depends_on(forall: ir.Operation, loop: int) -> set[ir.Value]:
    """The values of a task that change along a loop."""
    block = forall.regions[0].blocks[0]
    changing: set[ir.Value] = {block.arguments[loop]}
    for op in nested_ops(block):
        if any(operand in changing for operand in op.operands):
            changing |= set(op.results)
    return changing


def is_shared(op: ir.Operation, changing: Collection[ir.Value]) -> bool:
    """Whether an op makes the same in all tasks along a loop: a read of what nobody writes, or a position."""
    if any(operand in changing for operand in op.operands):
        return False
    return _is_scalar(op) or _reads_constant(op)


def is_ahead(op: ir.Operation, changing: Collection[ir.Value]) -> bool:
    """Whether a read, or a position, of a task can be made before its turn."""
    if not any(operand in changing for operand in op.operands):
        return False
    return _is_scalar(op) or (_reads_constant(op) and all(map(_is_position, op.operands)))


@dataclass(frozen=True)
class Parts:
    """The ops of a task, each part in order.

    What it ``shares``, the ``totals`` of that and what comes of them, what can be made ``ahead`` of its turn,
    and the ``others``.
    """

    shared: list[ir.Operation] = field(default_factory=list)
    totals: list[ir.Operation] = field(default_factory=list)
    ahead: list[ir.Operation] = field(default_factory=list)
    others: list[ir.Operation] = field(default_factory=list)


def parts_of(work: Sequence[ir.Operation], changing: Collection[ir.Value]) -> Parts:
    """The parts of a task's ops; ``changing`` are the values that change along the loop of its turns."""
    parts = Parts()
    made: set[ir.Value] = set()  # by others
    added: set[ir.Value] = set()  # by totals
    for op in work:
        constant = not any(operand in changing or operand in made for operand in op.operands)
        if constant and (_is_total(op) or (is_shared(op, ()) and any(each in added for each in op.operands))):
            parts.totals.append(op)
            added |= set(op.results)
        elif constant and is_shared(op, ()):
            parts.shared.append(op)
        elif is_ahead(op, changing) and not any(each in made or each in added for each in op.operands):
            parts.ahead.append(op)
        else:
            parts.others.append(op)
            made |= set(op.results)
    return parts


def _is_total(op: ir.Operation) -> bool:
    """Whether an op makes one number of a tile."""
    return op.name == "vector.multi_reduction" and not is_tile(op.results[0])


def _is_scalar(op: ir.Operation) -> bool:
    return op.name.startswith(_SCALAR) and not any(map(is_tile, (*op.operands, *op.results)))


def _is_position(value: ir.Value) -> bool:
    """Whether a value comes from loops and numbers alone, or is no index."""
    if isinstance(value.owner, ir.Block) or not isinstance(value.type, ir.IndexType):
        return not is_tile(value)
    op = value.owner.operation
    return _is_scalar(op) and all(map(_is_position, op.operands))


def _reads_constant(op: ir.Operation) -> bool:
    """Whether an op reads a tile of a buffer that its kernel writes nothing to."""
    if op.name != "vector.transfer_read" or is_halved(op):
        return False
    parent = op.parent.operation
    while parent.name != "scf.forall":
        parent = parent.parent.operation
    written = {buffer_of(access_of(write)) for write in ops_named(parent, "vector.transfer_write")}
    return buffer_of(access_of(op)) not in written
