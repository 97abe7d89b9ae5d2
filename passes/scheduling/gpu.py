"""Tile sizes and warps for GPUs: fixed choices, from the elements that one thread can hold.

A block of an element-wise kernel covers one to four 16-byte accesses a thread; a row that is reduced belongs
to one block, which gets as many warps as keep `THREAD_ELEMENTS` a thread; a contraction has a square of the
result, which shrinks until the chip's multiprocessors have a block each. Divided dims get powers of two, so
that lanes divide them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, prod

from mlir import ir

from ..costs.cost import SPECIAL
from ..domain import Dim, Domain
from ..gpu.layouts.warps import REGISTERS
from ..operations import nested_ops
from ..tiling import contraction, elementwise, fill, reduction, slices, window
from ..tiling.access import Access, Nest, shape_of
from ..tiling.registry import SINGLE, WHOLE, rule_of
from ..tiling.walks import columns_of
from .attention import Block, attention_of, choose_attention
from .common import ROW, forced, innermost_dims, keep_inside, memory_order

WARP = 32
FEWEST_WARPS, MOST_WARPS = 4, 32
THREAD_ELEMENTS = 32  # that a thread holds of the largest tile
LARGEST_ROW = WARP * MOST_WARPS * 2 * THREAD_ELEMENTS
STEP_ELEMENTS = 8  # the same of a step along a row that is longer than a block's registers
COLUMN_STEPS = (
    16,
    16,
    4,
)  # along columns: the same, the most warps, and the fewest steps: these are unrolled
ROW_ELEMENTS = 1024  # at least, of a block that reduces rows
WIDE = 16  # bytes an access
WORD = 4  # bytes a register
ACCESSES = 4  # wide ones in flight a thread; half where much is computed with what they bring
BLOCKS = 132  # to fill the chip: the multiprocessors of an H200; an A100 has 108
SQUARE = 32  # the side of a transposed tile, at least
LINE = 128  # bytes of a cache line: a longer side has no more to gain
CONTRACTION_REGISTERS, OTHER_REGISTERS = 128, 64  # that a thread may have
MOST_RESULTS = 8  # of the others: more have so many addresses and constants that some would spill
FEWEST_REGISTERS = 32  # with which a multiprocessor holds all its warps
PLACES = 8  # registers with addresses and the like
_SHORT = ("div", "exp", "sqrt", "rsqrt")  # functions of a dozen instructions at most
# Rows of any length: mlopt-gpu-chunk-rows runs through them.
_IN_STEPS = (elementwise, fill, reduction, slices)
CONTRACTION_SIDES = ((64, 64), (32, 64), (32, 32), (16, 32))
ATTENTION = Block(rows=(32, 16), keys=16, step=8)
CONTRACTION_STEP = 8  # so that both factors of a step fit a thread beside its square


@dataclass(frozen=True)
class Choice:
    """The tile of each dim, the warps of a block, and the blocks that a multiprocessor should hold."""

    tiles: dict[Dim, int]
    warps: int
    min_blocks: int


def problem(domain: Domain) -> str | None:
    """Why a block cannot run a task of this kernel, or None."""
    if all(rule_of(nest) in _IN_STEPS for nest in domain.nests):
        return None
    for nest in domain.nests:
        row = prod(dim.extent or 1 for dim in set(domain.loops(nest)) if dim.whole)
        if row > LARGEST_ROW:
            return f"a block would need {row} elements at once; it can hold {LARGEST_ROW}"
    return None


def choose(domain: Domain) -> Choice:
    """Tiles, warps and residency of a kernel."""
    tiles = forced(domain)
    heavy = next((nest for nest in domain.nests if rule_of(nest) is contraction), None)
    attention = attention_of(domain)
    if attention is not None:
        choose_attention(domain, attention, tiles, ATTENTION, BLOCKS)
    elif heavy is not None:
        _choose_contraction(domain, heavy, tiles)
    elif _by_elements(domain, tiles):
        tiles |= dict.fromkeys((dim for dim in domain.dims if dim not in tiles), SINGLE)
    else:
        _choose_rows(domain, tiles)
    keep_inside(domain, tiles)
    tiles = {dim: tiles.get(dim, WHOLE) for dim in domain.dims}
    warps = _warps(_covered(domain, tiles))
    if heavy is None and attention is None and _blocks(domain, tiles) <= BLOCKS:
        warps = max(warps, _lengthen_steps(domain, tiles))
    if heavy is None and attention is None and _reduced_in_tiles(domain):
        warps = min(warps, _with_accesses(domain, tiles))
    # Windows and steps of a reduction are unrolled: what they load is on its way before the first is used.
    unrolled = any(rule_of(nest) is window for nest in domain.nests) or any(
        0 < tiles[dim] < (dim.extent or ROW) for dim in _reduced_in_tiles(domain)
    )
    light = heavy is None and not unrolled and _results(domain) <= MOST_RESULTS
    registers = _registers(domain, tiles, warps * WARP) if light else CONTRACTION_REGISTERS
    return Choice(tiles, warps, max(REGISTERS // (registers * warps * WARP), 1))


def _registers(domain: Domain, tiles: dict[Dim, int], threads: int) -> int:
    """The registers that a thread of an element-wise kernel needs: for its loads first, then to compute.

    Elements are counted twice then, as what is computed and what comes next of it. With more registers ptxas
    works on more elements at once, while fewer blocks wait for memory. Of other kernels, and of single
    elements, whose bodies have any size, they are as many as there are.
    """
    covered = _covered(domain, tiles)
    if covered <= threads or any(rule_of(nest) is not elementwise for nest in domain.nests):
        return OTHER_REGISTERS
    loaded: dict[ir.Value, int] = {}
    for nest in domain.nests:
        for access in nest.reads:
            if access is not None and domain.writer(access.value) is None:
                loops = {loop for index in access.indices for loop in index.loops}
                words = -(-_elements(domain, nest, loops, tiles) * _size(access) // (WORD * threads))
                loaded[access.value] = max(loaded.get(access.value, 0), words)
    computed = -(-covered // threads) * max(_bytes(domain) // WORD, 1)
    return min(max(sum(loaded.values()), 2 * computed, FEWEST_REGISTERS - PLACES) + PLACES, OTHER_REGISTERS)


def _by_elements(domain: Domain, tiles: dict[Dim, int]) -> bool:
    """Whether tasks are single elements: one that cannot have neighbours in memory leaves them to lanes."""
    inner = memory_order(domain)[:1]
    alone = all(dim.kind == "parallel" and not dim.whole for dim in domain.dims)
    return alone and any(tiles.get(dim) == SINGLE for dim in inner)


def _lengthen_steps(domain: Domain, tiles: dict[Dim, int]) -> int:
    """Longer steps, for a block that has a multiprocessor to itself; the warps that they take."""
    warps, beside, inner = 0, _beside(domain), innermost_dims(domain)
    for dim in _reduced_in_tiles(domain):
        if tiles[dim] == WHOLE or (dim.extent is not None and dim.extent <= tiles[dim]):
            continue
        words, most, steps = (STEP_ELEMENTS, MOST_WARPS, 1) if dim in inner else COLUMN_STEPS
        own = max(words * WORD // max(_bytes(domain, dim), WORD), 1)
        others = prod(tiles[other] or other.extent or 1 for other in beside[dim])
        if dim.extent is None:
            longest = _power(FEWEST_WARPS * WARP * own // others)
        else:
            longest = min(_power(most * WARP * own // others), _power(dim.extent // steps))
        tiles[dim] = max(longest, tiles[dim])
        warps = max(warps, min(_power(tiles[dim] * others // (WARP * own)), most))
    return warps


def _results(domain: Domain) -> int:
    """How many tensors a task writes that others read."""
    written = [access.value for nest in domain.nests for access in nest.writes]
    return sum(_leaves(domain, value) for value in written)


def _leaves(domain: Domain, value: ir.Value) -> bool:
    """Whether what is outside of the kernel's loops uses a value."""
    ops = {nest.op for nest in domain.nests}
    return any(use.owner.operation not in ops for use in value.uses)


def _with_accesses(domain: Domain, tiles: dict[Dim, int]) -> int:
    """The warps whose threads have a wide access of their own: others would repeat what these read."""
    most = 1
    for nest in domain.nests:
        loops = domain.loops(nest)
        for access in (*nest.reads, *nest.writes):
            if access is None or not isinstance(access.value.type, ir.ShapedType):
                continue
            if _leaves(domain, access.value) or domain.writer(access.value) is None:
                dims = {loops[loop] for index in access.indices for loop in index.loops}
                size = max(getattr(access.value.type.element_type, "width", 64) // 8, 1)
                most = max(most, size * prod(tiles[dim] or dim.extent or ROW for dim in dims))
    return _power_above(ceil(most / (WIDE * WARP)))


def _warps(elements: int) -> int:
    warps = FEWEST_WARPS
    while warps < MOST_WARPS and elements > warps * WARP * THREAD_ELEMENTS:
        warps *= 2
    return warps


def _covered(domain: Domain, tiles: dict[Dim, int]) -> int:
    """The elements of the largest tile."""
    most = 1
    for nest in domain.nests:
        loops = [loop for loop in range(len(nest.kinds)) if _in_tile(nest, loop)]
        most = max(most, _elements(domain, nest, loops, tiles))
    return most


def _elements(domain: Domain, nest: Nest, loops: Iterable[int], tiles: dict[Dim, int]) -> int:
    """The elements of a tile that these loops run through."""
    dims = {domain.loops(nest)[loop] for loop in loops}
    return prod(tiles[dim] or dim.extent or 1 for dim in dims)


def _in_tile(nest: Nest, loop: int) -> bool:
    """Whether the loop is in the nest's tiles, and not an scf.for around them."""
    return nest.kinds[loop] == "parallel" or rule_of(nest) is reduction


def _choose_rows(domain: Domain, tiles: dict[Dim, int]) -> None:
    """Fill a block's budget along the largest tensor's memory, innermost dim first.

    Reduced dims count: what does not fit is left to steps over them.
    """
    reduced = _reduced_in_tiles(domain)
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
    budget = _budget(domain, dims)
    left = _tasks_wanted(dims) if reduced else budget
    owned = prod(dim.extent or 1 for dim in domain.dims if dim.whole)
    beside = _beside(domain)
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
            left = max(left // _power_above(min(wanted, dim.extent or ROW)), 1)
        tiles[dim] = _part(dim.extent, wanted)
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
        tiles[dim] = _part(dim.extent, WARP)
        owned *= min(dim.extent or WARP, WARP)
    tiles[walked[0]] = _power(ROW_ELEMENTS // owned)


def _sides(domain: Domain, inner: Sequence[Dim]) -> dict[Dim, int]:
    """The sides of a transposed tile: longer for small elements, while there are blocks for all."""
    sides = dict.fromkeys(inner, SQUARE)
    size = _bytes(domain)
    total = prod(dim.extent or ROW for dim in domain.dims if dim.kind == "parallel")
    most = min(_power(total // BLOCKS), FEWEST_WARPS * WARP * ACCESSES * max(WIDE // size, 1))
    for dim in inner:
        if 2 * prod(sides.values()) <= most and 2 * SQUARE * size <= LINE:
            sides[dim] *= 2
    return sides


def _beside(domain: Domain) -> dict[Dim, set[Dim]]:
    """For each dim those that a tile has beside it: two reductions, one after the other, share none."""
    found: dict[Dim, set[Dim]] = {dim: set() for dim in domain.dims}
    for nest in domain.nests:
        loops = domain.loops(nest)
        together = {loops[loop] for loop in range(len(nest.kinds)) if _in_tile(nest, loop)}
        for dim in together:
            found[dim] |= together - {dim}
    return found


def _reduced_in_tiles(domain: Domain) -> set[Dim]:
    """The reduced dims that no task owns: their rule can step through them."""
    return {
        domain.loops(nest)[loop]
        for nest in domain.nests
        if rule_of(nest) is reduction
        for loop in nest.reductions
        if domain.loops(nest)[loop].kind == "reduction"
    }


def _budget(domain: Domain, dims: Sequence[Dim]) -> int:
    """The elements of a block's largest tile: all wide accesses of a thread are to be in flight at once."""
    wide = FEWEST_WARPS * WARP * max(WIDE // _bytes(domain), 1)
    total = prod(dim.extent or ROW for dim in dims)
    accesses = ACCESSES // 2 if _is_dear(domain) else ACCESSES
    budget = min(max(_power(total // BLOCKS), wide), wide * max(accesses // _large_inputs(domain, total), 1))
    owned = prod(dim.extent or 1 for dim in domain.dims if dim.whole)
    return budget if owned == 1 else max(min(budget, ROW_ELEMENTS), owned)


def _is_dear(domain: Domain) -> bool:
    """Whether so much is computed with an element that few of them a thread are enough, for fewer registers.

    By Little's law 16 bytes a thread are: a multiprocessor that holds all of its 2048 threads has 32 KB on
    their way, and of an H200's 4.8 TB/s its share is 36 KB a microsecond, while a load takes 0.7 of one.
    """
    bodies = [nest.body for nest in domain.nests if rule_of(nest) is elementwise and nest.body is not None]
    names = {op.name for body in bodies for op in nested_ops(body)}
    return any(name in SPECIAL and SPECIAL[name] not in _SHORT for name in names)


def _large_inputs(domain: Domain, total: int) -> int:
    """The inputs with about as many elements as the kernel's loops have, at least 1."""
    inputs = {
        access.value
        for nest in domain.nests
        for access in nest.reads
        if access is not None and domain.writer(access.value) is None
    }
    sizes = [prod(size or ROW for size in shape_of(value)) for value in inputs]
    return _power(max(sum(2 * size >= total for size in sizes), 1))


def _tasks_wanted(dims: Sequence[Dim]) -> int:
    """The results of a reduction in one block: few, so that there are blocks for all, but a whole sector."""
    results = prod(dim.extent or ROW for dim in dims if dim.kind == "parallel")
    return max(_power(results // BLOCKS), WARP)


def _choose_contraction(domain: Domain, nest: Nest, tiles: dict[Dim, int]) -> None:
    """A square of the product, and a step of the reduced dim."""
    loops = domain.loops(nest)
    stepped = contraction.stepped_loop(nest)
    assert stepped is not None
    for loop in nest.reductions:
        if loops[loop].kind == "reduction":
            step = min(CONTRACTION_STEP, loops[loop].extent or CONTRACTION_STEP)
            tiles[loops[loop]] = step if loop == stepped else SINGLE
    for loop in contraction.batch_loops(nest):
        tiles.setdefault(loops[loop], SINGLE)  # each has factors of its own: nothing to share in a block
    lanes = loops[contraction.lane_loop(nest)]
    rows = [loops[loop] for loop in reversed(nest.parallels) if loops[loop] not in (lanes, *tiles)]
    free = dict(tiles)
    for high, wide in CONTRACTION_SIDES:
        tiles.update(free)
        _choose_block(tiles, free, lanes, rows, high, wide)
        if _blocks(domain, tiles) >= BLOCKS:
            return


def _choose_block(
    tiles: dict[Dim, int], free: dict[Dim, int], lanes: Dim, rows: Sequence[Dim], high: int, wide: int
) -> None:
    """``wide`` elements of the lanes' dim and ``high`` of the others, the innermost first."""
    if lanes not in free:
        tiles[lanes] = _part(lanes.extent, wide)
    left = high if not lanes.whole else max(ROW_ELEMENTS // (lanes.extent or 1), 1)
    for dim in rows:
        tiles[dim] = _part(dim.extent, left)
        left = max(left // _power_above(tiles[dim] or dim.extent or 1), 1)


def _blocks(domain: Domain, tiles: dict[Dim, int]) -> int:
    return prod(
        ceil((dim.extent or ROW) / (tiles.get(dim, WHOLE) or dim.extent or 1))
        for dim in domain.dims
        if dim.kind == "parallel" and dim.extent != 0
    )


def _part(extent: int | None, wanted: int) -> int:
    """All, if that is at most ``wanted``; else the power of two up to it."""
    return WHOLE if extent is not None and extent <= wanted else _power(wanted)


def _power(number: int) -> int:
    """The largest power of two up to ``number``."""
    return 1 << (max(number, 1).bit_length() - 1)


def _power_above(number: int) -> int:
    return 1 << (number - 1).bit_length()


def _bytes(domain: Domain, along: Dim | None = None) -> int:
    """The size of the widest element that the kernel reads or writes, along a dim if one is given."""
    sizes = [1]
    for nest in domain.nests:
        loops = domain.loops(nest)
        for access in (*nest.reads, *nest.writes):
            if access is None:
                continue
            if along is not None and not any(
                loops[loop] is along for index in access.indices for loop in index.loops
            ):
                continue
            sizes.append(_size(access))
    return max(sizes)


def _size(access: Access) -> int:
    """The bytes of an element."""
    kind = getattr(access.value.type, "element_type", None)
    return max(getattr(kind, "width", 64) // 8, 1) if kind is not None else 1
