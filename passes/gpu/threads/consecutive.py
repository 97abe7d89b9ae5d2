"""The consecutive tasks of a thread: wide accesses to what is written, and to what is read at any place.

Tasks of one row read neighbours, which aligned accesses bring (`shifted`). Those of two rows, or at an end of
what is read, read one by one; all other threads of a warp wait for them, which is why rows may not be too
short. Legal where `consecutive_each` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from mlir import ir

from ....dialects.attributes import SCHEDULE
from ..layouts.access import access_of
from ..layouts.consecutive import Shift, shifts_of
from .builder import Number, Truth
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .grid import Loops
from .memory import place_of
from .neighbours import bind_places
from .read import load_positions
from .shifted import Run, load_runs, shift
from .streamed import store_result

_READ, _WRITE = "vector.transfer_read", "vector.transfer_write"


@dataclass(frozen=True)
class _Tasks:
    """A thread's ``each`` tasks of ``total``, from number ``first`` on: a row, and the next one's beginning.

    ``here`` and ``following`` are the places of both in the outer loops, ``column`` that of the first task in
    the inner one, of ``row`` tasks. Threads without tasks have those of the last one, but write nothing.
    """

    em: Emitter
    forall: ir.Operation
    each: int
    total: int
    row: int
    first: Number
    here: list[Number]
    following: list[Number]
    column: Number

    @property
    def is_row(self) -> Truth:
        """Whether all of them are of one row."""
        return self.row % self.each == 0 or self.stays(self.each - 1)

    def stays(self, number: int) -> Truth:
        """Whether a task is of the first one's row, and there."""
        return self.em.build.less(self.em.build.add(self.column, number), self.row)

    def bind(self, number: int) -> None:
        """Say where a task is; of one that there is not, somewhere."""
        build, at = self.em.build, self.em.build.add(self.column, number)
        places = [*self.here, at]
        if number and self.row % self.each:
            stays, others = build.truth(self.stays(number)), [*self.following, build.sub(at, self.row)]
            places = [
                build.op("arith.select", [stays, build.number(one), build.number(other)], build.index)
                for one, other in zip(places, others, strict=True)
            ]
        bind_places(self.em, self.forall, places)

    def are(self, count: int) -> Truth:
        """Whether there are so many of them."""
        last = self.em.build.add(self.first, count - 1)
        (tasks,) = (SCHEDULE.get(self.forall) or {})["tasks"]
        return self.total % tasks == 0 or self.em.build.less(last, self.total)


@dataclass(frozen=True)
class _Read:
    """What the tasks read: a run of neighbours, ``nothing`` but padding, or else elements one by one."""

    op: ir.Operation
    run: Run
    nothing: Truth


def emit_consecutive(
    em: Emitter, forall: ir.Operation, group: Number, each: int, work: Sequence[ir.Operation]
) -> None:
    """The thread's group of ``each`` tasks."""
    tasks = _tasks(em, forall, group, each)
    shifts = shifts_of(forall, each)
    assert shifts is not None, "tasks are consecutive (mlopt-gpu-single-elements)"
    places = [op for op in work if not op.name.startswith("vector.") and not _has_tiles(op)]
    reads = [_read(tasks, places, shift) for shift in shifts]
    values = _values(tasks, places, reads)
    made: dict[ir.Operation, list[ir.Value]] = {op: [] for op in work if op.name == _WRITE}
    for number in range(each):
        with em.task():
            tasks.bind(number)
            for read in reads:
                _set(em, read.op, values[read.op][number])
            em.emit([op for op in work if op.name not in (_READ, _WRITE)])
            for op, found in made.items():
                tile = op.operands[0]
                fragment = em.fragment(tile)
                found.append(next(iter(fragment.values.values())))
    for op, found in made.items():
        _write(tasks, op, found)


def _tasks(em: Emitter, forall: ir.Operation, group: Number, each: int) -> _Tasks:
    build, loops = em.build, Loops.of(forall)
    counts = [count or 0 for count in loops.static_counts()]
    total, row = prod(counts), counts[-1]
    (tasks,) = (SCHEDULE.get(forall) or {})["tasks"]
    first = build.mul(group, each)
    near = first if total % tasks == 0 else build.least(first, (total - 1) // each * each)
    outer: list[Number] = [0, 0]
    if total > row:
        outer = [build.div(near, row), build.least(build.add(build.div(near, row), 1), total // row - 1)]
    column = build.sub(near, build.mul(outer[0], row))
    rows = Loops(loops.bounds[:-1], loops.steps[:-1])
    here, following = (rows.places(build, each_row, counts[:-1]) for each_row in outer)
    return _Tasks(em, forall, each, total, row, first, here, following, column)


def _has_tiles(op: ir.Operation) -> bool:
    return any(isinstance(value.type, ir.VectorType) for value in (*op.operands, *op.results))


def _read(tasks: _Tasks, places: Sequence[ir.Operation], shift: Shift) -> _Read:
    """Where the tasks' run begins, and what is known of it."""
    em, access, each = tasks.em, shift.access, tasks.each
    build, buffer = em.build, em.buffers[shift.access.buffer]
    with em.task():
        tasks.bind(0)
        em.emit(places)
        indices = [em.number(index) for index in access.indices]
    sizes = list(ir.MemRefType(access.buffer.type).shape)
    strides = [prod(sizes[dim + 1 :]) for dim in range(len(sizes))]
    place: Number = 0
    for index, stride in zip(indices, strides, strict=True):
        place = build.add(place, build.mul(index, stride))
    rest = build.rem(place, each) if shift.known is None else shift.known
    ragged = {dim for dim, inside in zip(access.dims, access.in_bounds, strict=True) if not inside}
    *outer, inner = range(len(sizes))
    starts: Truth = True
    for dim in outer:
        if dim in ragged:
            starts = build.both(starts, build.less(indices[dim], sizes[dim]))
    outside, whole = build.opposite(starts), build.both(starts, tasks.is_row)
    beside = build.both(starts, build.less(build.add(tasks.column, each), tasks.row))
    if inner in ragged:
        column, size = indices[inner], sizes[inner]
        first, last = (build.less(build.add(column, at), size) for at in (0, each - 1))
        starts, whole = build.both(starts, first), build.both(whole, build.both(first, last))
        beside = build.both(beside, build.less(build.add(column, each), size))
        if size >= each:  # else some may lie between two that are outside
            outside = build.either(outside, build.both(build.opposite(first), build.opposite(last)))
    elements = prod(sizes)
    if elements % each:  # the last access would end outside
        end = elements // each * each
        starts = build.both(starts, build.less(place, end))
        whole = build.both(whole, build.less(build.add(place, each - 1), end))
        beside = build.both(beside, build.less(build.add(place, each), end))
    run = Run(buffer, access.element_bytes, each, place, rest, starts, whole, beside)
    return _Read(access.op, run, build.both(tasks.is_row, outside))


def _values(
    tasks: _Tasks, places: Sequence[ir.Operation], reads: Sequence[_Read]
) -> dict[ir.Operation, list[ir.Value]]:
    """What each task has of each read."""
    em, build = tasks.em, tasks.em.build
    ops = [read.op for read in reads]
    if not em.aligned:
        return dict(zip(ops, _one_by_one(tasks, places, reads), strict=True))
    em.wide = True
    words = load_runs(em, [read.run for read in reads])
    mixed: Truth = False
    for read in reads:
        mixed = build.either(mixed, build.opposite(build.either(read.run.whole, read.nothing)))
    kinds = [ir.VectorType.get([tasks.each], read.run.buffer.element) for read in reads]
    others = em.choose(
        mixed,
        kinds,
        lambda: [build.vector(values) for values in _one_by_one(tasks, places, reads)],
        lambda: [build.vector([_padding(em, read)] * tasks.each) for read in reads],
    )
    found = {}
    for read, own, other in zip(reads, words, others, strict=True):
        vector = shift(em, read.run, own)
        if read.run.whole is not True:
            vector = build.op("arith.select", [build.truth(read.run.whole), vector, other], vector.type)
        found[read.op] = build.elements(vector)
    return found


def _padding(em: Emitter, read: _Read) -> ir.Value:
    return em.build.constant(read.run.buffer.element, access_of(read.op).padding)


def _one_by_one(
    tasks: _Tasks, places: Sequence[ir.Operation], reads: Sequence[_Read]
) -> list[list[ir.Value]]:
    """What the tasks read, each read's in their order."""
    em, found = tasks.em, [list[ir.Value]() for _ in reads]
    for number in range(tasks.each):
        with em.task():
            tasks.bind(number)
            em.emit(places)
            for read, values in zip(reads, found, strict=True):
                layout = em.layout(read.op.results[0])
                (position,) = positions_of(layout, read.op.results[0])
                place = place_of(em, access_of(read.op), layout)
                values.append(load_positions(place, [position])[position])
    return found


def _set(em: Emitter, read: ir.Operation, value: ir.Value) -> None:
    """Say what a task has read."""
    layout = em.layout(read.results[0])
    (position,) = positions_of(layout, read.results[0])
    em.set_fragment(read.results[0], Fragment(layout, {position: value}))


def _write(tasks: _Tasks, op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Store what the tasks have made; of a group that not all threads have, as much as there is."""
    em, build, buffer = tasks.em, tasks.em.build, tasks.em.buffers[op.operands[1]]
    size = access_of(op).element_bytes
    pointer = build.offset(buffer.pointer, buffer.element, tasks.first)

    def together() -> list[ir.Value]:
        store_result(build, buffer, values, pointer, size * tasks.each)
        return []

    def one(number: int) -> list[ir.Value]:
        where = build.offset(pointer, buffer.element, number)
        store_result(build, buffer, [values[number]], where, size)
        return []

    def one_by_one() -> list[ir.Value]:
        for number in range(tasks.each):
            em.choose(tasks.are(number + 1), [], partial(one, number))
        return []

    if not em.aligned:
        one_by_one()
    else:
        em.choose(tasks.are(tasks.each), [], together, one_by_one if tasks.total % tasks.each else None)
