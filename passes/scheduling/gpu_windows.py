"""The warps of a block whose windows overlap: a thread has rows below each other, which it loads once.

Of windows of 3x3 at every other place four results below each other are nine rows of eight; with two the
block asks for five of four.
"""

from __future__ import annotations

from itertools import product
from math import ceil, prod

from mlir import ir

from ..domain import Dim, Domain
from ..powers import power_above
from ..tiling import window
from ..tiling.access import Access, Index, Nest
from ..tiling.analysis import loops_in
from ..tiling.registry import SINGLE, rule_of
from .gpu_threads import WARP, WIDE
from .gpu_tiles import bytes_of, inputs_of, largest_tile

ROWS = 4  # of a thread, below each other


def warps_of_windows(domain: Domain, tiles: dict[Dim, int]) -> int | None:
    """The most warps whose threads have so many rows, of windows that overlap along both; else None."""
    found = [
        columns
        for nest, access in inputs_of(domain)
        if rule_of(nest) is window and (columns := _columns(domain, tiles, nest, access))
    ]
    if not found:
        return None
    return power_above(ceil(largest_tile(domain, tiles) / (WARP * max(found) * ROWS)))


def _columns(domain: Domain, tiles: dict[Dim, int], nest: Nest, access: Access) -> int:
    """The results of a row whose windows begin in one access; 0 if windows do not overlap along both dims."""
    shape = list(ir.ShapedType(access.value.type).shape)
    places = [at for at, index in enumerate(access.indices) if _tiled(domain, tiles, nest, index)]
    if len(places) < 2 or ir.ShapedType.get_dynamic_size() in shape:
        return 0
    above, along = places[-2:]
    step, wide = prod(shape[along + 1 :]), WIDE // bytes_of(access)
    size = prod(tiles[dim] or dim.extent or 1 for dim in _tiled(domain, tiles, nest, access.indices[along]))
    if step >= wide or wide % step or shape[along] * step % wide or size * step % wide:
        return 0
    if access.indices[along].padded and shape[along] % size:
        return 0
    both = all(_overlaps(nest, access.indices[at]) for at in (above, along))
    return wide // step if both else 0


def _tiled(domain: Domain, tiles: dict[Dim, int], nest: Nest, index: Index) -> list[Dim]:
    """The dims along an index of which a tile has more than one element."""
    dims = [domain.loops(nest)[loop] for loop in index.loops]
    return [dim for dim in dims if tiles[dim] != SINGLE]


def _overlaps(nest: Nest, index: Index) -> bool:
    """Whether windows reach beyond the place where the next one begins."""
    inside = [loop for loop in index.loops if nest.kinds[loop] == "reduction"]
    if index.rest is None or inside:
        return any((nest.extents[loop] or 0) > 1 for loop in inside)
    loops = sorted(loops_in(index.rest))
    at = [ir.AffineConstantExpr.get(0)] * len(nest.kinds)
    found = set[int]()
    for numbers in product(*(range(nest.extents[loop] or 0) for loop in loops)):
        for loop, number in zip(loops, numbers, strict=True):
            at[loop] = ir.AffineConstantExpr.get(number)
        place = index.rest.compose(ir.AffineMap.get(0, 0, at))
        found.add(ir.AffineConstantExpr(place).value)
    return len(found) > 1
