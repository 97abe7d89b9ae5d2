"""Blocks of matrix products for GPUs: a square of the result, and a step of the reduced dim.

On tensor cores the squares are larger, as the factors come through shared memory: a warp has up to 64 x 64
of the result, for which it reads 128 rows of a step.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..domain import Dim, Domain
from ..gpu.layouts.mma import instruction_for
from ..tiling import contraction
from ..tiling.access import Nest
from ..tiling.registry import SINGLE
from .gpu_threads import WARP
from .gpu_tiles import BLOCKS, ROW_ELEMENTS, blocks_of, part_of, power_above

CONTRACTION_SIDES = ((64, 64), (32, 64), (32, 32), (16, 32))
CONTRACTION_STEP = 8  # so that both factors of a step fit a thread beside its square
TENSOR_SIDES = ((128, 128), (64, 128), (64, 64), (32, 64), (16, 64), (16, 32))
STEP_BYTES = 64  # of a row of a factor, on tensor cores
TENSOR_WARPS = 4
STAGES = 4
FEW_SUMS = 32
MOST_REGISTERS = 255  # that a thread can have


def choose_contraction(domain: Domain, nest: Nest, tiles: dict[Dim, int]) -> None:
    """A square of the product, and a step of the reduced dim."""
    loops = domain.loops(nest)
    stepped = contraction.stepped_loop(nest)
    assert stepped is not None
    factor = tensor_bytes(domain, nest)
    for loop in nest.reductions:
        if loops[loop].kind == "reduction":
            wanted = STEP_BYTES // factor if factor is not None else CONTRACTION_STEP
            step = min(wanted, loops[loop].extent or wanted)
            tiles[loops[loop]] = step if loop == stepped else SINGLE
    for loop in contraction.batch_loops(nest):
        tiles.setdefault(loops[loop], SINGLE)  # each has factors of its own: nothing to share in a block
    if factor is not None:
        for side in _sides(nest):
            for loop in side[1:] if not any(loops[each].whole for each in side) else side:
                tiles.setdefault(loops[loop], SINGLE)
    lanes = loops[contraction.lane_loop(nest)]
    rows = [loops[loop] for loop in reversed(nest.parallels) if loops[loop] not in (lanes, *tiles)]
    free = dict(tiles)
    for high, wide in TENSOR_SIDES if factor is not None else CONTRACTION_SIDES:
        tiles.update(free)
        _choose_block(tiles, free, lanes, rows, high, wide)
        if blocks_of(domain, tiles) >= BLOCKS:
            return


def tensor_bytes(domain: Domain, nest: Nest) -> int | None:
    """The size of the factors' elements if tensor cores can multiply their tiles, else None.

    They can if no factor has two dims that a task owns, nor both one together, and the depth is known: else
    its steps are single elements.
    """
    stepped = contraction.stepped_loop(nest)
    if stepped is None or nest.extents[stepped] is None:
        return None
    types = contraction.factor_types(nest)
    found = instruction_for(types[0], contraction.total_type(nest)) if types[0] == types[1] else None
    owned = {loop for loop, dim in enumerate(domain.loops(nest)) if dim.whole and dim.extent != 1}
    if found is None or owned & contraction.batch_loops(nest):
        return None
    return found.element_bytes if all(len(owned & set(side)) < 2 for side in _sides(nest)) else None


def _sides(nest: Nest) -> tuple[list[int], list[int]]:
    """The parallel loops of more than one element that each factor has alone, the one to divide first."""
    lanes = contraction.lane_loop(nest)
    beside = contraction.strip_loops(nest)
    others = set(nest.parallels) - {lanes, *beside} - contraction.batch_loops(nest)
    wide = [loop for loop in reversed(nest.parallels) if nest.extents[loop] != 1]
    return [lanes, *(loop for loop in wide if loop in beside)], [loop for loop in wide if loop in others]


def tensor_registers(elements: int, warps: int) -> int:
    """What a thread needs for its part of so many sums, and for the factors of a step beside them."""
    sums = -(-elements // (warps * WARP))
    return 2 * max(sums, FEW_SUMS) if 2 * sums < MOST_REGISTERS else MOST_REGISTERS


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
