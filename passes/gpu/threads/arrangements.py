"""Where a tile lies in shared memory between two layouts: chosen by counting passes over the banks.

Every order of its dims is a candidate, with padded rows or planes, or with gaps between groups of rows; of a
single row with gaps between lines of all banks. Where those have conflicts, gaps may lie behind groups along
any dim, the last one, too, so that what is further out goes on as if all were one dim: a product's results,
in rows of 64 bytes and images of 4 x 4 places, are stored by words of 8 rows and loaded by pairs of rows::

    16 bytes behind each 2 rows     a plane of 4 has 288 bytes, not 272: the next one begins 8 banks further

Over 672 tiles of 16 to 128 rows between the layouts of products and of wide stores 114 had conflicts, none
has now (5 % of their passes); of 333 that change hands in products and small convolutions ten lie elsewhere,
in fewer passes or accesses, none of them in a product. What is loaded by matrices may be swizzled, too, which
takes no room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import permutations, product, zip_longest

from ....dialects.layouts import BANK_BYTES, BANKS, Layout
from ..layouts.access import WIDE
from .arrangement import Arrangement, accesses, widest

GROUPS = (2, 4, 8, 16)  # rows that may share a gap
_CHUNKS = (8, 4, 2)
_WIDTHS = (1, 2, 4, 8, WIDE, 2 * WIDE)  # bytes of gaps
ORDERED = 3  # dims of which every order is tried; of more any may be the inner one


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
    for one in _in_order(sizes, element_bytes, along, wide):
        if least <= ideal:
            break
        if best is not None and one.elements * element_bytes > room:
            continue
        if _bound(one, source, target) < least and one.adds_up(source) and one.adds_up(target):
            found = cost(one, source, target, least[0])
            if found < least:
                best, least = one, found
    assert best is not None, "places add up where there are no gaps"
    return best


def _in_order(
    sizes: Sequence[int], element_bytes: int, along: int | None, wide: Layout | None
) -> Iterator[Arrangement]:
    """The candidates of `best_arrangement`, small ones first; those with gaps along any dim only then."""
    swizzled = along is not None
    for every in (arrangements(sizes, element_bytes, swizzled), with_groups(sizes, element_bytes)):
        for one in sorted(every, key=lambda each: (each.elements, each.gap)):
            fits = wide is None or one.width(wide) * element_bytes == WIDE
            if along is None or (one.inner == along and fits):
                yield one


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
            accesses(layout, sizes, inner, widest(layout, sizes, inner, element_bytes), element_bytes, has)
            for layout, has in ((source, False), (target, True))
        )
        found.append((stores.least + loads.least, stores.count + loads.count))
    return min(found)


def arrangements(sizes: Sequence[int], element_bytes: int, swizzled: bool = False) -> Iterator[Arrangement]:
    """The candidates, with or without ``swizzled`` ones."""
    line = BANKS * BANK_BYTES // element_bytes
    paddings = range(min(line // 2, BANKS) + 1)
    gaps = _gaps(element_bytes, _WIDTHS if swizzled else _WIDTHS[:-1])
    for order in _orders(sizes):
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


def with_groups(sizes: Sequence[int], element_bytes: int) -> Iterator[Arrangement]:
    """The candidates with gaps behind groups of positions of any dim but the inner one, all of them."""
    gaps = _gaps(element_bytes, _WIDTHS)
    for order in _orders(sizes):
        for rows in order[1:]:
            for group, gap in product((1, *GROUPS), gaps):
                if group < sizes[rows]:
                    yield _grouped(sizes, order, element_bytes, rows, group, gap)


def _grouped(
    sizes: Sequence[int], order: Sequence[int], element_bytes: int, rows: int, group: int, gap: int
) -> Arrangement:
    """Of groups of one position the stride has the gap."""
    strides, stride = [0] * len(sizes), 1
    for dim in order:
        alone = dim == rows and group == 1
        strides[dim] = stride + gap if alone else stride
        stride = strides[dim] * sizes[dim]
        if dim == rows and not alone:
            stride += -(-sizes[dim] // group) * gap
    places = tuple(sizes), tuple(strides), order[0], stride, element_bytes
    return Arrangement(*places, rows, group, 0 if group == 1 else gap)


def _gaps(element_bytes: int, widths: Sequence[int]) -> list[int]:
    """Gaps of so many bytes, in elements."""
    return [size // element_bytes for size in widths if size >= element_bytes]


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


def _orders(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The dims of more than one element, innermost first."""
    dims = [dim for dim, size in enumerate(sizes) if size != 1]
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
