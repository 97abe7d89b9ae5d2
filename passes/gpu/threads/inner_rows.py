"""What windows beside each other read: a thread loads its part of each row at once, the rest is from beside.

Of four windows of seven places of f16, at every other place::

    accesses     …… e f g|h i j k l m n o|p q r ……
    the first        [e f g h i j k]
    the last                  [k l m n o p q]

Three places before the thread's part are of the lane before, two of the lane behind: they come as words of
two, each by a shuffle. At an end of a row they are padding. Where lanes end within a row, the first and the
last one load the access beside theirs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import TypeAlias

from mlir import ir

from ....dialects.layouts import WARP
from ..layouts.access import WIDE, Access, access_of
from ..layouts.inner_rows import WORD, row_dim
from ..layouts.linear import linear_of
from ..layouts.windows import along_row
from .builder import Number, Truth
from .combine import from_beside, to_words
from .consecutive import has_tiles
from .emitter import Emitter
from .fragment import positions_of
from .memory import place_of

Key: TypeAlias = tuple[tuple[int, frozenset[tuple[ir.Value, int]]], ...]


@dataclass(frozen=True)
class Windows:
    """A thread's ``count`` windows along the loop of ``column``: the ``group``th of a row's ``groups``.

    Their tasks, as many of each window: ``binds`` say where they are, ``known`` where in inner loops.
    """

    column: ir.Value
    count: int
    group: Number
    groups: int
    binds: Sequence[Callable[[], None]]
    known: Sequence[Mapping[ir.Value, int]]


@dataclass(frozen=True)
class _Rows:
    """The rows of a buffer that windows read; they are the dims from ``dim`` on."""

    em: Emitter
    access: Access
    dim: int
    windows: Windows

    @property
    def wide(self) -> int:
        """The elements of an access."""
        return WIDE // self.access.element_bytes

    @property
    def in_word(self) -> int:
        """Those of a word."""
        return WORD // self.access.element_bytes

    @property
    def parts(self) -> int:
        """The accesses that make a row."""
        return prod(ir.MemRefType(self.access.buffer.type).shape[self.dim :]) // self.wide

    @property
    def element(self) -> ir.Type:
        """What rows are of."""
        return self.em.buffers[self.access.buffer].element

    @property
    def outside(self) -> set[int]:
        """The dims of the buffer along which something may be outside of it."""
        dims = zip(self.access.dims, self.access.in_bounds, strict=True)
        return {dim for dim, inside in dims if not inside}

    @cached_property
    def places(self) -> list[int]:
        """How far behind the thread's part of a row each task reads."""
        windows, step = self.windows, self.wide // self.windows.count
        each = len(windows.known) // windows.count
        return [
            along_row(self.access, self.dim, numbers).constant + step * (number // each)
            for number, numbers in enumerate(windows.known)
        ]

    def key(self, task: int, dims: Iterable[int]) -> Key:
        """What is the same for tasks at the same places along ``dims``."""
        found = [linear_of(self.access.indices[dim], self.windows.known[task]) for dim in dims]
        return tuple((place.constant, frozenset(place.terms.items())) for place in found)

    def row(self, task: int) -> Key:
        """What is the same for tasks that read the same row."""
        return self.key(task, range(self.dim))


def load_beside(
    em: Emitter, op: ir.Operation, work: Sequence[ir.Operation], windows: Windows
) -> list[ir.Value]:
    """What each of a thread's tasks reads; all loads come before what waits for one."""
    access = access_of(op)
    dim = row_dim(access, windows.column, windows.known[0])
    assert dim is not None, "windows are beside each other (mlopt-gpu-single-elements)"
    rows = _Rows(em, access, dim, windows)
    words: dict[tuple[Key, int], list[ir.Value]] = {}
    for tasks in _by_condition(rows):
        words |= _load(rows, op, work, tasks)
    return [_element(rows, words, rows.row(task), place) for task, place in enumerate(rows.places)]


def _by_condition(rows: _Rows) -> list[list[int]]:
    """A task of each row; those together whose rows are in memory under one condition."""
    outside = sorted(rows.outside - {rows.dim})
    conditions: dict[Key, dict[Key, int]] = {}
    for task in range(len(rows.windows.known)):
        conditions.setdefault(rows.key(task, outside), {}).setdefault(rows.row(task), task)
    return [list(each.values()) for each in conditions.values()]


def _load(
    rows: _Rows, op: ir.Operation, work: Sequence[ir.Operation], tasks: Sequence[int]
) -> dict[tuple[Key, int], list[ir.Value]]:
    """The words of the thread's parts of some rows, and of the parts beside where no lane has these."""
    em, build, layout = rows.em, rows.em.build, rows.em.layout(op.results[0])
    (position,) = positions_of(layout, op.results[0])
    pointers, inside = list[ir.Value](), list[Truth]()
    for task in tasks:
        with em.task():
            rows.windows.binds[task]()
            em.emit([one for one in work if not has_tiles(one)])
            place = place_of(em, rows.access, layout)
            pointers.append(build.offset(place.pointer(position), rows.element, -rows.places[task]))
            if not inside:
                inside.append(_is_inside(rows))
    em.wide = True
    padding, count = _padding(rows), WIDE // WORD
    found: dict[tuple[Key, int], list[ir.Value]] = {}
    for side in sorted({place // rows.wide for place in rows.places}, key=abs):
        there = build.both(inside[0], _is_alone(rows, side) if side else True)
        further = [build.offset(pointer, rows.element, side * rows.wide) for pointer in pointers]
        loaded = em.choose(
            there,
            [padding.type] * (count * len(pointers)),
            partial(_load_words, em, further, padding.type),
            lambda: [padding] * (count * len(pointers)),
        )
        for number, task in enumerate(tasks):
            found[rows.row(task), side] = loaded[number * count : (number + 1) * count]
    return found


def _load_words(em: Emitter, pointers: Sequence[ir.Value], word: ir.Type) -> list[ir.Value]:
    loads = [em.build.load(each, word, WIDE // WORD, WIDE, constant=True) for each in pointers]
    return [value for load in loads for value in load]


def _is_inside(rows: _Rows) -> Truth:
    """Whether the row of the task that is bound is in memory."""
    em, sizes = rows.em, rows.em.buffers[rows.access.buffer].sizes
    holds: Truth = True
    for dim in sorted(rows.outside - {rows.dim}):
        holds = em.build.both(holds, em.build.less(em.number(rows.access.indices[dim]), sizes[dim]))
    return holds


def _is_alone(rows: _Rows, side: int) -> Truth:
    """Whether the part beside the thread's is in memory, and no lane beside has it."""
    em, build, windows = rows.em, rows.em.build, rows.windows
    in_warps = WARP % windows.groups == 0
    if in_warps and (side < 0 or windows.groups == rows.parts):
        return False
    there = _is_positive(em, windows.group) if side < 0 else build.less(windows.group, rows.parts - 1)
    return build.both(there, build.opposite(_has_lane(rows, side)))


def _has_lane(rows: _Rows, side: int) -> Truth:
    """Whether the lane beside has the part beside: it is in the same row."""
    em, build, windows = rows.em, rows.em.build, rows.windows
    same = _is_positive(em, windows.group) if side < 0 else build.less(windows.group, windows.groups - 1)
    if WARP % windows.groups == 0:
        return same
    return build.both(same, build.opposite(em.is_lane(0 if side < 0 else WARP - 1)))


def _is_positive(em: Emitter, number: Number) -> Truth:
    """Whether a number that is not negative is not zero."""
    if isinstance(number, int):
        return number > 0
    return em.build.opposite(em.build.equal(number, em.build.number(0)))


def _element(rows: _Rows, words: dict[tuple[Key, int], list[ir.Value]], row: Key, place: int) -> ir.Value:
    """The element at a place behind the beginning of the thread's part of a row."""
    em, build = rows.em, rows.em.build
    side, at = divmod(place, rows.wide)
    number, rest = divmod(at, rows.in_word)

    def make() -> list[ir.Value]:
        word, has = words[row, side][number], _has_lane(rows, side) if side else False
        if has is not False:
            beside = from_beside(build, words[row, 0][number], side)
            word = build.op("arith.select", [build.truth(has), beside, word], word.type)
        elements = ir.VectorType.get([rows.in_word], rows.element)
        return build.elements(build.op("llvm.bitcast", [word], elements))

    return em.once(("beside", rows.access.op, row, side, number), make)[rest]


def _padding(rows: _Rows) -> ir.Value:
    """A word of it."""
    one = rows.em.build.constant(rows.element, rows.access.padding)
    (word,) = to_words(rows.em.build, rows.em.build.vector([one] * rows.in_word))
    return word
