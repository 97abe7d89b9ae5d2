"""The tasks of inner loops, all of which a thread has: what they make is stored through shared memory.

Where each task reads is a number, but for where the thread's tasks are: words that several read are loaded
once, and what is asked before is asked once for all that have one answer. Windows beside each other take
whole accesses of their rows (`inner_rows`).

A thread's results lie one behind the other, some accesses; those of a warp's next thread begin behind them.
Each access of a warp would touch as many sectors as it has lanes, and fill them in part: so threads put what
they have made into shared memory, and each stores what neighbouring threads store beside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

from mlir import ir

from ....dialects.attributes import SCHEDULE
from ....dialects.layouts import BANK_BYTES, WARP
from ..layouts.access import WIDE, Access, access_of, bytes_of
from ..layouts.linear import Linear, linear_of
from .builder import Builder, Number
from .consecutive import has_tiles, set_read
from .emitter import Buffer, Emitter
from .fragment import positions_of
from .grid import Loops
from .inner_rows import Windows, load_beside
from .memory import place_of
from .neighbours import bind_places
from .shifted import WORD
from .streamed import store_result

_READ, _WRITE = "vector.transfer_read", "vector.transfer_write"
_BANKED = 32 * BANK_BYTES // WIDE  # accesses that the banks of shared memory hold


def emit_inner(em: Emitter, forall: ir.Operation, block: Number, work: Sequence[ir.Operation]) -> None:
    """The tasks of a block's threads: those of inner loops, in some places of the loop around them."""
    build, loops, threads = em.build, Loops.of(forall), em.warps * WARP
    each, windows, *_ = (*(SCHEDULE.get(forall) or {})["inner"], 1)
    counts = [count or 0 for count in loops.static_counts()]
    inner, tasks = len(counts), 1
    while tasks < each:
        inner -= 1
        tasks *= counts[inner]
    total = prod(counts) // (each * windows)
    group = build.add(build.mul(block, threads), thread_of(em))
    near = build.least(group, total - 1) if total % threads else group
    outer = Loops(loops.bounds[:inner], loops.steps[:inner])
    groups = [*counts[: inner - 1], counts[inner - 1] // windows]
    *rows, place = outer.places(build, near, groups)
    (write,) = [op for op in work if op.name == _WRITE]
    arguments = list(forall.regions[0].blocks[0].arguments)[inner - 1 : len(counts)]
    own = [_places(number, counts[inner:]) for number in range(each)] * windows
    first = build.mul(place, windows)
    columns = [build.add(first, number // each) for number in range(each * windows)]
    binds = [
        partial(bind_places, em, forall, [*rows, column, *places])
        for column, places in zip(columns, own, strict=True)
    ]
    known = [dict(zip(arguments[1:], places, strict=True)) for places in own]
    beside = Windows(arguments[0], windows, place, groups[-1], binds, known)
    read = {
        op: load_beside(em, op, work, beside) if windows > 1 else _load(em, op, work, binds, known)
        for op in work
        if op.name == _READ
    }
    values: list[ir.Value] = []
    for number, bind in enumerate(binds):
        with em.task():
            bind()
            for op, found in read.items():
                set_read(em, op, found[number])
            em.emit([op for op in work if op.name not in (_READ, _WRITE)])
            values += em.fragment(write.operands[0]).values.values()
    _store(em, write, block, values, total)


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


def _store(em: Emitter, write: ir.Operation, block: Number, values: Sequence[ir.Value], total: int) -> None:
    """Store what all threads have, one behind the other; a thread's accesses are those of threads apart.

    In ``total`` so many threads have something: the others' is that of the last one.
    """
    build, buffer, threads = em.build, em.buffers[write.operands[1]], em.warps * WARP
    wide = WIDE // access_of(write).element_bytes
    each = len(values) // wide
    region = em.shared.alloc(threads * each * WIDE)
    base = em.shared.pointer(region)
    thread = thread_of(em)
    em.shared.writes(region)
    for number in range(each):
        at = _turned(build, build.add(build.mul(thread, each), number), each)
        own = build.offset(base, buffer.element, build.mul(at, wide))
        build.store(values[number * wide : (number + 1) * wide], own, WIDE)
    em.shared.reads(region)
    beside = build.offset(base, buffer.element, build.mul(_turned(build, thread, each), wide))
    mine = build.mul(thread, wide)
    start = build.offset(buffer.pointer, buffer.element, build.mul(block, threads * len(values)))
    target = build.offset(start, buffer.element, mine)
    left = build.number(build.sub(total * each, build.add(build.mul(block, threads * each), thread)))
    em.wide = True

    def store(first: int) -> list[ir.Value]:
        pointer = build.offset(beside, buffer.element, first * wide)
        loaded = build.load(pointer, buffer.element, wide, WIDE, constant=False)
        store_result(build, buffer, loaded, build.offset(target, buffer.element, first * wide), WIDE)
        return []

    for first in range(0, threads * each, threads):
        is_there = True if total % threads == 0 else build.signed_less(build.number(first), left)
        em.choose(is_there, [], partial(store, first))
    em.shared.free(region)


def _turned(build: Builder, at: Number, each: int) -> Number:
    """Where an access lies in shared memory, of threads that have ``each``, among those that all banks hold.

    Where a power of two divides that, threads that would share banks differ in the number it is turned by.
    """
    power = each & -each
    turn = build.rem(build.div(at, max(power, _BANKED)), min(power, _BANKED))
    return build.xor(at, turn)
