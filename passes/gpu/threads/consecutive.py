"""The consecutive tasks of a thread: wide accesses to what is written, and to what is read at any place.

Tasks of one row read neighbours, which aligned accesses bring (`shifted`), and where these have what those of
the next row read, too, they are chosen among it (`row_ends`). Else tasks of two rows, or at an end of what is
read, read one by one; all other threads of a warp wait for them, which is why rows may not be too short.
Tasks that read every other element have it from accesses of several lanes (`stepped`).
Legal where `consecutive_each` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from mlir import ir

from ....dialects.attributes import SCHEDULE
from ..layouts.access import access_of
from ..layouts.consecutive import LOAD, READ, WRITE, Shift, shifts_of
from ..layouts.pieces import Rolled
from ..layouts.stepped import lanes_of
from .builder import Builder, Number, Truth
from .consecutive_reads import Row, read_of, values_of
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .grid import Loops
from .neighbours import bind_places
from .stepped import exchanged, load_picked, loaded_group, own_group
from .streamed import store_result


@dataclass(frozen=True)
class _Tasks:
    """A thread's ``each`` tasks of ``total``, from number ``first`` on: a row's, and the next one's first.

    ``rows`` has the places of both in all loops, of the first task and of what would be the first one in the
    next row. Threads without tasks have those of the last one, but write nothing.
    """

    em: Emitter
    forall: ir.Operation
    each: int
    total: int
    first: Number
    row: Row
    rows: tuple[list[Number], list[Number]]

    def bind(self, number: int) -> None:
        """Say where a task is; of one that there is not, somewhere."""
        build, stays = self.em.build, self.row.stays(number)
        *outer, inner = [build.pick(stays, one, other) for one, other in zip(*self.rows, strict=True)]
        bind_places(self.em, self.forall, [*outer, build.add(inner, number)])

    def are(self, count: int) -> Truth:
        """Whether there are so many of them."""
        last = self.em.build.add(self.first, count - 1)
        return self.total % _tasks_of_block(self.forall) == 0 or self.em.build.less(last, self.total)


def emit_consecutive(
    em: Emitter, forall: ir.Operation, group: Number, each: int, work: Sequence[ir.Operation]
) -> None:
    """The thread's group of ``each`` tasks."""
    shifts = shifts_of(forall, each)
    assert shifts is not None, "tasks are consecutive (mlopt-gpu-single-elements)"
    lanes = lanes_of([shift.stepped for shift in shifts]) or 1
    tasks = _tasks(em, forall, own_group(em.build, group, lanes), each)
    places = _places(work)
    picked = _picked(tasks, places, group, shifts)
    shifts = [shift for shift in shifts if shift.stepped is None]
    indices: list[list[list[Number]]] = []
    for row in tasks.rows:
        with em.task():
            bind_places(em, forall, row)
            em.emit(places)
            indices.append([_indices(em, shift, row[-1]) for shift in shifts])
    reads = [
        read_of(em, tasks.row, shift, both, partial(_pointer, tasks, places, shift))
        for shift, both in zip(shifts, zip(*indices, strict=True), strict=True)
    ]
    values = dict(zip((shift.access.op for shift in shifts), values_of(em, tasks.row, reads), strict=True))
    values |= {op: exchanged(em, parts) for op, parts in picked.items()}
    made: dict[ir.Operation, list[ir.Value]] = {op: [] for op in work if op.name == WRITE}
    for number in range(each):
        with em.task():
            tasks.bind(number)
            for op, found in values.items():
                set_read(em, op, found[number])
            em.emit([op for op in work if op.name not in (LOAD, READ, WRITE)])
            for op, written in made.items():
                written.append(next(iter(em.fragment(op.operands[0]).values.values())))
    for op, written in made.items():
        _write(tasks, op, written)


def _places(work: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The ops that say where a task is: on numbers, and not of what it loads."""
    found, loaded = list[ir.Operation](), set[ir.Value]()
    for op in work:
        if op.name == LOAD or not loaded.isdisjoint(op.operands):
            loaded |= set(op.results)
        elif not has_tiles(op):
            found.append(op)
    return found


def _indices(em: Emitter, shift: Shift, column: Number) -> list[Number]:
    """Where the task in a ``column`` of a row reads; of pieces, where it would if there was but one."""
    *outer, last = shift.access.indices
    found = [em.number(index) for index in outer]
    if isinstance(shift.pieces, Rolled):
        return [*found, 0]
    return [*found, em.build.add(column, shift.pieces.begins) if shift.pieces else em.number(last)]


def _picked(
    tasks: _Tasks, places: Sequence[ir.Operation], group: Number, shifts: Sequence[Shift]
) -> dict[ir.Operation, list[list[ir.Value]]]:
    """What a thread picks of each of its loads, for reads of every other element.

    It loads what its own tasks read, or a part of what those of several lanes do.
    """
    em, each, found = tasks.em, tasks.each, dict[ir.Operation, list[list[ir.Value]]]()
    for shift in shifts:
        if shift.stepped is None:
            continue
        loaded, lanes = [tasks], shift.stepped.lanes
        if lanes > 1:
            groups = [loaded_group(em.build, group, lanes, load) for load in range(lanes)]
            loaded = [_tasks(em, tasks.forall, one, each) for one in groups]
        starts = [_place(one, places, shift, 0) for one in loaded]
        part = em.build.rem(group, lanes)
        found[shift.access.op] = load_picked(em, shift, part, starts, partial=tasks.total % each > 0)
    return found


def _pointer(tasks: _Tasks, places: Sequence[ir.Operation], shift: Shift, number: int) -> ir.Value:
    """The address at which one of the tasks reads."""
    buffer = tasks.em.buffers[shift.access.buffer]
    return tasks.em.build.offset(buffer.pointer, buffer.element, _place(tasks, places, shift, number))


def _place(tasks: _Tasks, places: Sequence[ir.Operation], shift: Shift, number: int) -> Number:
    """Which element of its buffer one of the tasks reads."""
    em = tasks.em
    place: Number = 0
    with em.task():
        tasks.bind(number)
        em.emit(places)
        for index, stride in zip(shift.access.indices, shift.access.strides, strict=True):
            place = em.build.add(place, em.build.mul(em.number(index), stride or 0))
    return place


def _tasks(em: Emitter, forall: ir.Operation, group: Number, each: int) -> _Tasks:
    build, loops = em.build, Loops.of(forall)
    counts = [count or 0 for count in loops.static_counts()]
    total, size = prod(counts), counts[-1]
    first = build.mul(group, each)
    is_full = total % _tasks_of_block(forall) == 0
    near = first if is_full else _last_or_before(build, first, (total - 1) // each * each)
    numbers: list[Number] = [0, 0]
    if total > size:
        number = build.div(near, size)
        following_number = build.add(number, 1)
        if total % each:  # else no group goes on behind the last row
            following_number = build.least(following_number, total // size - 1)
        numbers = [number, following_number]
    column = build.sub(near, build.mul(numbers[0], size))
    outer = Loops(loops.bounds[:-1], loops.steps[:-1])
    here, following = (outer.places(build, number, counts[:-1]) for number in numbers)
    rows = [*here, column], [*following, build.sub(column, size)]
    return _Tasks(em, forall, each, total, first, Row(build, size, each, column), rows)


def _last_or_before(build: Builder, number: Number, last: int) -> ir.Value:
    """The smaller of two positions, neither below zero: so LLVM knows the bits that a division has left."""
    return build.op("arith.minui", [build.number(number), build.number(last)])


def _tasks_of_block(forall: ir.Operation) -> int:
    return (SCHEDULE.get(forall) or {})["tasks"][0]


def has_tiles(op: ir.Operation) -> bool:
    """Whether an op makes or takes tiles."""
    return any(isinstance(value.type, ir.VectorType) for value in (*op.operands, *op.results))


def set_read(em: Emitter, read: ir.Operation, value: ir.Value) -> None:
    """Say what a task has read."""
    if read.name == LOAD:
        em.set_scalar(read.results[0], value)
        return
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

    em.choose(tasks.are(tasks.each), [], together, one_by_one if tasks.total % tasks.each else None)
