"""Blocks and warps that ask less often for what several of them read: a norm's weights, a rotary's tables."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..domain import Dim, Domain
from ..tiling.access import Access, Nest
from .common import ROW, forced, innermost_dims, keep_inside
from .gpu_threads import FEWEST_WARPS, THREAD_ELEMENTS, WARP, WORD, own_inputs, rows_are_of_warps
from .gpu_tiles import blocks_of, bytes_of, in_memory, inputs_of, largest_tile, widest_bytes

MOST_ASKED = 2  # times what memory moves
MOST_AGAIN = 1.125  # times what a block's tile has
# Of the multiprocessors: 128 blocks of equal parts keep 132 of them as busy as 256 with half of one each.
NEARLY_ALL = 15 / 16


def share_inputs(domain: Domain, tiles: dict[Dim, int], processors: int) -> None:
    """Let a block have more of a dim along which an input is the same, and fewer of another one if need be.

    While the blocks ask for more than `MOST_ASKED` times what memory moves, and as long as there is one for
    nearly all of the ``processors``, or there are as many as there were.
    """
    most, wanted = MOST_ASKED * _moved(domain), int(NEARLY_ALL * processors)
    while _asked(domain, tiles) > most:
        least = min(wanted, blocks_of(domain, tiles))
        found = [
            other
            for other in _others(domain, tiles)
            if blocks_of(domain, other) >= least and _can_be(domain, other)
        ]
        best = min(found, key=lambda other: _asked(domain, other), default=tiles)
        if _asked(domain, best) >= _asked(domain, tiles):
            return
        tiles |= best


def warps_with_weights(domain: Domain, tiles: dict[Dim, int], warps: int) -> int:
    """Half of a block's ``warps``, or fewer, where each has rows of its own and loads the weights for these.

    While they ask for more than `MOST_AGAIN` times what the tile has, and a thread holds what it gets.
    The norm of 16 rows of 256 f16, of a sum with what lies across, asks for 1.21 times as much with eight
    warps and 1.09 with four, each of which makes f32 of the weights for twice as many rows.
    """
    if not rows_are_of_warps(domain) or widest_bytes(domain) > WORD:
        return warps
    covered, own = largest_tile(domain, tiles), own_inputs(domain)
    rows = covered // prod(dim.extent or ROW for dim in domain.dims if dim.whole)
    weights = sum(_bytes_of_tile(domain, tiles, each) for each in inputs_of(domain) if each not in own)
    once = _bytes(domain, {dim: tiles[dim] or dim.extent for dim in domain.dims})
    fewest = max(FEWEST_WARPS, covered // (THREAD_ELEMENTS * WARP))
    while fewest < warps <= rows and once + (warps - 1) * weights > MOST_AGAIN * once:
        warps //= 2
    return warps


def _bytes_of_tile(domain: Domain, tiles: dict[Dim, int], read: tuple[Nest, Access]) -> int:
    """What a block has of something that it reads."""
    nest, access = read
    dims = {domain.loops(nest)[loop] for index in access.indices for loop in index.loops}
    return bytes_of(access) * prod(tiles[dim] or dim.extent or ROW for dim in dims)


def _others(domain: Domain, tiles: dict[Dim, int]) -> Iterator[dict[Dim, int]]:
    """Tiles with twice as much of one dim, and with half as much of another one or not."""
    fixed = innermost_dims(domain) | forced(domain).keys()
    free = [dim for dim in domain.dims if dim.kind == "parallel" and not dim.whole and dim not in fixed]
    sizes = {dim: tiles[dim] or dim.extent for dim in free if dim.extent is not None}
    for more in (dim for dim, size in sizes.items() if 2 * size <= (dim.extent or 0)):
        yield {**tiles, more: 2 * sizes[more]}
        for fewer in (dim for dim, size in sizes.items() if dim is not more and size % 2 == 0):
            yield {**tiles, more: 2 * sizes[more], fewer: sizes[fewer] // 2}


def _can_be(domain: Domain, tiles: dict[Dim, int]) -> bool:
    """Whether no tile reaches beyond the part of a tensor that it is written into."""
    kept = dict(tiles)
    keep_inside(domain, kept)
    return kept == tiles


def _asked(domain: Domain, tiles: dict[Dim, int]) -> int:
    """The bytes that all blocks together load and store."""
    return blocks_of(domain, tiles) * _bytes(domain, {dim: tiles[dim] or dim.extent for dim in domain.dims})


def _moved(domain: Domain) -> int:
    """The bytes of what they load and store."""
    return _bytes(domain, {dim: dim.extent for dim in domain.dims})


def _bytes(domain: Domain, sizes: dict[Dim, int | None]) -> int:
    """What loads and stores of so many elements along each dim take; what several loops read once."""
    total, found = 0, set[object]()
    for nest, access in in_memory(domain):
        loops = domain.loops(nest)
        dims = {loops[loop] for index in access.indices for loop in index.loops}
        along = frozenset(dim if dim.kind == "parallel" and not dim.whole else dim.extent for dim in dims)
        where = tuple((index.rest, index.start, index.stride) for index in access.indices)
        if (access.value, along, where) not in found:
            found.add((access.value, along, where))
            total += bytes_of(access) * prod(sizes[dim] or ROW for dim in dims)
    return total
