"""The tasks of inner loops, all of which a thread has: what they make is stored through shared memory.

Where each task reads is a number, but for where the thread's tasks are: words that several read are loaded
once, and what is asked before is asked once for all that have one answer.

A thread's results lie one behind the other, some accesses; those of a warp's next thread begin behind them.
Each access of a warp would touch as many sectors as it has lanes, and fill them in part: so threads put what
they have made into shared memory, and each stores what neighbouring threads store beside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from mlir import ir

from ....dialects.layouts import WARP
from ..layouts.access import WIDE, Access, access_of, bytes_of
from ..layouts.linear import Linear, linear_of
from .builder import Number
from .consecutive import has_tiles, set_read
from .emitter import Buffer, Emitter
from .fragment import positions_of
from .grid import Loops
from .memory import place_of
from .neighbours import bind_places
from .shifted import WORD
from .streamed import store_result

_READ, _WRITE = "vector.transfer_read", "vector.transfer_write"


def emit_inner(
    em: Emitter, forall: ir.Operation, block: Number, each: int, work: Sequence[ir.Operation]
) -> None:
    """The ``each`` tasks of each of a block's threads."""
    build, loops, threads = em.build, Loops.of(forall), em.warps * WARP
    counts = [count or 0 for count in loops.static_counts()]
    inner, tasks = len(counts), 1
    while tasks < each:
        inner -= 1
        tasks *= counts[inner]
    group = build.add(build.mul(block, threads), thread_of(em))
    outer = Loops(loops.bounds[:inner], loops.steps[:inner]).places(build, group, counts[:inner])
    (write,) = [op for op in work if op.name == _WRITE]
    arguments = list(forall.regions[0].blocks[0].arguments)[inner : len(counts)]
    own = [_places(number, counts[inner:]) for number in range(each)]
    tasks_of = [partial(bind_places, em, forall, [*outer, *places]) for places in own]
    known = [dict(zip(arguments, places, strict=True)) for places in own]
    read = {op: _load(em, op, work, tasks_of, known) for op in work if op.name == _READ}
    values: list[ir.Value] = []
    for number, bind in enumerate(tasks_of):
        with em.task():
            bind()
            for op, found in read.items():
                set_read(em, op, found[number])
            em.emit([op for op in work if op.name not in (_READ, _WRITE)])
            values += em.fragment(write.operands[0]).values.values()
    _store(em, write, block, values)


def _load(
    em: Emitter,
    op: ir.Operation,
    work: Sequence[ir.Operation],
    tasks: Sequence[Callable[[], None]],
    known: Sequence[Mapping[ir.Value, int]],
) -> list[ir.Value]:
    """What each of ``tasks``, whose inner loops are at ``known`` places, reads: each word once, or element.

    Loads of one condition share a branch.
    """
    build, access, layout = em.build, access_of(op), em.layout(op.results[0])
    (position,) = positions_of(layout, op.results[0])
    each = _in_word(access, known)
    groups: dict[object, dict[object, list[int]]] = {}
    for number, numbers in enumerate(known):
        *others, last = [linear_of(index, numbers) for index in access.indices]
        where = [*map(_key, others), _key(Linear(last.constant - last.constant % each, last.terms))]
        condition = tuple(
            where[dim] for dim, inside in zip(access.dims, access.in_bounds, strict=True) if not inside
        )
        groups.setdefault(condition, {}).setdefault(tuple(where), []).append(number)
    found: dict[int, ir.Value] = {}
    padding = build.constant(em.buffers[access.buffer].element, access.padding)
    for words in groups.values():
        pointers, inside = [], None
        for first, *_ in words.values():
            with em.task():
                tasks[first]()
                em.emit([one for one in work if not has_tiles(one)])
                place = place_of(em, access, layout)
                inside = place.inside(position, 1, writes=False) if inside is None else inside
                away = linear_of(access.indices[-1], known[first]).constant % each
                pointers.append(build.offset(place.pointer(position), place.buffer.element, -away))
        loads = partial(_load_words, em, em.buffers[access.buffer], pointers, each)
        nothing = [padding] * (each * len(pointers))
        assert inside is not None
        loaded = em.choose(inside, [padding.type] * len(nothing), loads, partial(list, nothing))
        for at, readers in enumerate(words.values()):
            for number in readers:
                away = linear_of(access.indices[-1], known[number]).constant % each
                found[number] = loaded[at * each + away]
    return [found[number] for number in range(len(tasks))]


def _load_words(em: Emitter, buffer: Buffer, pointers: Sequence[ir.Value], each: int) -> list[ir.Value]:
    size = bytes_of(buffer.element)
    em.wide = em.wide or each > 1
    loads = [em.build.load(one, buffer.element, each, each * size, buffer.constant) for one in pointers]
    return [value for load in loads for value in load]


def _in_word(access: Access, known: Sequence[Mapping[ir.Value, int]]) -> int:
    """The elements of a word, if rows in memory have whole ones, and where in one a task reads is known."""
    each = WORD // access.element_bytes
    row = ir.MemRefType(access.buffer.type).shape[-1]
    outside = {dim for dim, inside in zip(access.dims, access.in_bounds, strict=True) if not inside}
    if each < 2 or row % each or len(access.indices) - 1 in outside:
        return 1
    return 1 if any(linear_of(access.indices[-1], numbers).terms for numbers in known) else each


def _key(place: Linear) -> object:
    return place.constant, frozenset(place.terms.items())


def thread_of(em: Emitter) -> ir.Value:
    """The thread's number, as a position."""
    build, thread = em.build, em.thread_number
    return thread if build.index == thread.type else build.op("arith.extui", [thread], build.index)


def _places(number: int, counts: Sequence[int]) -> list[int]:
    """Where in loops of so many tasks the one of a number is."""
    found: list[int] = []
    for count in reversed(counts):
        number, place = divmod(number, count)
        found.insert(0, place)
    return found


def _store(em: Emitter, write: ir.Operation, block: Number, values: Sequence[ir.Value]) -> None:
    """Store what all threads have, one behind the other; a thread's accesses are those of threads apart."""
    build, buffer, threads = em.build, em.buffers[write.operands[1]], em.warps * WARP
    wide = WIDE // access_of(write).element_bytes
    region = em.shared.alloc(threads * len(values) * WIDE // wide)
    base = em.shared.pointer(region)
    thread = thread_of(em)
    em.shared.writes(region)
    own = build.offset(base, buffer.element, build.mul(thread, len(values)))
    for first in range(0, len(values), wide):
        build.store(values[first : first + wide], build.offset(own, buffer.element, first), WIDE)
    em.shared.reads(region)
    mine = build.mul(thread, wide)
    start = build.offset(buffer.pointer, buffer.element, build.mul(block, threads * len(values)))
    beside, target = (build.offset(pointer, buffer.element, mine) for pointer in (base, start))
    em.wide = True
    for first in range(0, threads * len(values), threads * wide):
        pointer = build.offset(beside, buffer.element, first)
        loaded = build.load(pointer, buffer.element, wide, WIDE, constant=False)
        store_result(build, buffer, loaded, build.offset(target, buffer.element, first), WIDE)
    em.shared.free(region)
