"""Tiles of element-wise kernels and of rows on GPUs, from the elements that one thread can hold.

A block covers one to four 16-byte accesses a thread along memory, a transposed tile has two sides; a row
that is reduced belongs to one block, with others beside it while all multiprocessors have some.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..domain import Dim, Domain
from ..gpu.layouts.warps import FILLING, MOST_BLOCKS
from ..powers import power_above, power_below
from ..tiling.access import Access
from ..tiling.analysis import loops_in
from ..tiling.registry import SINGLE
from ..tiling.walks import columns_of
from .common import ROW, innermost_dims, memory_order
from .gpu_consecutive import begins_anywhere
from .gpu_threads import (
    FEWEST_WARPS,
    MOST_WARPS,
    ROW_THREAD_ELEMENTS,
    WARP,
    WIDE,
    is_dear,
    own_inputs,
    reduces,
)
from .gpu_tiles import (
    ROW_ELEMENTS,
    beside_each,
    bytes_in_memory,
    bytes_of,
    in_memory,
    inputs_of,
    part_of,
    reduced_in_tiles,
    widest_bytes,
)
from .tensor_blocks import SECTOR

ACCESSES = 4  # wide ones in flight a thread; half where much is computed with what they bring

SQUARE = 32  # the side of a transposed tile, at least

LINE = 128  # bytes of a cache line: a longer side has no more to gain


def by_elements(domain: Domain, tiles: dict[Dim, int]) -> bool:
    """Whether tasks are single elements: one that cannot have neighbours in memory leaves them to lanes.

    So of copied windows, where it has less than a sector of them. In memory in blocks, as of pairs, the
    neighbours of one task are for the next ones, in one wide access. Rows may begin anywhere then, too.
    """
    inner = memory_order(domain)[:1]
    alone = all(dim.kind == "parallel" and not dim.whole for dim in domain.dims)
    single = any(tiles.get(dim) == SINGLE or _is_in_blocks(domain, dim) for dim in inner)
    return alone and (single or _is_short(domain, tiles) or begins_anywhere(domain))


def _is_short(domain: Domain, tiles: dict[Dim, int]) -> bool:
    """Whether a step along a window's places, one by one, passes less than a sector of memory."""
    run = bytes_in_memory(domain)
    for dim in memory_order(domain):
        if tiles.get(dim) == SINGLE:
            return run < SECTOR and _is_in_window(domain, dim)
        run *= dim.extent or ROW
    return False


def _is_in_window(domain: Domain, dim: Dim) -> bool:
    """Whether what is read along ``dim`` is read again along another dim."""
    for nest, access in inputs_of(domain):
        loops = domain.loops(nest)
        for index in access.indices:
            inside = {*index.loops, *(loops_in(index.rest) if index.rest is not None else ())}
            if len(inside) > 1 and dim in {loops[loop] for loop in inside}:
                return True
    return False


def _is_in_blocks(domain: Domain, inner: Dim) -> bool:
    """Whether a step along ``inner`` goes to the next block of memory, for each task to another one."""
    every = {dim for dim in domain.dims if dim.extent != 1}
    for nest, access in in_memory(domain):
        dims = [domain.loops(nest)[loop] for index in access.indices for loop in index.loops]
        last = access.indices[-1] if access.indices else None
        if last is None or last.loops or last.rest is not None or access.value.type.shape[-1] == 1:
            continue
        if dims[-1:] == [inner] and every <= {*dims}:
            return True
    return False


def choose_rows(domain: Domain, tiles: dict[Dim, int], processors: int) -> None:
    """Fill a block's budget along the largest tensor's memory, innermost dim first.

    Reduced dims count: what does not fit is left to steps over them.
    """
    reduced = reduced_in_tiles(domain)
    for dim in reduced:
        tiles.pop(dim, None)
    _choose_walks(domain, tiles)
    dims = [dim for dim in memory_order(domain) if dim.kind == "parallel" or dim in reduced]
    dims += [dim for dim in domain.dims if dim not in dims and (dim.kind == "parallel" or dim in reduced)]
    inner = {dim for dim in innermost_dims(domain) if dim in dims and dim not in tiles}
    transposed = len([dim for dim in inner if dim.kind == "parallel"]) > 1
    sides = _sides(domain, [dim for dim in dims if dim in inner])
    if transposed:
        dims.sort(key=lambda dim: dim not in inner)  # a square first: both sides are read in whole sectors
    budget = _budget(domain, dims, processors)
    left = _tasks_wanted(dims) if reduced else budget
    owned = prod(dim.extent or 1 for dim in domain.dims if dim.whole)
    beside = beside_each(domain)
    placed = {*columns_of(domain)[-1:]}  # those whose elements a task holds at once
    for dim in dims:
        if dim in tiles:
            continue
        used = owned * prod(tiles[other] or other.extent or 1 for other in placed & beside[dim])
        wanted = sides[dim] if transposed and dim in inner else max(budget // used, 1)
        own_beside = prod(other.extent or 1 for other in beside[dim] if other.whole)
        if dim.kind == "reduction":
            wanted *= owned // own_beside  # a task reduces first, and holds what else it owns then
        elif reduced and not transposed:
            wanted = min(wanted, left)
            left = max(left // power_above(min(wanted, dim.extent or ROW)), 1)
        tiles[dim] = part_of(dim.extent, wanted)
        if dim.kind == "parallel" or owned == 1 or own_beside > 1:
            placed.add(dim)


def _choose_walks(domain: Domain, tiles: dict[Dim, int]) -> None:
    """Steps along a row of unknown length, for a block that has a single one, or a line of columns."""
    walked = [dim for dim in memory_order(domain) if dim.walked]
    walked += [dim for dim in domain.dims if dim.walked and dim not in walked]
    if not walked:
        return
    free = [dim for dim in domain.dims if dim.kind == "parallel" and not dim.whole]
    tiles |= dict.fromkeys((*free, *walked), SINGLE)
    owned = prod(dim.extent or 1 for dim in domain.dims if dim.whole)
    for dim in columns_of(domain)[-1:]:
        tiles[dim] = part_of(dim.extent, WARP)
        owned *= min(dim.extent or WARP, WARP)
    tiles[walked[0]] = power_below(ROW_ELEMENTS // owned)


def _sides(domain: Domain, inner: Sequence[Dim]) -> dict[Dim, int]:
    """The sides of a transposed tile: longer for small elements, while there are blocks for all."""
    sides = dict.fromkeys(inner, SQUARE)
    size = widest_bytes(domain)
    total = prod(dim.extent or ROW for dim in domain.dims if dim.kind == "parallel")
    most = min(power_below(total // FILLING), FEWEST_WARPS * WARP * ACCESSES * max(WIDE // size, 1))
    for dim in inner:
        if 2 * prod(sides.values()) <= most and 2 * SQUARE * size <= LINE:
            sides[dim] *= 2
    return sides


def _budget(domain: Domain, dims: Sequence[Dim], processors: int) -> int:
    """The elements of a block's largest tile: all wide accesses of a thread are to be in flight at once."""
    threads = FEWEST_WARPS * WARP
    wide, fewest = (
        threads * max(WIDE // size, 1) for size in (widest_bytes(domain), bytes_in_memory(domain))
    )
    total = prod(dim.extent or ROW for dim in dims)
    accesses = ACCESSES // 2 if is_dear(domain) else ACCESSES
    most = max(wide * (accesses // _large_inputs(domain, total)), fewest)
    budget = min(max(power_below(total // FILLING), wide), most)
    owned = prod(dim.extent or 1 for dim in domain.dims if dim.whole)
    if owned == 1:
        return budget
    together = max(_columns(domain, dims), _rows_of_columns(domain, owned))
    if together == 1 and are_few_rows(domain, processors):
        return max(fewest // FEWEST_WARPS, owned)
    return max(min(budget, ROW_ELEMENTS), owned * together)


def are_few_rows(domain: Domain, processors: int) -> bool:
    """Whether each row is to be a warp's, and a block's: ``processors`` hold all of them at once.

    Then multiprocessors share them evenly, and no block asks twice for what is loaded with each of its rows,
    as weights.
    """
    rows = prod(dim.extent or ROW for dim in filter(_is_free, domain.dims))
    owned = prod(dim.extent or 1 for dim in domain.dims if dim.whole)
    return (
        reduces(domain)
        and 1 < owned <= WARP * ROW_THREAD_ELEMENTS
        and rows <= processors * MOST_BLOCKS
        and len(own_inputs(domain)) < len(inputs_of(domain))
    )


def _columns(domain: Domain, dims: Sequence[Dim]) -> int:
    """The whole columns that a task takes, if any: a sector of each row, a line if all have blocks."""
    inner = memory_order(domain)[:1]
    if not inner or inner[0] not in dims or inner[0].whole or inner[0].kind == "reduction":
        return 1
    size = bytes_in_memory(domain)
    columns = prod(dim.extent or ROW for dim in dims if dim.kind == "parallel" and not dim.whole)
    return max(min(power_below(columns // FILLING), LINE // size), SECTOR // size, 1)


def _rows_of_columns(domain: Domain, owned: int) -> int:
    """The rows of a task, of ``owned`` elements each, that reads or writes another tensor by their columns.

    As the norm of a sum with what is transposed: as many as fill its sectors, if a block holds them and
    there are blocks for all. Of each sector that one row reads 2 bytes are used.
    """
    sizes = [bytes_of(access) for nest, access in in_memory(domain) if _is_across(domain.loops(nest), access)]
    if not sizes:
        return 1
    rows = prod(dim.extent or ROW for dim in filter(_is_free, domain.dims))
    held = MOST_WARPS * WARP * ROW_THREAD_ELEMENTS // owned
    return min(SECTOR // min(sizes), power_below(rows // FILLING), power_below(held))


def _is_across(loops: Sequence[Dim], access: Access) -> bool:
    """Whether a row of memory has elements of many of a task's rows, and each of these of many rows there."""
    dims = [dim for index in access.indices for loop in index.loops if (dim := loops[loop]).extent != 1]
    return bool(dims) and _is_free(dims[-1]) and any(dim.whole for dim in dims)


def _is_free(dim: Dim) -> bool:
    return dim.kind == "parallel" and not dim.whole


def _large_inputs(domain: Domain, total: int) -> int:
    """The inputs of which about as many elements are read as the kernel's loops have, at least 1."""
    sizes = [
        prod(domain.loops(nest)[loop].extent or ROW for index in access.indices for loop in index.loops)
        for nest, access in inputs_of(domain)
    ]
    return power_below(max(sum(2 * size >= total for size in sizes), 1))


def _tasks_wanted(dims: Sequence[Dim]) -> int:
    """The results of a reduction in one block: few, so that there are blocks for all, but a whole sector."""
    results = prod(dim.extent or ROW for dim in dims if dim.kind == "parallel")
    return max(power_below(results // FILLING), WARP)
