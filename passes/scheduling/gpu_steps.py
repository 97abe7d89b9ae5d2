"""The steps of a block along what it reduces: how long they are, and how many warps share one."""

from __future__ import annotations

from math import ceil, prod

from ..domain import Dim, Domain
from ..operations import nested_ops
from ..powers import power_below
from ..tiling import reduction
from ..tiling.registry import WHOLE, rule_of
from .common import ROW, innermost_dims
from .gpu_threads import (
    CONTRACTION_REGISTERS,
    FEWEST_WARPS,
    MOST_WARPS,
    PLACES,
    ROW_THREAD_ELEMENTS,
    WARP,
    WORD,
    are_pairs,
    reduces,
    warps_for,
    warps_with_accesses,
    words_of,
)
from .gpu_tiles import beside_each, blocks_of, inputs_of, largest_tile, reduced_in_tiles, widest_bytes

STEP_ELEMENTS = 8  # of a thread, of a step along a row that is longer than a block's registers
# The same along columns: four wide loads a thread. With 32 warps 64 KB are on their way: Little's law asks
# for 25 KB of each multiprocessor (`is_dear`), and for more where fewer are to have all of the bandwidth.
COLUMN_ELEMENTS = 16
FLYING = 16  # registers of a thread that wait for four wide loads
AT_ONCE = 2  # short steps
LONGEST = MOST_WARPS * WARP * ROW_THREAD_ELEMENTS  # of rows that a block holds
MOST_PAIRS = 4096  # of a row's elements with each other: of 100 in 32 warps ptxas spills 892 bytes


def lengthen_steps(domain: Domain, tiles: dict[Dim, int]) -> int:
    """Longer steps, for a block that has a multiprocessor to itself; the warps that they take.

    A row of unknown length may be short: it has as many as others, unless it is all that there is.
    """
    warps, beside, inner = 0, beside_each(domain), innermost_dims(domain)
    for dim in reduced_in_tiles(domain):
        if tiles[dim] == WHOLE or (dim.extent is not None and dim.extent <= tiles[dim]):
            continue
        words = STEP_ELEMENTS if dim in inner else COLUMN_ELEMENTS
        own = max(words * WORD // max(widest_bytes(domain, dim), WORD), 1)
        others = prod(tiles[other] or other.extent or 1 for other in beside[dim])
        if dim.extent is None:
            most = FEWEST_WARPS if any(each.kind == "parallel" for each in domain.dims) else MOST_WARPS
            longest = power_below(most * WARP * own // others)
        else:
            longest = min(power_below(MOST_WARPS * WARP * own // others), power_below(dim.extent))
        tiles[dim] = max(longest, tiles[dim])
        warps = max(warps, min(power_below(tiles[dim] * others // (WARP * own)), MOST_WARPS))
    return warps


def hold_rows(domain: Domain, tiles: dict[Dim, int]) -> None:
    """No steps along rows that are reduced twice and fit a block, which reads them once, and holds them.

    In steps each total would be brought to the maximum of the next ones, element by element: of the parts of
    4096 of a softmax's rows of 262144 that is 751 instructions for 32 elements in 76 registers; so it is 192
    for 16, in 32.
    """
    stepped = [dim for dim in reduced_in_tiles(domain) if 0 < tiles[dim] < (dim.extent or ROW)]
    if len(stepped) < 2 or not reduces(domain) or widest_bytes(domain) > WORD:
        return
    beside, inner = beside_each(domain), innermost_dims(domain)
    held = {**tiles, **dict.fromkeys(stepped, WHOLE)}
    for dim in stepped:
        others = prod(tiles[other] or other.extent or 1 for other in beside[dim])
        if dim not in inner or dim.extent is None or dim.extent * others > _longest(domain, held):
            return
    tiles |= held


def _longest(domain: Domain, tiles: dict[Dim, int]) -> int:
    """The elements of a row that a block holds at most."""
    return MOST_PAIRS if are_pairs(domain, tiles) else LONGEST


def short_steps(domain: Domain, tiles: dict[Dim, int], warps: int, processors: int) -> int:
    """Short steps, or none, for a block that adds up what it reads; the warps that they take, or 0.

    A thread carries a total for each of its elements of a step: half as many elements, of two steps at once,
    are as many loads on their way and half as many totals. A row that fits a block as others do has no steps.
    Of columns each of ``processors`` that has few blocks gets as many warps as it may have of one.
    """
    stepped = [dim for dim in reduced_in_tiles(domain) if 0 < tiles[dim] < (dim.extent or ROW)]
    if len(stepped) != 1 or not adds(domain):
        return 0
    (dim,) = stepped
    if dim.extent is None or dim.extent % tiles[dim]:
        return 0
    elements = largest_tile(domain, tiles)
    if dim in innermost_dims(domain):
        row = elements // tiles[dim] * dim.extent
        if row <= _longest(domain, {**tiles, dim: WHOLE}):
            tiles[dim] = WHOLE
            return min(warps_for(row, ROW_THREAD_ELEMENTS), warps_with_accesses(domain, tiles))
    if tiles[dim] >= AT_ONCE and words_of(domain, inputs_of(domain), tiles, warps * WARP) >= FLYING:
        tiles[dim] //= AT_ONCE
    share = ceil(blocks_of(domain, tiles) / processors)
    while 2 * warps * share <= MOST_WARPS and dim.extent % (2 * AT_ONCE * tiles[dim]) == 0:
        warps, tiles[dim] = 2 * warps, 2 * tiles[dim]
    return warps


def adds(domain: Domain) -> bool:
    """Whether a kernel reduces what it reads, and computes little with it before."""
    ops = [op for nest in domain.nests if nest.body is not None for op in nested_ops(nest.body)]
    return reduces(domain) and not any(op.name.startswith("math.") for op in ops)


def registers_for_steps(domain: Domain, tiles: dict[Dim, int], threads: int) -> int:
    """The registers of a thread that runs short steps: for its loads and totals, and other warps'."""
    words = -(-largest_tile(domain, tiles) // threads) * max(widest_bytes(domain) // WORD, 1)
    totals = words * sum(rule_of(nest) is reduction for nest in domain.nests)
    loaded = AT_ONCE * words_of(domain, inputs_of(domain), tiles, threads)
    return min(loaded + totals + 2 * PLACES, CONTRACTION_REGISTERS)
