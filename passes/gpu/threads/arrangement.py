"""How a tile lies in shared memory between two layouts: chosen by counting passes over the banks.

Every order of its dims is a candidate, with padded rows or planes, or with gaps between groups of rows; of a
single row with gaps between lines of all banks. What is loaded by matrices may be swizzled, too, which takes
no room: pieces of 16 bytes change places within a row, or a part of it, by the row's number::

    column ^ ((row >> 1) % 4) * 16 bytes      64 bytes a row: 4 chunks, the bits 1 and 2 of the row

A thread's place and that of its register are combined bit by bit then: each part of a row has its own first
address, of which there are few, and all else is added to it (`Arrangement.zone`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations, product, zip_longest
from math import gcd

from ....dialects.layouts import BANK_BYTES, BANKS, Layout
from ..layouts.access import WIDE
from .warp_accesses import WarpAccesses

GROUPS = (2, 4, 8, 16)  # rows that may share a gap
_CHUNKS = (8, 4, 2)
ORDERED = 3  # dims of which every order is tried; of more any may be the inner one


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
        return gcd(_widest(layout, self.sizes, self.inner, self.element_bytes), self.gap, within, *others)

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
        return _accesses(layout, self.sizes, self.inner, self.width(layout), self.element_bytes, False)

    def loads(self, layout: Layout) -> WarpAccesses:
        """How threads load the tile."""
        return _accesses(layout, self.sizes, self.inner, self.width(layout), self.element_bytes, True)


def _are_bits(layout: Layout, dim: int) -> bool:
    """Whether positions of threads and registers have no bit of a dim in common."""
    taken = 0
    for step in layout.bits:
        if taken & step[dim]:
            return False
        taken |= step[dim]
    return not any(taken & position[dim] for position in layout.register_positions)


@lru_cache(maxsize=256)
def best_arrangement(
    source: Layout,
    target: Layout,
    sizes: tuple[int, ...],
    element_bytes: int,
    room: int = 1 << 62,
    along: int | None = None,
    wide: Layout | None = None,
) -> Arrangement:
    """The candidate of fewest passes over the banks; then of fewest accesses, then the smallest one.

    One of more than ``room`` bytes only if the tile itself is larger. ``along``: neighbours lie along this
    dim, and may be swizzled, in whole accesses of 16 bytes for who has the layout ``wide``.
    """
    ideal = least_cost(source, target, sizes, element_bytes)
    best, least = None, (1 << 62, 0)
    candidates = arrangements(sizes, element_bytes, swizzled=along is not None)
    if along is not None:
        candidates = (
            one
            for one in candidates
            if one.inner == along and (wide is None or one.width(wide) * element_bytes == WIDE)
        )
    for one in sorted(candidates, key=lambda each: (each.elements, each.gap)):
        if least <= ideal or (best is not None and one.elements * element_bytes > room):
            break
        if _bound(one, source, target) < least and one.adds_up(source) and one.adds_up(target):
            found = cost(one, source, target, least[0])
            if found < least:
                best, least = one, found
    assert best is not None, "places add up where there are no gaps"
    return best


def cost(one: Arrangement, source: Layout, target: Layout, most: int = 1 << 62) -> tuple[int, int]:
    """The passes of all stores and loads, and their number; if it is more than ``most``, of some of them."""
    stores, loads = one.stores(source), one.loads(target)
    passes = stores.passes(one.place, most, one.gap)
    if passes <= most:
        passes += loads.passes(one.place, most - passes, one.gap)
    return passes, stores.count + loads.count


def _bound(one: Arrangement, source: Layout, target: Layout) -> tuple[int, int]:
    """What ``one`` costs if it has no conflicts: of most candidates, whose threads access less, too much."""
    stores, loads = one.stores(source), one.loads(target)
    return stores.least + loads.least, stores.count + loads.count


def least_cost(source: Layout, target: Layout, sizes: tuple[int, ...], element_bytes: int) -> tuple[int, int]:
    """What no arrangement goes below: the widest accesses along some dim, without conflicts."""
    found = []
    for inner in range(len(sizes)):
        stores, loads = (
            _accesses(layout, sizes, inner, _widest(layout, sizes, inner, element_bytes), element_bytes, has)
            for layout, has in ((source, False), (target, True))
        )
        found.append((stores.least + loads.least, stores.count + loads.count))
    return min(found)


def arrangements(sizes: Sequence[int], element_bytes: int, swizzled: bool = False) -> Iterator[Arrangement]:
    """The candidates, with or without ``swizzled`` ones."""
    wide = [dim for dim, size in enumerate(sizes) if size != 1]
    line = BANKS * BANK_BYTES // element_bytes
    paddings = range(min(line // 2, BANKS) + 1)
    widths = (1, 2, 4, 8, WIDE, 2 * WIDE) if swizzled else (1, 2, 4, 8, WIDE)
    gaps = [size // element_bytes for size in widths if size >= element_bytes]
    for order in _orders(wide):
        yield _arranged(sizes, order, element_bytes)
        if swizzled and len(order) > 1:
            yield from _swizzles(_arranged(sizes, order, element_bytes))
        for gap in gaps if len(order) == 1 else ():
            yield _arranged(sizes, order, element_bytes, group=line, gap=gap)
        for padding in paddings[1:] if len(order) > 1 else ():
            yield _arranged(sizes, order, element_bytes, row=padding)
            if len(order) > 2:
                yield _arranged(sizes, order, element_bytes, plane=padding)
        for group in GROUPS:
            if len(order) > 1 and group < sizes[order[1]]:
                for gap, padding in product(gaps, paddings):
                    yield _arranged(sizes, order, element_bytes, row=padding, group=group, gap=gap)


def _swizzles(plain: Arrangement) -> Iterator[Arrangement]:
    """The ways to change places in rows that consist of whole parts of two, four or eight chunks."""
    line = BANKS * BANK_BYTES // WIDE
    for chunks in (each for each in _CHUNKS if plain.sizes[plain.inner] % (each * plain.chunk) == 0):
        count = chunks.bit_length() - 1
        for shift in range((line // chunks).bit_length()):
            yield replace(plain, bits=tuple(range(shift, shift + count)))
        if plain.element_bytes == BANK_BYTES and chunks == _CHUNKS[0]:  # lanes load 8 neighbours of 4 rows
            yield replace(plain, bits=(2, 0, 1))
        if plain.element_bytes == 1:  # matrices of bytes have rows 0, 1, 4, 5, 8, 9, 12 and 13
            yield replace(plain, bits=(2, 3, 0)[:count])
            if plain.sizes[plain.inner] == 2 * WIDE:
                order = plain.inner, plain.rows
                yield replace(_arranged(plain.sizes, order, 1, group=4, gap=4 * WIDE), bits=(3,))


def _orders(dims: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The dims, innermost first."""
    if len(dims) <= ORDERED:
        yield from permutations(reversed(dims))
        return
    for inner in reversed(dims):
        yield inner, *(dim for dim in reversed(dims) if dim != inner)


def _arranged(
    sizes: Sequence[int],
    order: Sequence[int],
    element_bytes: int,
    row: int = 0,
    plane: int = 0,
    group: int = 1,
    gap: int = 0,
) -> Arrangement:
    """``row`` and ``plane`` are elements of padding after each."""
    strides, stride = [0] * len(sizes), 1
    inner, rows = (order[0], order[min(1, len(order) - 1)]) if order else (0, 0)
    for dim, padding in zip_longest(order, (row, plane)[: len(order)], fillvalue=0):
        strides[dim] = stride
        stride = stride * sizes[dim] + padding
        if gap and dim == rows:
            stride += (sizes[dim] - 1) // group * gap
    return Arrangement(tuple(sizes), tuple(strides), inner, stride, element_bytes, rows, group, gap)


def _widest(layout: Layout, sizes: Sequence[int], inner: int, element_bytes: int) -> int:
    """The neighbours that a thread could access at once, none of them outside if one is inside."""
    return gcd(layout.run(inner), WIDE // element_bytes, sizes[inner])


@lru_cache(maxsize=256)
def _accesses(
    layout: Layout, sizes: tuple[int, ...], inner: int, width: int, element_bytes: int, has_copies: bool
) -> WarpAccesses:
    return WarpAccesses(layout, sizes, inner, width, element_bytes, has_copies)
