"""Rows that a task reads in steps, more than once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir

from ...constants import integer_of
from ...operations import ops_named
from ..layouts.access import Access, access_of
from ..layouts.overlaps import buffer_of
from ..layouts.tiles import sizes_of


@dataclass(frozen=True)
class Read:
    """A transfer_read of some steps of a row: those that begin at ``starts`` along its last dim.

    ``at`` is where, without what is the same at all of them: ``step``, if it is in a loop, and a number.
    """

    access: Access
    key: Hashable
    step: ir.Value | None
    number: int
    starts: frozenset[int]


@dataclass(frozen=True)
class Row:
    """Steps that ``first`` read from memory, all there are, and ``again`` read once more, later."""

    first: tuple[Read, ...]
    again: tuple[Read, ...]

    @property
    def shape(self) -> list[int]:
        """The shape of all steps together."""
        steps = {start for read in self.first for start in read.starts}
        *others, size = sizes_of(self.first[0].access.tile)
        return [*others, max(steps) + size]

    @property
    def bytes(self) -> int:
        """What it takes to keep them."""
        return prod(self.shape) * self.first[0].access.element_bytes


def find_rows(forall: ir.Operation) -> list[Row]:
    """What a task reads more than once from memory that it does not write to, the largest row first."""
    block = forall.regions[0].blocks[0]
    transfers = [access_of(op) for op in ops_named(block, "vector.transfer_read", "vector.transfer_write")]
    written = [buffer_of(access) for access in transfers if access.op.name == "vector.transfer_write"]
    groups: dict[Hashable, list[Read]] = {}
    for access in transfers:
        if access.op.name == "vector.transfer_read" and buffer_of(access) not in written:
            read = _read(access, block)
            if read is not None:
                groups.setdefault(read.key, []).append(read)
    rows = [row for reads in groups.values() if (row := _row(reads, block)) is not None]
    return sorted(rows, key=lambda row: -row.bytes)


def _read(access: Access, block: ir.Block) -> Read | None:
    """A read of steps along neighbours in memory, all of which begin at known places; else None."""
    op, sizes = access.op, sizes_of(access.tile)
    last = len(sizes) - 1
    along = len(access.indices) - 1
    if access.contiguous() != last or list(access.dims) != sorted(access.dims):
        return None
    parts = _parts(access.indices[along])
    if parts is None:
        return None
    step, number = parts
    starts = {number}
    if step is not None:
        loop = step.owner.owner
        numbers = map(integer_of, list(loop.operands)[:3])
        bounds = [number for number in numbers if number is not None]
        if loop.operation.block != block or op.block != step.owner or len(bounds) != 3:
            return None
        starts = {number + at for at in range(*bounds)}
    elif op.block != block:
        return None
    if any(start % sizes[last] for start in starts):
        return None
    others = access.indices[:along]
    padding = op.operands[len(access.indices) + 1]
    key = (access.buffer, access.tile.type, access.dims, others, str(access.padding), padding.type)
    return Read(access, key, step, number, frozenset(starts))


def _parts(index: ir.Value) -> tuple[ir.Value | None, int] | None:
    """A position as a loop's, if it has one, and a number; None if it is no such sum."""
    known = integer_of(index)
    if known is not None:
        return None, known
    if isinstance(index.owner, ir.Block):
        return (index, 0) if index.owner.owner.name == "scf.for" and index.arg_number == 0 else None
    if index.owner.name != "arith.addi":
        return None
    one, other = (_parts(operand) for operand in index.owner.operands)
    if one is None or other is None or (one[0] is not None and other[0] is not None):
        return None
    return one[0] if one[0] is not None else other[0], one[1] + other[1]


def _row(reads: Sequence[Read], block: ir.Block) -> Row | None:
    """The row of some reads, in their order; None if nothing, or only some of a read, comes again."""
    seen: set[int] = set()
    first: list[Read] = []
    again: list[Read] = []
    for read in reads:
        if seen.isdisjoint(read.starts):
            first.append(read)
            seen |= read.starts
        elif seen >= read.starts:
            again.append(read)
        else:
            return None
    if not again or not is_before(first[-1].access.op, again[0].access.op, block):
        return None
    return Row(tuple(first), tuple(again))


def is_before(one: ir.Operation, other: ir.Operation, block: ir.Block) -> bool:
    """Whether an op comes before another one, each seen as what of the block it is or is in."""
    first, second = within(one, block), within(other, block)
    if first == second:
        return False
    return next(op.operation for op in block.operations if op.operation in (first, second)) == first


def within(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The op of a block that ``op`` is, or is in."""
    while op.block != block:
        op = op.parent.operation
    return op
