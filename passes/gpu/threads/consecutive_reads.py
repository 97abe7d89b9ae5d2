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
from .shifted import Run, load_runs, shift

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

    ``size``: of a row, if some may be beside it.
    """

    run: Run
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
    rest = build.rem(first.place, each) if shift.known is None else shift.known
    buffer = em.buffers[access.buffer]
    run = Run(buffer, access.element_bytes, each, first.place, rest, starts, whole, beside)
    padding = build.constant(buffer.element, access.padding)
    return Read(run, build.both(row.has_all, outside), (first, second), size, padding)


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
        mixed = build.either(mixed, build.opposite(build.either(read.run.whole, read.nothing)))
    kinds = [ir.VectorType.get([row.each], read.run.buffer.element) for read in reads]

    def singles() -> list[ir.Value]:
        return [build.vector(_one_by_one(em, row, read)) for read in reads]

    def padding() -> list[ir.Value]:
        return [build.vector([read.padding] * row.each) for read in reads]

    early = row.size < FEW_ENDS * WARP * row.each
    others = em.choose(mixed, kinds, singles, padding) if early else padding()
    together = []
    for read, own, other in zip(reads, words, others, strict=True):
        vector, whole = shift(em, read.run, own), read.run.whole
        if whole is not True and (early or read.nothing is not False):
            vector = build.op("arith.select", [build.truth(whole), vector, other], vector.type)
        together.append(vector)
    found = together if early else em.choose(mixed, kinds, singles, lambda: together)
    return [build.elements(vector) for vector in found]


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
