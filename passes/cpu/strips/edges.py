"""Positions at the ends of a row: turns of a window's loop for which they lie in the padding are left out.

Of 7 columns, of which `x[w + kw - 1]` is read for kw from 0 to 3, the first lies in the padding for kw = 0,
the last for kw = 2::

    scf.for %kw = %c0 to %c3 { 7 columns, with tests for the first and the last }
  ->
    kw = 0 { columns 1 to 6 }, kw = 1 { all }, kw = 2 { columns 0 to 5 }

Legal where `narrowed.py` is; what comes of the padding is made for one position of the row, before the loops
over rows, and added to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from mlir import ir

from ...constants import integer_of
from .bounds import DYNAMIC, range_of
from .emitter import Emitter
from .fragment import Axis, Key, Strip
from .memory import memory_dims
from .walks import walk_of
from .windows import Window, find_windows

# Strips of a row that are emitted apart: each has code of its own, for which 56 columns of 64 channels gained
# 1 %, 28 of 128 6 %, and 112 of 3 channels 17 %.
_MOST_APART = 4
_LEAST_SHARE = 4  # this many times as much as they are is all
_MANY_TURNS = 16


class Part(NamedTuple):
    """Turns from ``first`` to ``end``, in which the positions from ``low`` to ``high`` lie in memory."""

    first: int
    end: int
    low: int
    high: int


class Edge(NamedTuple):
    """What ``loop`` reads in each of its turns of a row: the sum's dim ``place``, the read's ``dim``."""

    window: Window
    loop: ir.OpView
    dim: int
    place: int
    parts: tuple[Part, ...]

    def outside(self, at: int, seen: bool) -> list[int]:
        """The turns for which ``at`` lies in the padding: where other positions do not, or all do."""
        return [
            turn
            for part in self.parts
            for turn in range(part.first, part.end)
            if not part.low <= at < part.high and seen == (part.low < part.high)
        ]

    def strip(self, strip: Strip, part: Part) -> Strip:
        """The positions of a strip that lie in memory."""
        axis = strip[self.place]
        some = replace(axis, offset=axis.offset + part.low, count=part.high - part.low)
        return tuple(some if dim == self.place else each for dim, each in enumerate(strip))

    def key(self, key: Key, part: Part) -> Key:
        """Where in the whole strip's fragment the position ``key`` of a part's is."""
        return tuple(step + part.low if dim == self.place else step for dim, step in enumerate(key))


def find_edge(em: Emitter, value: ir.Value, strip: Strip) -> Edge | None:
    """A row's positions, known where they are, some of which lie in the padding in some turns."""
    for window in find_windows(em, value.owner.opview) if not em.border.cut else ():
        for dim, place, axis, own in window.axes(em, strip):
            if own is None or own in window.shared or axis.count == 1 or axis.lanes or axis.base is not None:
                continue
            for loop in window.loops:
                parts = _parts(em, window, loop, place, axis)
                if parts is not None:
                    return Edge(window, loop, dim, own, parts)
    return None


def _parts(em: Emitter, window: Window, loop: ir.OpView, place: int, axis: Axis) -> tuple[Part, ...] | None:
    """What lies in memory in the turns of ``loop``; None if all does, or that is not known."""
    size = window.read.base.type.shape[place]
    lower, upper, step = (integer_of(operand) for operand in loop.operands[:3])
    walk = walk_of(em, window.read.indices[place], loop, window.loops[0])
    start = None if walk is None else integer_of(walk.start)
    if walk is None or start is None or lower is None or upper is None or step != 1 or size == DYNAMIC:
        return None
    parts: list[Part] = []
    for turn in range(lower, upper):
        first = start + axis.offset + walk.moved(turn)
        low = min(max(-first, 0), axis.count)
        part = Part(turn, turn + 1, low, max(min(size - first, axis.count), low))
        if parts and parts[-1][2:] == part[2:]:
            parts[-1] = parts[-1]._replace(end=part.end)
        else:
            parts.append(part)
    return None if all(part[2:] == (0, axis.count) for part in parts) else tuple(parts)


def strips_apart(
    reads: Sequence[tuple[ir.OpView, int]], extent: int, width: int, turns: int
) -> tuple[int, int]:
    """How many strips of ``width`` at the start and the end of a dim have positions in the padding.

    ``reads``, each with the dim of its tile that is cut into strips. (0, 0) if that does not pay: these are
    many, or a small part of all, and the innermost loop's ``turns`` enough for the tests before it.
    """
    before = after = 0
    for read, dim in reads:
        place = memory_dims(read)[dim]
        if place is None or read.in_bounds[dim].value or read.base.type.shape[place] == DYNAMIC:
            continue
        known = range_of(read.indices[place])
        if known.low is None or known.high is None:
            continue
        before = max(before, -known.low)
        after = max(after, extent + known.high - read.base.type.shape[place])
    strips = -(-before // width), -(-after // width)
    pays = turns < _MANY_TURNS or _LEAST_SHARE * sum(strips) * width >= extent
    return strips if pays and sum(strips) <= _MOST_APART else (0, 0)
