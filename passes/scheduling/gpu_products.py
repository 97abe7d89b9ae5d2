"""Blocks of matrix products for GPUs: a square of the result, and a step of the reduced dim."""

from __future__ import annotations

from collections.abc import Sequence

from ..domain import Dim, Domain
from ..tiling import contraction
from ..tiling.access import Nest
from ..tiling.registry import SINGLE
from .gpu_tiles import BLOCKS, ROW_ELEMENTS, blocks_of, part_of, power_above

CONTRACTION_SIDES = ((64, 64), (32, 64), (32, 32), (16, 32))
CONTRACTION_STEP = 8  # so that both factors of a step fit a thread beside its square


def choose_contraction(domain: Domain, nest: Nest, tiles: dict[Dim, int]) -> None:
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
        if blocks_of(domain, tiles) >= BLOCKS:
            return


def _choose_block(
    tiles: dict[Dim, int], free: dict[Dim, int], lanes: Dim, rows: Sequence[Dim], high: int, wide: int
) -> None:
    """``wide`` elements of the lanes' dim and ``high`` of the others, the innermost first."""
    if lanes not in free:
        tiles[lanes] = part_of(lanes.extent, wide)
    left = high if not lanes.whole else max(ROW_ELEMENTS // (lanes.extent or 1), 1)
    for dim in rows:
        tiles[dim] = part_of(dim.extent, left)
        left = max(left // power_above(tiles[dim] or dim.extent or 1), 1)
