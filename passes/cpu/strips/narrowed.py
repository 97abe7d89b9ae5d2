"""Loops over a window's rows run for those that lie in memory, which need no test; the others are padding.

A convolution reads `x[h + kh - 1]` for kh from 0 to 3, and the padding's zero where that is no row of memory.
Where a strip has one row h::

    scf.for %kh = %c0 to %c3 { a test, a select and a broadcast for each element of x }
  ->
    scf.for %kh = max(0, 1 - h) to min(3, H + 1 - h) { elements are broadcast by their loads }

With a stride of 2 the row is h + (kh + 1) floordiv 2 - 1, with a dilation of 2 it is h + 2 kh - 2. From 0
to the first of these bounds, and from the second of them to 3, all elements are the padding's, and products
the same for all positions of a row: they are made for one position, and added first.

Legal for a sum of products one factor of which is that read. What comes of the padding are zeros or, by
weights that are infinite or NaN, NaN, which is made once for all strips of a row. On a Zen 4 core: with
`edges.py`, 256 to 512 channels by 3x3 of 14x14 with a stride of 2 1.28 to 0.95 ms, 512 of 7x7 2.12 to 1.86.
On an AVX2 core 64 channels of 28x28 by 3x3 with a dilation of 2 take 1.1 ms, not 2.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlir import ir
from mlir.dialects import arith

from ...constants import integer_of
from .bounds import DYNAMIC
from .emitter import Emitter
from .fragment import Axis, Strip, sizes_of
from .walks import Walk, walk_of
from .windows import Window, find_windows


class Row(NamedTuple):
    """Tile dim ``dim`` of a window's read, memory's ``place``, is one row at ``axis``."""

    window: Window
    dim: int
    place: int
    axis: Axis

    def walk(self, em: Emitter) -> Walk | None:
        """How the row follows the window's outermost loop."""
        loop = self.window.loops[0]
        walk = walk_of(em, self.window.read.indices[self.place], loop, loop)
        return walk and walk._replace(start=em.sum(walk.start, em.position(self.axis)))

    def inside(self, em: Emitter, bounds: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """Between which values of the loop's variable the row lies in memory."""
        lower, upper, _ = bounds
        walk = self.walk(em)
        assert walk is not None, "find_row has seen it"
        before, after = walk.turn_of(em, 0), walk.turn_of(em, self.window.read.base.type.shape[self.place])
        with em.here():
            first = arith.MinSIOp(arith.MaxSIOp(lower, before).result, upper).result
            return first, arith.MaxSIOp(arith.MinSIOp(upper, after).result, first).result

    def is_seen(self, em: Emitter) -> bool:
        """Whether in each turn a row of the tile lies in memory, all of whose rows are known to be valid."""
        loop, size = self.window.loops[0], self.window.read.base.type.shape[self.place]
        walk = walk_of(em, self.window.read.indices[self.place], loop, loop)
        lower, upper = (integer_of(operand) for operand in loop.operands[:2])
        start = None if walk is None else integer_of(walk.start)
        if walk is None or start is None or lower is None or upper is None:
            return False
        rows = sizes_of(self.window.read.results[0])[self.dim]
        firsts = (start + walk.moved(turn) for turn in range(lower, upper))
        return all(first < size and first + rows > 0 for first in firsts)


def find_row(em: Emitter, value: ir.Value, strip: Strip) -> Row | None:
    """The row that the loop which makes ``value`` walks through, and that may lie in the padding."""
    loop = value.owner.opview
    for window in find_windows(em, loop) if integer_of(loop.operands[2]) == 1 else ():
        for dim, place, axis, _ in window.axes(em, strip):
            is_row = axis.count == 1 and not axis.lanes and window.read.base.type.shape[place] != DYNAMIC
            row = Row(window, dim, place, axis)
            if is_row and (window.read.operation, dim) not in em.border.within and row.walk(em) is not None:
                return row
    return None
