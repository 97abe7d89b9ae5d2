"""The warps of a block, and the registers that a thread should have, from the tiles of a GPU kernel."""

from __future__ import annotations

from math import ceil, prod

from mlir import ir

from ..domain import Dim, Domain
from ..tiling import elementwise
from ..tiling.registry import rule_of
from .common import ROW
from .gpu_tiles import bytes_of, elements_of, largest_tile, power_above, widest_bytes

WARP = 32
FEWEST_WARPS, MOST_WARPS = 4, 32
THREAD_ELEMENTS = 32  # that a thread holds of the largest tile
WIDE = 16  # bytes an access
WORD = 4  # bytes a register
CONTRACTION_REGISTERS, OTHER_REGISTERS = 128, 64  # that a thread may have
MOST_RESULTS = 8  # of the others: more have so many addresses and constants that some would spill
FEWEST_REGISTERS = 32  # with which a multiprocessor holds all its warps
PLACES = 8  # registers with addresses and the like


def registers_of(domain: Domain, tiles: dict[Dim, int], threads: int) -> int:
    """The registers that a thread of an element-wise kernel needs: for its loads first, then to compute.

    Elements are counted twice then, as what is computed and what comes next of it. With more registers ptxas
    works on more elements at once, while fewer blocks wait for memory. Of other kernels, and of single
    elements, whose bodies have any size, they are as many as there are.
    """
    covered = largest_tile(domain, tiles)
    if covered <= threads or any(rule_of(nest) is not elementwise for nest in domain.nests):
        return OTHER_REGISTERS
    loaded: dict[ir.Value, int] = {}
    for nest in domain.nests:
        for access in nest.reads:
            if access is not None and domain.writer(access.value) is None:
                loops = {loop for index in access.indices for loop in index.loops}
                words = -(-elements_of(domain, nest, loops, tiles) * bytes_of(access) // (WORD * threads))
                loaded[access.value] = max(loaded.get(access.value, 0), words)
    computed = -(-covered // threads) * max(widest_bytes(domain) // WORD, 1)
    return min(max(sum(loaded.values()), 2 * computed, FEWEST_REGISTERS - PLACES) + PLACES, OTHER_REGISTERS)


def warps_for(elements: int) -> int:
    """The warps whose threads hold at most `THREAD_ELEMENTS` of as many, where so many warps may be."""
    warps = FEWEST_WARPS
    while warps < MOST_WARPS and elements > warps * WARP * THREAD_ELEMENTS:
        warps *= 2
    return warps


def warps_with_accesses(domain: Domain, tiles: dict[Dim, int]) -> int:
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
    return power_above(ceil(most / (WIDE * WARP)))


def results_of(domain: Domain) -> int:
    """How many tensors a task writes that others read."""
    written = [access.value for nest in domain.nests for access in nest.writes]
    return sum(_leaves(domain, value) for value in written)


def _leaves(domain: Domain, value: ir.Value) -> bool:
    """Whether what is outside of the kernel's loops uses a value."""
    ops = {nest.op for nest in domain.nests}
    return any(use.owner.operation not in ops for use in value.uses)
