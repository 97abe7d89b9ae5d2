"""How a tile lies in shared memory: the place of each position, and how wide threads access it there.

Of rows and columns, with gaps, or swizzled: pieces of 16 bytes change places within a row, or a part of it,
by the row's number::

    column ^ ((row >> 1) % 4) * 16 bytes      64 bytes a row: 4 chunks, the bits 1 and 2 of the row

A thread's place and that of its register are combined bit by bit then: each part of a row has its own first
address, of which there are few, and all else is added to it (`Arrangement.zone`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from ....dialects.layouts import Layout
from ..layouts.access import WIDE
from .warp_accesses import WarpAccesses


@dataclass(frozen=True)
class Arrangement:
    """A tile in memory: the stride of each dim in elements, and the dim of neighbours.

    ``gap`` elements lie between groups of ``group`` positions of the dim ``rows``. Chunks of 16 bytes along
    ``inner`` change places by ``bits`` of the position along ``rows``. Of longer rows ``piece`` elements lie
    together, behind the last row come the next ones (0: rows are whole).
    """

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    inner: int
    elements: int
    element_bytes: int
    rows: int = 0
    group: int = 1
    gap: int = 0
    bits: tuple[int, ...] = ()
    piece: int = 0

    @property
    def chunks(self) -> int:
        """How many chunks change places."""
        return 1 << len(self.bits)

    def width(self, layout: Layout) -> int:
        """The elements that a thread can access at once; all of them lie within the tile, or none."""
        others = (stride for dim, stride in enumerate(self.strides) if dim != self.inner)
        within = self.group if self.gap and self.rows == self.inner else 0
        if self.chunks > 1:
            within = self.chunk
        return gcd(widest(layout, self.sizes, self.inner, self.element_bytes), self.gap, within, *others)

    def place(self, position: Sequence[int]) -> int:
        """Where a position lies, in elements."""
        linear = self._plain(position)
        if self.bits:
            column = position[self.inner]
            return linear - column + (column ^ self.turn(position[self.rows])) + self.behind(column)
        return linear

    def _plain(self, position: Sequence[int]) -> int:
        """The place in whole rows, without a turn."""
        linear = sum(map(int.__mul__, position, self.strides))
        return linear + position[self.rows] // self.group * self.gap if self.gap else linear

    def behind(self, column: int) -> int:
        """How much further on a column lies than in a row that is whole."""
        return column // self.piece * self.skip if self.piece else 0

    @property
    def skip(self) -> int:
        """The elements between two pieces of a row, that are not of the row."""
        return self.piece * (self.sizes[self.rows] - 1)

    @property
    def chunk(self) -> int:
        """The elements of 16 bytes."""
        return WIDE // self.element_bytes

    def turn(self, row: int) -> int:
        """The bits by which places within a row differ from columns."""
        return sum((row >> bit) % 2 << number for number, bit in enumerate(self.bits)) * self.chunk

    def zone(self, position: Sequence[int]) -> int:
        """What a register's position changes of the bits that are turned: those of the thread are others."""
        if self.chunks == 1:
            return 0
        column = position[self.inner] % (self.chunks * self.chunk)
        return column // self.chunk * self.chunk ^ self.turn(position[self.rows])

    def further(self, position: Sequence[int]) -> int:
        """What a register's position adds to the place where its zone begins."""
        if self.chunks == 1:
            return self.place(position)
        column = position[self.inner]
        turned = column % (self.chunks * self.chunk) - column % self.chunk
        return self._plain(position) - turned + self.behind(column)

    def adds_up(self, layout: Layout) -> bool:
        """Whether a place is that of the thread and the register's: no group is left on the way, no bit."""
        if self.chunks > 1:
            return all(_are_bits(layout, dim) for dim in (self.rows, self.inner))
        if not self.gap:
            return True
        own = sum(step[self.rows] % self.group for step in layout.bits)
        return own + max(at[self.rows] % self.group for at in layout.register_positions) < self.group

    def stores(self, layout: Layout) -> WarpAccesses:
        """How threads store the tile."""
        return accesses(layout, self.sizes, self.inner, self.width(layout), self.element_bytes, False)

    def loads(self, layout: Layout) -> WarpAccesses:
        """How threads load the tile."""
        return accesses(layout, self.sizes, self.inner, self.width(layout), self.element_bytes, True)


def _are_bits(layout: Layout, dim: int) -> bool:
    """Whether positions of threads and registers have no bit of a dim in common."""
    taken = 0
    for step in layout.bits:
        if taken & step[dim]:
            return False
        taken |= step[dim]
    return not any(taken & position[dim] for position in layout.register_positions)


def widest(layout: Layout, sizes: Sequence[int], inner: int, element_bytes: int) -> int:
    """The neighbours that a thread could access at once, none of them outside if one is inside."""
    return gcd(layout.run(inner), WIDE // element_bytes, sizes[inner])


@lru_cache(maxsize=256)
def accesses(
    layout: Layout, sizes: tuple[int, ...], inner: int, width: int, element_bytes: int, has_copies: bool
) -> WarpAccesses:
    """What warps do, ``width`` neighbours at once; ``has_copies``: all threads, not one for each element."""
    return WarpAccesses(layout, sizes, inner, width, element_bytes, has_copies)
