"""What consecutive tasks read: neighbours, or the end of a row and the beginning of the next, or padding.

Or pieces of a row: of a rolled one the second access may be the first one of the row; between borders it is
read as between padding, which is single elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from mlir import ir

from ....dialects.layouts import WARP
from ..layouts.consecutive import Shift
from ..layouts.pieces import Bordered, Rolled
from .builder import Builder, Number, Truth
from .emitter import Emitter
from .row_ends import Ends, read_rows
from .shifted import Run, both_accesses, in_elements, load_runs, shift

SECTOR = 32  # bytes
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
    some may be beside it. ``padding``: what a task has that does not read; else a ``border`` is loaded, from
    the pointer for each task's number.
    """

    run: Run
    ends: Ends | None
    whole: Truth
    nothing: Truth
    starts: tuple[_Start, _Start]
    size: int | None
    padding: ir.Value
    border: Callable[[int], ir.Value] | None = None


def read_of(
    em: Emitter,
    row: Row,
    shift: Shift,
    indices: Sequence[Sequence[Number]],
    pointer: Callable[[int], ir.Value],
) -> Read:
    """What is read, by the ``indices`` of the first task, and of what would be the first in the next row.

    ``pointer``: for a task's number, to the element that it reads.
    """
    build, access, each = em.build, shift.access, row.each
    sizes = list(ir.MemRefType(access.buffer.type).shape)
    ragged = {dim for dim, inside in zip(access.dims, access.in_bounds, strict=True) if not inside}
    first, second = (_start(build, sizes, ragged, each_row) for each_row in indices)
    kind = em.buffers[access.buffer].element
    if isinstance(shift.pieces, Rolled):
        run = _rolled(em, row, shift, first)
        return Read(run, None, True, False, (first, second), None, build.zero(kind))
    if isinstance(shift.pieces, Bordered):
        padded = _both_rows_padded(em, row, shift, (first, second))
        return Read(*padded, True, False, (first, second), None, build.zero(kind), pointer)
    padding = build.constant(kind, access.padding)
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
    return run, Ends(end, end, gap, True, padded=False)


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
    run = _run_at(em, row, shift, place, goes_on, 0)
    return run, Ends(before, behind, shift.gap or 0, begins, padded=True)


def _rolled(em: Emitter, row: Row, shift: Shift, begin: _Start) -> Run:
    """A group's run in a row from ``begin`` on, and round its end, which is where an access ends, too."""
    build, access, rest = em.build, shift.access, shift.known or 0
    assert isinstance(shift.pieces, Rolled)

    def round_end(column: Number) -> Number:
        return build.pick(build.less(column, row.size), column, build.sub(column, row.size))

    first = round_end(build.add(row.column, shift.pieces.start - rest))
    second = build.add(begin.place, round_end(build.add(first, row.each)))
    place = build.add(build.add(begin.place, first), rest)
    size, buffer = access.element_bytes, em.buffers[access.buffer]
    backwards = rest != 0 and (shift.pieces.start - rest) * size % SECTOR != 0
    beside = build.opposite(build.less(row.column, 1)) if backwards else row.stays(row.each)
    return Run(buffer, size, row.each, place, rest, True, True, beside, 0, second, backwards)


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
    loaded = load_runs(em, [read.run for read in reads])
    between = [_beside(em, row, read) for read in reads]
    words = [both_accesses(em, read.run, *pair) for read, pair in zip(reads, loaded, strict=True)]
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
    for read, own, other, beside in zip(reads, words, others, between, strict=True):
        run, whole, ends = read.run, read.whole, read.ends
        found = shift(em, run, own) if ends is None else read_rows(em, run, own, ends, beside)
        vector = in_elements(em, run, found)
        if whole is not True and (early or read.nothing is not False):
            vector = build.op("arith.select", [build.truth(whole), vector, other], vector.type)
        together.append(vector)
    vectors = together if early else em.choose(mixed, kinds, singles, lambda: together)
    return [build.elements(vector) for vector in vectors]


def _beside(em: Emitter, row: Row, read: Read) -> list[ir.Value]:
    """What each task has that reads no neighbour: padding, or an element of a border."""
    build, ends, border, nothing = em.build, read.ends, read.border, [read.padding] * row.each
    if ends is None or border is None:
        return nothing
    kind, size, constant = read.padding.type, read.run.element_bytes, read.run.buffer.constant

    def one(number: int) -> list[ir.Value]:
        return build.load(border(number), kind, 1, size, constant)

    def each() -> list[ir.Value]:
        found = []
        for number in range(row.each):
            is_behind = build.opposite(build.less(number, ends.before))
            is_one = build.both(is_behind, build.less(number, ends.behind))
            found += em.choose(is_one, [kind], partial(one, number), lambda: [read.padding])
        return found

    return em.choose(build.less(ends.before, row.each), [kind] * row.each, each, lambda: nothing)


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
