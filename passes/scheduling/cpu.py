"""Tile sizes for CPUs.

A task of an element-wise or row kernel covers about 32 KB of its largest tensor; of a contraction, a block
whose factor panel fits L2; of a convolution, 64 channels of some rows. How much that is, `Sizes` says; there
are a few of them to try (`CANDIDATES`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod

from ..domain import Dim, Domain
from ..tiling import contraction, reduction, scan
from ..tiling.access import Nest
from ..tiling.registry import SINGLE, WHOLE, rule_of
from ..tiling.stages import is_bounded, scratch_of
from ..tiling.walks import columns_of, kept_bytes
from .attention import Block, attention_of, choose_attention
from .common import TASKS, forced, innermost_dims, keep_inside, memory_order, products_at_once
from .cpu_scans import scans_problem
from .transposed import transposed_sides

LANES = 64  # the widest strip of registers, in f32
WIDE_BITS = 512  # of registers, of which there are 32; of others there are 16
LARGEST_ROW = 1 << 14
# Columns that are summed, at most, and tasks if there are enough: a Zen 4 core reads 4 KB a row at 18 GB/s
# and more, 1 KB at 13, 256 B at 9.
COLUMNS = 1024
COLUMN_TASKS = 4
TOTAL_TASKS = 256  # about as many at most, where each adds up the parts of a total
UNKNOWN_ROWS = 128  # of one with dynamic rows: if there is a single one, it should not wait for a panel
FEWEST_ROWS = 32
# Filling a panel takes as long as so many rows of the product: 0.25 ns an element on a Zen 4 core (of 3072 by
# 64), which makes 58 multiply-adds in a ns.
PANEL_ROWS = 15
SCRATCH = 256 * 1024  # bytes of a task's stages, in L2 beside the weights of a block of channels
STREAMED = 12 * 1024  # bytes aimed at where each element serves a few others only: L1 holds it between them
STAGED_PIXELS = 4  # times as many pixels of a convolution with a stage


@dataclass(frozen=True)
class Strip:
    """The columns of a product's task of one strip, the rows of its register tile, an element's ``time``."""

    columns: int
    rows: int
    time: float = 1.0


# Four registers of 512 bits by four rows, or three by eight if that is quicker.
WIDE_STRIPS = (Strip(LANES, 4), Strip(LANES // 4 * 3, 8))
# With 16 registers of 256 bits, twelve sums of three registers by four rows need the fewest loads of a shape
# (`strips/register_tiles.py`); twice its columns a task: 1024^3 on a Zen 3 core 67 GFLOP/s, 2 by 6 registers
# of 64 columns 56 to 58, 2 by 4 59, eager 63, in one run.
NARROW_STRIPS = (Strip(LANES // 4 * 3, 4), Strip(LANES, 6, 1.15))


@dataclass(frozen=True)
class Sizes:
    """How much a task has.

    ``elements`` of an element-wise kernel; of a matrix product ``rows`` at most, and ``panel`` elements of
    the factor that is kept in L2, in ``strips``; ``pixels`` of a convolution, whose packed weights have
    ``window_lanes`` a strip; a block of ``attention``.
    """

    elements: int = 8192
    rows: int = 1024
    panel: int = 1 << 16
    pixels: int = 64
    # 16 KB each of queries, scores and sums
    attention: Block = field(default=Block(rows=(64, 48, 32), keys=64, step=0))
    strips: tuple[Strip, ...] = WIDE_STRIPS
    window_lanes: int = LANES


# The first is the cost model's choice; `tune=True` measures the others beside it.
CANDIDATES = (
    Sizes(),
    Sizes(2048, 128, 1 << 15, 32, Block(rows=(32,), keys=64, step=0)),
    Sizes(4096, 256, 1 << 17, 128, Block(rows=(64, 48, 32), keys=128, step=0)),
    Sizes(16384, 64, 1 << 16, 16, Block(rows=(96, 64), keys=64, step=0)),
    Sizes(32768, 512, 1 << 18, 256, Block(rows=(128, 64), keys=32, step=0)),
)


def sizes_for(vector_bits: int, candidate: int) -> Sizes:
    """The sizes of a ``candidate`` on a CPU with such registers."""
    strips = WIDE_STRIPS if vector_bits >= WIDE_BITS else NARROW_STRIPS
    return replace(CANDIDATES[candidate], strips=strips, window_lanes=window_lanes(vector_bits))


def window_lanes(vector_bits: int) -> int:
    """The columns of a strip of a window's packed weights, in f32: those of a register tile."""
    return LANES if vector_bits >= WIDE_BITS else 2 * vector_bits // 32


def choose_tiles(domain: Domain, tasks: int, sizes: Sizes = CANDIDATES[0]) -> dict[Dim, int]:
    """The tile size of each dim."""
    if not domain.stages:
        return _choose(domain, tasks, sizes)
    tiles: dict[Dim, int] = {}
    # Tiles of more rows have less of the rows around them computed twice.
    for times in (STAGED_PIXELS, STAGED_PIXELS // 2, 1, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32):
        pixels, elements = ceil(sizes.pixels * times), ceil(sizes.elements * min(times, 1))
        tiles = _choose(domain, tasks, replace(sizes, pixels=pixels, elements=elements))
        enough = times <= 1 or _count(domain, tiles) >= tasks // 2
        if enough and scratch_of(domain, tiles) <= (STREAMED if _is_streamed(domain) else SCRATCH):
            break
    return tiles


def _is_streamed(domain: Domain) -> bool:
    """Whether each element of a stage is used for one channel alone."""
    return all(rule_of(stage.reader) is not contraction for stage in domain.stages.values())


def stages_problem(domain: Domain) -> str | None:
    """Why a task has no room for what its windows or columns need ahead; None if it has, or needs none."""
    if not all(is_bounded(stage) for stage in domain.stages.values()):
        return "how much a task would compute ahead of its window is not known"
    needed = scratch_of(domain, choose_tiles(domain, TASKS)) if domain.stages else 0
    if needed > SCRATCH:
        return f"what a window reads would take {needed} bytes of a task's scratch, {SCRATCH} are allowed"
    kept = kept_bytes(domain, choose_tiles(domain, TASKS)) if columns_of(domain) else 0
    if kept > SCRATCH:
        return f"what columns need ahead would take {kept} bytes of a task's scratch, {SCRATCH} are allowed"
    return None


def problem(domain: Domain) -> str | None:
    """Why no task can be made of the loops of a kernel, or None."""
    return stages_problem(domain) or scans_problem(domain)


def _choose(domain: Domain, tasks: int, sizes: Sizes) -> dict[Dim, int]:
    tiles = forced(domain)
    heavy = next((nest for nest in domain.nests if rule_of(nest) is contraction), None)
    attention = attention_of(domain)
    if attention is not None:
        choose_attention(domain, attention, tiles, sizes.attention, tasks)
    elif heavy is None:
        _choose_rows(domain, tiles, tasks, sizes.elements)
    else:
        _choose_contraction(domain, heavy, tiles, tasks, sizes)
    keep_inside(domain, tiles)
    return {dim: tiles.get(dim, 0) for dim in domain.dims}


def _choose_rows(domain: Domain, tiles: dict[Dim, int], tasks: int, budget: int) -> None:
    """Fill a task's ``budget`` of elements along the largest tensor's memory, innermost dim first."""
    memory = memory_order(domain)
    inner = innermost_dims(domain)
    total = prod(dim.extent or LANES for dim in memory if tiles.get(dim) != SINGLE)
    budget = min(budget, max(total // tasks, budget // 4))
    if _has_totals(domain):
        budget = max(budget, total // TOTAL_TASKS)
    if any(dim.walked for dim in domain.dims):
        # Steps along a row lie around the strips of a tile: what a row needs before is made in its own task.
        for dim in columns_of(domain)[-1:]:
            tiles.setdefault(dim, _lanes(dim.extent, _strips_of_columns(dim.extent or COLUMNS) * LANES))
        tiles |= dict.fromkeys((dim for dim in domain.dims if dim not in tiles), SINGLE)
    if memory and tiles.get(memory[0]) == SINGLE and not any(nest.reductions for nest in domain.nests):
        # Lanes along another dim would be rows apart: the loop over tasks has the lanes.
        tiles |= dict.fromkeys((dim for dim in domain.dims if dim not in tiles), SINGLE)
    used = prod(dim.extent or 1 for dim in memory if tiles.get(dim) == WHOLE)
    sides = transposed_sides(domain, {dim for dim in inner if dim not in tiles}, budget // used)
    for dim in (*memory, *(dim for dim in domain.dims if dim not in memory)):
        if dim in tiles:
            continue
        if dim in sides:
            tiles[dim] = _lanes(dim.extent, sides[dim])
            used *= tiles[dim] or dim.extent or 1
            continue
        if dim is memory[0]:
            row = dim.extent or LARGEST_ROW
            fits = dim.extent is not None and used * row <= LARGEST_ROW
            wanted = _columns(domain, dim) or budget // used // LANES
            tiles[dim] = WHOLE if fits else _lanes(dim.extent, LANES * max(wanted, 1))
            used *= tiles[dim] or row
            continue
        tiles[dim] = _near(dim.extent, max(budget // used, 1))
        used *= tiles[dim] or dim.extent or 1


def _has_totals(domain: Domain) -> bool:
    """Whether each task adds up what makes a number that all of them read."""
    return any(nest.reductions and not nest.parallels for nest in domain.nests)


def _columns(domain: Domain, dim: Dim) -> int | None:
    """How many columns, in strips, a task should have of rows that are summed or scanned; else None."""
    reducing = [nest for nest in domain.nests if nest.reductions]
    rules = {rule_of(nest) for nest in reducing}
    summed = [each for each in domain.dims if each.kind == "reduction" and each.extent != 1]
    if (rules != {scan} and (rules != {reduction} or not summed)) or dim.extent is None:
        return None
    if len(reducing) > 1 and any(_is_dear(domain, nest) for nest in domain.nests):
        return None  # strips keep what is dear from one reduction to the next
    for nest in reducing:
        loops = domain.loops(nest)
        if dim not in [loops[loop] for loop in nest.parallels]:
            return None  # of what reads a total
    apart = (each for each in domain.dims if each.kind != "reduction" and not each.whole and each != dim)
    others = prod(each.extent or 1 for each in apart)
    return _strips_of_columns(dim.extent * others)


def _is_dear(domain: Domain, nest: Nest) -> bool:
    """Whether exp and the like are computed in each row of columns."""
    has_math = nest.body is not None and any(
        op.operation.name.startswith("math.") for op in nest.body.operations
    )
    return has_math and any(dim.whole or dim.kind == "reduction" for dim in domain.loops(nest))


def _strips_of_columns(columns: int) -> int:
    """How many strips of ``columns`` a task should have: few, but rows of some length."""
    return ceil(min(max(columns // COLUMN_TASKS, LANES), COLUMNS) / LANES)


def _choose_contraction(domain: Domain, nest: Nest, tiles: dict[Dim, int], tasks: int, sizes: Sizes) -> None:
    """A block of the product: lanes first, then rows; the reduced dim in steps of 8 or 4."""
    loops = domain.loops(nest)
    stepped = contraction.stepped_loop(nest)
    assert stepped is not None
    windows = [loop for loop in nest.reductions if loop != stepped]
    for loop in windows:
        if loops[loop].kind == "reduction":
            tiles[loops[loop]] = SINGLE
    if loops[stepped].kind == "reduction":
        tiles[loops[stepped]] = _step(loops[stepped].extent, 4 if windows else 8)
    lanes = loops[contraction.lane_loop(nest)]
    reduced = prod(loops[loop].extent or LANES for loop in nest.reductions)
    at_once = products_at_once(domain)
    if lanes not in tiles:
        strip = LANES if windows else sizes.strips[0].columns
        wanted = strip if windows else strip * max(sizes.panel // max(reduced * at_once, 1) // strip, 1)
        if wanted == strip and not windows:
            shared = contraction.strip_loops(nest) | contraction.batch_loops(nest)
            own = [loops[loop] for loop in nest.parallels if loop not in shared and loops[loop] != lanes]
            height = min(prod(dim.extent or UNKNOWN_ROWS for dim in own), sizes.rows)
            wanted = _strip(lanes.extent, height, sizes.strips)
            if at_once > 1 and height >= FEWEST_ROWS and _is_wide(nest):
                wanted = max(wanted // at_once, LANES // 4)  # as many tasks, and panels of as many bytes
        tiles[lanes] = _lanes(lanes.extent, wanted)
    packed = sizes.window_lanes if windows else LANES
    if lanes.extent == packed:  # perhaps packed weights: what the next strip reads lies elsewhere
        for loop in contraction.strip_loops(nest):
            tiles.setdefault(loops[loop], SINGLE)
    for loop in contraction.batch_loops(nest):
        tiles.setdefault(loops[loop], SINGLE)  # each has factors of its own: nothing to share in a task
    rows = [loops[loop] for loop in reversed(nest.parallels) if loops[loop] not in tiles]
    left = sizes.pixels * (LANES // packed) if windows else sizes.rows
    if lanes.whole and lanes.extent is not None:  # the block is rows that are reduced, too
        left = max(sizes.elements // lanes.extent, 8)
    for dim in rows:
        if windows and dim is rows[0] and dim.extent is not None and dim.extent <= 2 * left:
            tiles[dim] = WHOLE
        else:
            tiles[dim] = _near(dim.extent, max(left, 1)) if windows else _rows(dim.extent, max(left, 1))
        left //= tiles[dim] or dim.extent or 1
    if not lanes.whole:
        now = tiles[lanes] or lanes.extent or LANES
        while _count(domain, tiles) < tasks and now > LANES:
            tiles[lanes] = now = LANES * ceil(now / LANES / 2)
    if not domain.stages:
        # A window's strips lie along its columns, the first of its rows: fewer of them are shorter ones.
        halves = dict.fromkeys(reversed(rows[1:]), (1, 1)) if windows else {}
        halves |= {dim: (FEWEST_ROWS, 4) for dim in rows if dim not in halves}
        _split_rows(domain, halves, tiles, 0 if windows else PANEL_ROWS, max(tasks // 2, 1))


def _is_wide(nest: Nest) -> bool:
    """Whether a product's factors have elements of four bytes or more."""
    return all(kind.width >= 32 for kind in contraction.factor_types(nest))


def _split_rows(
    domain: Domain, halves: Mapping[Dim, tuple[int, int]], tiles: dict[Dim, int], start: int, processors: int
) -> None:
    """Halve the block where ``processors`` gain more by it than one loses, until each of them has two.

    ``halves``: the dims to halve, the first that has more than so many elements, to a multiple of so many. A
    block takes as long as its rows and ``start`` more, for what they share. Nobody knows the number of
    processors here: the product of one's and many's time is the least. A dynamic dim is taken for so few rows
    that it is halved while there are too few tasks. A window's rows are halved before its columns: 48
    channels of 35x35 by 5x5 on a Zen 3 core 1.8 ms, 2.9 with columns halved.
    """
    size = {dim: tiles[dim] or dim.extent or 1 for dim in halves}
    best, least = dict(tiles), None
    while True:
        count = _count(domain, tiles)
        block = prod(size.values()) + start
        time = count * ceil(count / processors) * block**2
        if least is None or time < least or (time == least and start):
            best, least = dict(tiles), time
        split = next((dim for dim, (fewest, _) in halves.items() if size[dim] > fewest), None)
        if split is None or count >= 2 * processors:
            break
        step = halves[split][1]
        tiles[split] = size[split] = step * ceil(size[split] / (2 * step))
    tiles.update(best)


def _count(domain: Domain, tiles: dict[Dim, int]) -> int:
    """The tasks of a kernel."""
    return prod(
        ceil((dim.extent or FEWEST_ROWS) / (tiles.get(dim, 0) or dim.extent or 1))
        for dim in domain.dims
        if dim.kind == "parallel" and dim.extent != 0
    )


def _step(extent: int | None, wanted: int) -> int:
    """A step that divides the extent, close to ``wanted``; else ``wanted`` and a shorter last one."""
    if extent is None:
        return SINGLE
    return next((step for step in (wanted, wanted // 2) if extent % step == 0), min(wanted, extent or 1))


def _rows(extent: int | None, wanted: int) -> int:
    """About ``wanted`` rows: even parts, in whole register tiles of 8."""
    if extent is not None and extent <= wanted:
        return WHOLE
    if extent is None or wanted < 8:
        return min(wanted, UNKNOWN_ROWS)
    return 8 * ceil(extent / ceil(extent / wanted) / 8)


def _strip(extent: int | None, rows: int, strips: Sequence[Strip]) -> int:
    """The columns of a task of one strip: the first of ``strips``, or another one if that is quicker.

    A strip takes as long as its register tiles, also what is empty of the last ones, and the panel that it
    fills, whose rows are in other pages however short they are. (300x700x130: 96 GFLOP/s for 69.)
    """
    if extent is None:
        return strips[0].columns

    def time(strip: Strip) -> float:
        tiles = strip.columns * strip.rows * ceil(rows / strip.rows) * strip.time
        return ceil(extent / strip.columns) * (tiles + LANES * PANEL_ROWS)

    return min(strips, key=time).columns


def _lanes(extent: int | None, wanted: int) -> int:
    """``wanted``, full strips of registers, or all if that is less."""
    return WHOLE if extent is not None and extent <= wanted else wanted


def _near(extent: int | None, wanted: int) -> int:
    """About ``wanted`` elements: all, or a divisor if one is close, else even parts."""
    if extent is None:
        return wanted
    if extent <= wanted:
        return WHOLE
    divisor = next((size for size in range(wanted, wanted // 2, -1) if extent % size == 0), None)
    return divisor or ceil(extent / ceil(extent / wanted))
