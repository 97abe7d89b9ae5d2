"""What consecutive tasks read: neighbours, or the end of a row and the beginning of the next, or padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from mlir import ir

from ....dialects.layouts import WARP
from ..layouts.consecutive import Shift
from .builder import Builder, Number, Truth
from .emitter import Emitter
from .row_ends import Ends, read_rows
from .shifted import Run, in_elements, load_runs, shift

FEW_ENDS = 4  # times as many tasks as a warp has are in a row: at most one warp of so many has an end of one


@dataclass(frozen=True)
class Row:
    """The ``size`` tasks of a row, ``each`` of which from ``column`` on are a thread's."""

    build: Builder
    size: int
    each: int
    column: Number

    @property
    def has_all(self) -> Truth:
        """Whether all of the thread's tasks are among them."""
        return self.stays(self.each - 1)

    def stays(self, number: int) -> Truth:
        """Whether a task of the thread is."""
        if number == 0 or (number < self.each and self.size % self.each == 0):
            return True
        return self.build.less(self.build.add(self.column, number), self.size)


@dataclass(frozen=True)
class _Start:
    """Where the first of tasks would read that go on in one row: a ``place``, and the ``column`` in its row.

    ``there``: whether this row is in memory.
    """

    place: Number
    column: Number
    there: Truth


@dataclass(frozen=True)
class Read:
    """A ``run`` of neighbours, ``nothing`` but padding, or else single elements from both ``starts`` on.

    ``whole``: whether the run is all that is read, or with ``ends`` that of two rows. ``size``: of a row, if
    some may be beside it.
    """

    run: Run
    ends: Ends | None
    whole: Truth
    nothing: Truth
    starts: tuple[_Start, _Start]
    size: int | None
    padding: ir.Value


def read_of(em: Emitter, row: Row, shift: Shift, indices: Sequence[Sequence[Number]]) -> Read:
    """What is read, by the ``indices`` of the first task, and of what would be the first in the next row."""
    build, access, each = em.build, shift.access, row.each
    sizes = list(ir.MemRefType(access.buffer.type).shape)
    ragged = {dim for dim, inside in zip(access.dims, access.in_bounds, strict=True) if not inside}
    first, second = (_start(build, sizes, ragged, each_row) for each_row in indices)
    padding = build.constant(em.buffers[access.buffer].element, access.padding)
    if shift.has_both_rows(each, row.size):
        find = _both_rows_padded if ragged else _both_rows
        return Read(*find(em, row, shift, (first, second)), True, False, (first, second), None, padding)
    starts, outside = first.there, build.opposite(first.there)
    whole, beside = build.both(starts, row.has_all), build.both(starts, row.stays(each))
    size = sizes[-1] if len(sizes) - 1 in ragged else None
    if size is not None:
        begins, ends, goes_on = (build.less(build.add(first.column, at), size) for at in (0, each - 1, each))
        starts, beside = build.both(starts, begins), build.both(beside, goes_on)
        whole = build.both(whole, build.both(begins, ends))
        if size >= each:  # else some may lie between two that are outside
            outside = build.either(outside, build.both(build.opposite(begins), build.opposite(ends)))
    if prod(sizes) % each:  # the last access would end outside
        begins, ends, goes_on = (
            build.less(build.add(first.place, at), prod(sizes) // each * each) for at in (0, each - 1, each)
        )
        starts, whole, beside = (
            build.both(*pair) for pair in ((starts, begins), (whole, ends), (beside, goes_on))
        )
    rest, follows = build.rem(first.place, each) if shift.known is None else shift.known, whole
    if not isinstance(rest, int):
        follows = build.both(whole, build.opposite(build.equal(rest, build.number(0))))
    buffer = em.buffers[access.buffer]
    run = Run(buffer, access.element_bytes, each, first.place, rest, starts, follows, beside)
    return Read(run, None, whole, build.both(row.has_all, outside), (first, second), size, padding)


def _both_rows(em: Emitter, row: Row, shift: Shift, starts: tuple[_Start, _Start]) -> tuple[Run, Ends]:
    """A group's run, and where it ends, if tasks of the next row read ``gap`` elements further."""
    gap = shift.gap or 0
    end = em.build.sub(row.size, row.column)
    run = _run_at(em, row, shift, starts[0].place, row.stays(row.each), gap)
    return run, Ends(end, end, gap, True, None)


def _both_rows_padded(em: Emitter, row: Row, shift: Shift, starts: tuple[_Start, _Start]) -> tuple[Run, Ends]:
    """The same of rows that are padded: a group that begins in padding has the run of the row behind it."""
    build, access, (first, second) = em.build, shift.access, starts
    width = ir.MemRefType(access.buffer.type).shape[-1]
    column = build.number(first.column)
    begins, is_before = build.less(column, width), build.negative(column)
    place = build.pick(build.either(begins, is_before), first.place, second.place)
    goes_on = build.either(build.opposite(begins), build.less(build.add(column, row.each), width))
    before = build.pick(build.both(begins, first.there), build.sub(width, column), 0)
    behind = build.sub(build.pick(is_before, 0, row.size), column)
    behind = build.pick(build.pick_truth(is_before, first.there, second.there), behind, row.each)
    padding = build.constant(em.buffers[access.buffer].element, access.padding)
    run = _run_at(em, row, shift, place, goes_on, 0)
    return run, Ends(before, behind, shift.gap or 0, begins, padding)


def _run_at(em: Emitter, row: Row, shift: Shift, place: Number, beside: Truth, more: int) -> Run:
    """The run from ``place`` on, of a buffer that ends with a whole access."""
    build, each, access = em.build, row.each, shift.access
    total = prod(ir.MemRefType(access.buffer.type).shape)
    rest = build.rem(place, each) if shift.known is None else shift.known
    aligned = build.sub(place, rest)
    starts = build.less(aligned, total) if not all(access.in_bounds) else True
    follows = build.less(build.add(aligned, each), total)
    size, buffer = access.element_bytes, em.buffers[access.buffer]
    return Run(buffer, size, each, place, rest, starts, follows, beside, more)


def _start(build: Builder, sizes: Sequence[int], ragged: set[int], indices: Sequence[Number]) -> _Start:
    place: Number = 0
    there: Truth = True
    for dim, index in enumerate(indices):
        place = build.add(place, build.mul(index, prod(sizes[dim + 1 :])))
        if dim in ragged and dim < len(sizes) - 1:
            there = build.both(there, build.less(index, sizes[dim]))
    return _Start(place, indices[-1], there)


def values_of(em: Emitter, row: Row, reads: Sequence[Read]) -> list[list[ir.Value]]:
    """What each task has of each read.

    Single elements are loaded last, in the place of what was shifted; of short rows, whose ends many warps
    have, before that, so that they do not wait for the wide accesses.
    """
    build = em.build
    em.wide = True
    words = load_runs(em, [read.run for read in reads])
    mixed: Truth = False
    for read in reads:
        mixed = build.either(mixed, build.opposite(build.either(read.whole, read.nothing)))
    kinds = [ir.VectorType.get([row.each], read.run.buffer.element) for read in reads]

    def singles() -> list[ir.Value]:
        return [build.vector(_one_by_one(em, row, read)) for read in reads]

    def padding() -> list[ir.Value]:
        return [build.vector([read.padding] * row.each) for read in reads]

    early = row.size < FEW_ENDS * WARP * row.each
    others = em.choose(mixed, kinds, singles, padding) if early else padding()
    together = []
    for read, own, other in zip(reads, words, others, strict=True):
        run, whole, ends = read.run, read.whole, read.ends
        found = shift(em, run, own) if ends is None else read_rows(em, run, own, ends)
        vector = in_elements(em, run, found)
        if whole is not True and (early or read.nothing is not False):
            vector = build.op("arith.select", [build.truth(whole), vector, other], vector.type)
        together.append(vector)
    vectors = together if early else em.choose(mixed, kinds, singles, lambda: together)
    return [build.elements(vector) for vector in vectors]


def _one_by_one(em: Emitter, row: Row, read: Read) -> list[ir.Value]:
    """What each task reads: so many elements behind where its row starts."""
    build, buffer = em.build, read.run.buffer

    def load(pointer: ir.Value) -> list[ir.Value]:
        return build.load(pointer, buffer.element, 1, read.run.element_bytes, buffer.constant)

    found = []
    for number in range(row.each):
        stays = row.stays(number)
        inside = build.pick_truth(stays, *(start.there for start in read.starts))
        if read.size is not None:
            column = build.pick(stays, *(start.column for start in read.starts))
            inside = build.both(inside, build.less(build.add(column, number), read.size))
        place = build.pick(stays, *(start.place for start in read.starts))
        pointer = build.offset(buffer.pointer, buffer.element, place)
        pointer = build.offset(pointer, buffer.element, number)
        found += em.choose(inside, [buffer.element], partial(load, pointer), lambda: [read.padding])
    return found
