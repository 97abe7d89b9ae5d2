"""Tasks of one element that lie one behind the other in what is written, whatever the rows of what is read.

The task at (i, j) of a slice x[:, 1:] of rows of 512 writes the element 511 i + j, which is its number, and
reads 512 i + j + 1. Results of 16 bytes a thread are one aligned access then, and what it reads for them are
neighbours, but where its tasks are of two rows, or of two pieces of a row that was put together (`pieces`).
Or they are every other element, which lanes pick from whole accesses (`stepped`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from mlir import ir

from ....dialects.layouts import WARP
from ...costs.wide_rows import has_both_rows, is_worth_bordering
from ..threads.grid import Loops
from ..turns.reads import depends_on
from .access import WIDE, Access, access_of
from .linear import Linear, linear_of
from .pieces import Bordered, Rolled, pieces_of
from .stepped import Stepped, lanes_of, stepped_of

LOAD, READ, WRITE = "memref.load", "vector.transfer_read", "vector.transfer_write"
_OTHERS = ("arith.", "math.", "affine.", "vector.broadcast", "vector.shape_cast", "vector.extract", "ub.")
_WORD = 4


@dataclass(frozen=True)
class Shift:
    """How far what a group of neighbouring tasks reads begins behind an access of as many elements.

    ``known``: the number, if it is one for all groups; else None. ``gap``: how many elements lie between
    those of a row and the first one of the next, if that is one number for all rows; else None. ``pieces``:
    what a memref.load reads of a row. ``stepped``: how what does not follow each other is read.
    """

    access: Access
    known: int | None
    gap: int | None
    pieces: Rolled | Bordered | None = None
    stepped: Stepped | None = None

    def has_both_rows(self, each: int, row: int) -> bool:
        """`has_both_rows` of accesses of ``each`` elements, and rows of ``row`` tasks."""
        access, shape = self.access, ir.MemRefType(self.access.buffer.type).shape
        if isinstance(self.pieces, Rolled):
            return True
        if self.pieces is not None:
            return has_both_rows(shape, self.gap, self.pieces.begins, each, row)
        outside = {dim for dim, inside in zip(access.dims, access.in_bounds, strict=True) if not inside}
        begins = linear_of(access.indices[-1]).constant if len(shape) - 1 in outside else None
        return (begins is not None or not outside) and has_both_rows(shape, self.gap, begins, each, row)


def consecutive_each(forall: ir.Operation) -> int:
    """The consecutive tasks that a thread should have; 1 if they cannot be, or gain nothing."""
    loops, counts = Loops.of(forall), Loops.of(forall).static_counts()
    work = [op.operation for op in list(forall.regions[0].blocks[0].operations)[:-1]]
    if None in counts or any(step != 1 for step in loops.steps) or not all(map(_is_known, work)):
        return 1
    accesses = [_access_of(op) for op in work if op.name in (LOAD, READ, WRITE)]
    sizes = {access.element_bytes for access in accesses}
    if not accesses or any(ir.MemRefType(each.buffer.type).element_type.width < 8 for each in accesses):
        return 1
    each = WIDE // max(sizes)
    (*_, row) = [count or 0 for count in counts]
    shifts = shifts_of(forall, each) if each * min(sizes) >= _WORD else None
    if shifts and any(shift.stepped for shift in shifts):
        return each if can_exchange(shifts, each, row) else 1
    if not shifts or all(shift.known == 0 for shift in shifts):
        return 1
    padded = not all(all(shift.access.in_bounds) for shift in shifts)
    whole = all(shift.has_both_rows(each, row) for shift in shifts)
    if not whole and any(shift.pieces for shift in shifts):
        return 1  # where one reads single elements, all do, each of one row
    return each if is_worth_shifting(each, row, padded=padded, whole=whole) else 1


def can_exchange(shifts: Sequence[Shift], each: int, row: int) -> bool:
    """Whether the lanes of a warp may have other groups than their own number says, for some that step.

    What else is read begins where accesses do, so that nothing comes from the lane beside.
    """
    others = [shift for shift in shifts if shift.stepped is None]
    in_place = all(other.known == 0 and (other.gap == 0 or row % each == 0) for other in others)
    is_plain = not any(shift.pieces for shift in others)
    return in_place and is_plain and lanes_of([shift.stepped for shift in shifts]) is not None


def is_worth_shifting(each: int, row: int, *, padded: bool, whole: bool) -> bool:
    """Whether accesses of ``each`` elements, ``row`` in a row, are worth what it takes to shift them.

    A warp's single elements of 8 bytes touch but 9 sectors for 8, wide accesses 17 for 16. Unless accesses
    have both rows (``whole``), each warp of shorter rows reads one by one, too. Where an element may be
    ``padded`` that takes twice as long: of 64x4096 in f16 232 instructions for eight elements (80 for as many
    in tiles), 110 where no row ends, for 1.06 of the least bytes instead of 1.48; in f32 144 for four (40),
    for 1.05 instead of 1.23, which is not done. Of both rows 123 in f16.
    """
    return each >= (8 if padded else 4) and (whole or row >= (4 if padded else 1) * WARP * each)


def shifts_of(forall: ir.Operation, each: int) -> list[Shift] | None:
    """Those of what is read, in order; None if results do not follow each other, or what is read does not."""
    shifts, written = list[Shift](), list[ir.Value]()
    for op in forall.regions[0].blocks[0].operations:
        if op.operation.name not in (LOAD, READ, WRITE):
            continue
        access = _access_of(op.operation)
        kind = ir.MemRefType(access.buffer.type)
        if not kind.has_static_shape or not isinstance(access.buffer.owner, ir.Block):
            return None
        if op.operation.name == WRITE:
            if beyond_task(forall, access) != Linear() or not all(access.in_bounds):
                return None
            written.append(access.buffer)
            continue
        if prod(kind.shape) < each:
            return None  # no access of as many is in memory
        shift = (_shift_of_pieces if op.operation.name == LOAD else _shift)(forall, access, each)
        if shift is None:
            return None
        shifts.append(shift)
    apart = len(written) == len({*written}) and not any(each.access.buffer in written for each in shifts)
    return shifts if written and apart else None


def _access_of(op: ir.Operation) -> Access:
    """`access_of`, of a memref.load, too."""
    if op.name != LOAD:
        return access_of(op)
    buffer, *indices = op.operands
    dims = tuple(range(len(indices)))
    return Access(op, op.results[0], buffer, tuple(indices), dims, (True,) * len(dims))


def _shift(forall: ir.Operation, access: Access, each: int) -> Shift | None:
    """That of a read; None if its place is no sum, or the next task's is not the next one."""
    beyond, places = beyond_task(forall, access), _places(forall)
    if any(value not in places for value in beyond.terms):
        return None
    if runs_along(access, places[-1]):
        return _shift_from(forall, access, beyond, each)
    step, row = 1 + beyond.terms.get(places[-1], 0), Loops.of(forall).static_counts()[-1] or 0
    beyond = beyond_task(forall, access, times=step)
    stepped = stepped_of(access, beyond, step, each, row)
    return None if stepped is None else Shift(access, stepped.first, None, stepped=stepped)


def _shift_of_pieces(forall: ir.Operation, access: Access, each: int) -> Shift | None:
    """That of a load, of a rolled row or one with borders; None of others, and if rows begin anywhere."""
    along, count = _places(forall)[-1], Loops.of(forall).static_counts()[-1] or 0
    pieces = pieces_of(access.op, along, count)
    changing = depends_on(forall, len(_places(forall)) - 1)
    if pieces is None or any(index in changing for index in access.indices[:-1]):
        return None
    if isinstance(pieces, Rolled):
        return None if count % each else Shift(access, pieces.start % each, None, pieces)
    beyond = beyond_task(forall, access, Linear(pieces.begins, {along: 1}))
    if any(value not in _places(forall) for value in beyond.terms):
        return None
    padded = replace(access, in_bounds=(*access.in_bounds[:-1], False))
    shift = replace(_shift_from(forall, padded, beyond, each), pieces=pieces)
    return shift if is_worth_bordering(each, count) and shift.has_both_rows(each, count) else None


def _shift_from(forall: ir.Operation, access: Access, beyond: Linear, each: int) -> Shift:
    places, counts = _places(forall), Loops.of(forall).static_counts()
    fixed = all(factor % each == 0 for factor in beyond.terms.values())
    factors = [beyond.terms.get(place, 0) for place in places[:-1]]
    known = beyond.constant % each if fixed else None
    return Shift(access, known, gap_of(factors, [count or 0 for count in counts[:-1]]))


def _places(forall: ir.Operation) -> list[ir.Value]:
    return list(forall.regions[0].blocks[0].arguments)[: Loops.of(forall).rank]


def beyond_task(forall: ir.Operation, access: Access, last: Linear | None = None, times: int = 1) -> Linear:
    """How far behind its task's number an access to a buffer of known sizes is, for tasks of one element.

    ``last``: its last index, if it is not what the access says. ``times``: or behind so many times it.
    """
    outer = [linear_of(index) for index in access.indices[:-1]]
    indices = [*outer, last or linear_of(access.indices[-1])] if access.indices else []
    task = _place([linear_of(place) for place in _places(forall)], Loops.of(forall).bounds)
    return _place(indices, ir.MemRefType(access.buffer.type).shape).plus(task, -times)


def gap_of(factors: Sequence[int], counts: Sequence[int]) -> int | None:
    """How much further than the task what is read is from row to row; None if that is not the same always.

    It is ``factors`` for a step of each outer loop. Behind the last step of inner ones these begin again.
    """
    gaps, back = set[int](), 0
    for factor, count in zip(reversed(factors), reversed(counts), strict=True):
        gaps.add(factor - back)
        back += factor * (count - 1)
    return next(iter(gaps), 0) if len(gaps) < 2 else None


def _place(indices: Sequence[Linear], sizes: Sequence[int | ir.Value]) -> Linear:
    """Which element of contiguous memory is at some indices."""
    place = Linear()
    for index, size in zip(indices, sizes, strict=True):
        assert isinstance(size, int), "sizes are known"
        place = Linear().plus(place, size).plus(index)
    return place


def runs_along(access: Access, along: ir.Value) -> bool:
    """Whether the next task of a row reads the next element of one."""
    *outer, inner = [linear_of(index) for index in access.indices]
    return inner.terms.get(along) == 1 and not any(along in index.terms for index in outer)


def _is_known(op: ir.Operation) -> bool:
    """Whether an op can be made for each of a thread's tasks, behind all that they read."""
    return not op.regions and (op.name in (LOAD, READ, WRITE) or op.name.startswith(_OTHERS))
