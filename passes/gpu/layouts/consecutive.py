"""Tasks of one element that lie one behind the other in what is written, whatever the rows of what is read.

The task at (i, j) of a slice x[:, 1:] of rows of 512 writes the element 511 i + j, which is its number, and
reads 512 i + j + 1. Results of 16 bytes a thread are one aligned access then, and what it reads for them are
neighbours, but where its tasks are of two rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir

from ....dialects.layouts import WARP
from ..threads.grid import Loops
from .access import WIDE, Access, access_of
from .linear import Linear, linear_of

_READ, _WRITE = "vector.transfer_read", "vector.transfer_write"
_OTHERS = ("arith.", "math.", "affine.", "vector.broadcast", "vector.shape_cast", "vector.extract", "ub.")
_WORD = 4


@dataclass(frozen=True)
class Shift:
    """How far what a group of neighbouring tasks reads begins behind an access of as many elements.

    ``known``: the number, if it is one for all groups; else None.
    """

    access: Access
    known: int | None


def consecutive_each(forall: ir.Operation) -> int:
    """The consecutive tasks that a thread should have; 1 if they cannot be, or gain nothing."""
    loops, counts = Loops.of(forall), Loops.of(forall).static_counts()
    work = [op.operation for op in list(forall.regions[0].blocks[0].operations)[:-1]]
    if None in counts or any(step != 1 for step in loops.steps) or not all(map(_is_known, work)):
        return 1
    accesses = [access_of(op) for op in work if op.name in (_READ, _WRITE)]
    sizes = {access.element_bytes for access in accesses}
    if not accesses or any(ir.MemRefType(each.buffer.type).element_type.width < 8 for each in accesses):
        return 1
    each = WIDE // max(sizes)
    (*_, row) = [count or 0 for count in counts]
    padded = not all(all(access.in_bounds) for access in accesses)
    if each * min(sizes) < _WORD or not is_worth_shifting(each, row, padded=padded):
        return 1
    shifts = shifts_of(forall, each)
    return each if shifts and any(shift.known != 0 for shift in shifts) else 1


def is_worth_shifting(each: int, row: int, *, padded: bool) -> bool:
    """Whether accesses of ``each`` elements, ``row`` in a row, are worth what it takes to shift them.

    A warp's single elements of 8 bytes touch but 9 sectors for 8, wide accesses 17 for 16. Of shorter rows
    each warp reads one by one, too. Where an element may be ``padded`` that takes twice as long: of 64x4096
    in f16 232 instructions for eight elements (80 for as many in tiles), 110 where no row ends, for 1.06 of
    the least bytes instead of 1.48; in f32 144 for four (40), for 1.05 instead of 1.23, which is not done.
    """
    return each >= (8 if padded else 4) and row >= (4 if padded else 1) * WARP * each


def shifts_of(forall: ir.Operation, each: int) -> list[Shift] | None:
    """Those of what is read, in order; None if results do not follow each other, or what is read does not."""
    places = list(forall.regions[0].blocks[0].arguments)[: Loops.of(forall).rank]
    task = _place(places, Loops.of(forall).bounds)
    along, shifts, written = places[-1], list[Shift](), list[ir.Value]()
    for op in forall.regions[0].blocks[0].operations:
        if op.operation.name not in (_READ, _WRITE):
            continue
        access = access_of(op.operation)
        kind = ir.MemRefType(access.buffer.type)
        if not kind.has_static_shape or not isinstance(access.buffer.owner, ir.Block):
            return None
        beyond = _place(access.indices, kind.shape).plus(task, -1)
        if op.operation.name == _WRITE:
            if beyond != Linear() or not all(access.in_bounds):
                return None
            written.append(access.buffer)
            continue
        if not _runs_along(access, along) or any(value not in places for value in beyond.terms):
            return None
        if prod(kind.shape) < each:
            return None  # no access of as many is in memory
        fixed = all(factor % each == 0 for factor in beyond.terms.values())
        shifts.append(Shift(access, beyond.constant % each if fixed else None))
    apart = len(written) == len({*written}) and not any(each.access.buffer in written for each in shifts)
    return shifts if written and apart else None


def _place(indices: Sequence[ir.Value], sizes: Sequence[int | ir.Value]) -> Linear:
    """Which element of contiguous memory is at some indices."""
    place = Linear()
    for index, size in zip(indices, sizes, strict=True):
        assert isinstance(size, int), "sizes are known"
        place = Linear().plus(place, size).plus(linear_of(index))
    return place


def _runs_along(access: Access, along: ir.Value) -> bool:
    """Whether the next task of a row reads the next element of one."""
    *outer, inner = [linear_of(index) for index in access.indices]
    return inner.terms.get(along) == 1 and not any(along in index.terms for index in outer)


def _is_known(op: ir.Operation) -> bool:
    """Whether an op can be made for each of a thread's tasks, behind all that they read."""
    return not op.regions and (op.name in (_READ, _WRITE) or op.name.startswith(_OTHERS))
