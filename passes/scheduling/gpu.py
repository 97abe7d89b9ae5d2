"""Tile sizes and warps for GPUs: fixed choices, from the elements that one thread can hold.

A block of an element-wise kernel covers one to four 16-byte accesses a thread; a row that is reduced belongs
to one block, which gets as many warps as keep `ROW_THREAD_ELEMENTS` a thread; a contraction has a square of
the result, which shrinks until the chip's multiprocessors have a block each. Divided dims get powers of two,
so that lanes divide them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from ..costs.machine import DEFAULT_GPU, find_machine
from ..domain import Dim, Domain
from ..gpu.layouts.warps import MOST_BLOCKS, REGISTERS
from ..tiling import contraction, elementwise, fill, reduction, scan, slices, window
from ..tiling.access import Nest
from ..tiling.registry import SINGLE, WHOLE, rule_of
from .attention import attention_of
from .attention_blocks import Block as AttentionBlock
from .block_times import Estimate, Sized, compared
from .common import ROW, forced, keep_inside
from .gpu_attention import choose_block, plain_parts, shared_keys
from .gpu_lists import choose_lists
from .gpu_products import choose_contraction, choose_tensor_block, tensor_product
from .gpu_rows import are_few_rows, by_elements, choose_rows
from .gpu_shares import share_inputs, warps_with_weights
from .gpu_steps import hold_rows, lengthen_steps, registers_for_steps, short_steps
from .gpu_threads import (
    CONTRACTION_REGISTERS,
    MOST_RESULTS,
    MOST_WARPS,
    ROW_THREAD_ELEMENTS,
    THREAD_ELEMENTS,
    WARP,
    elements_for_rows,
    most_registers_for_rows,
    reduces,
    registers_for_rows,
    registers_of,
    results_of,
    should_wait_for_loads,
    warps_for,
    warps_of_rows,
    warps_with_accesses,
)
from .gpu_tiles import blocks_of, largest_tile, reduced_in_tiles
from .gpu_windows import warps_of_windows
from .tensor_blocks import SHARED
from .warpgroup_blocks import WarpgroupBlock

LARGEST_ROW = WARP * MOST_WARPS * 2 * THREAD_ELEMENTS
SCAN_WARPS = 16  # of blocks that wait for their own totals: several take turns on a multiprocessor
# Rows of any length: mlopt-gpu-chunk-rows runs through them.
_IN_STEPS = (elementwise, fill, reduction, scan, slices)


@dataclass(frozen=True)
class Choice:
    """The tile of each dim, the warps of a block, and the blocks that a multiprocessor should hold.

    ``stages``: the steps of a product whose factors are in shared memory at once. ``registers``: what a
    thread makes do with, and one of the kernel's twin. ``considered``: the blocks that were compared, and
    what each was predicted to take, this one first. ``tf32``: factors are rounded. ``most_registers``: what
    a thread may have where its blocks leave it more than it needs; 0: as many as they leave. ``beyond``: a
    product's last step reaches beyond its depth. ``listed``: the rows that are read at once where only those
    that count are read. ``consumers``: how often a block has its warps, each time with a tile of their own.
    ``parts``: of attention's keys, each a block's, and in words what that saves (``shared_keys``).
    ``wait_for_loads``: whether a thread waits for all that it loads before it computes.
    """

    tiles: dict[Dim, int]
    warps: int
    min_blocks: int
    stages: int = 1
    registers: tuple[int, ...] = ()
    considered: tuple[str, ...] = ()
    tf32: bool = False
    most_registers: int = 0
    beyond: bool = False
    listed: int = 0
    consumers: int = 1
    parts: int = 1
    shared_keys: str = ""
    wait_for_loads: bool = False


def problem(domain: Domain) -> str | None:
    """Why a block cannot run a task of this kernel, or None."""
    if _in_steps(domain):
        return None
    for nest in domain.nests:
        row = prod(dim.extent or 1 for dim in set(domain.loops(nest)) if dim.whole)
        if row > LARGEST_ROW:
            return f"a block would need {row} elements at once; it can hold {LARGEST_ROW}"
    return None


def choose(
    domain: Domain,
    machine: str = DEFAULT_GPU,
    shared: int = SHARED,
    tf32: bool = False,
    warpgroups: bool = False,
    candidate: int = 0,
) -> Choice:
    """Tiles, warps and residency of a kernel.

    ``machine``: the name of the description that decides; ``shared``: the bytes of a multiprocessor's memory;
    ``tf32``: whether tensor cores may round factors of f32; ``warpgroups``: whether the chip has wgmma;
    ``candidate``: of a product, not the block that is predicted to be the fastest, but so many after it.
    """
    heavy, attention = _heavy(domain), attention_of(domain)
    if heavy is None and attention is None:
        lists = choose_lists(domain, find_machine(machine))
        if lists is not None:
            return Choice(lists.tiles, lists.warps, lists.min_blocks, listed=lists.at_once)
    tiles, processors = forced(domain), find_machine(machine).processors
    found: Sequence[Estimate[Sized]] = ()
    if attention is not None:
        found = choose_block(domain, attention, tiles, machine, shared, warpgroups, candidate)
    elif heavy is not None:
        found = choose_tensor_block(domain, heavy, tiles, machine, shared, tf32, warpgroups, candidate)
        if not found:
            choose_contraction(domain, heavy, tiles)
    elif by_elements(domain, tiles):
        tiles |= dict.fromkeys((dim for dim in domain.dims if dim not in tiles), SINGLE)
    else:
        choose_rows(domain, tiles, processors)
    keep_inside(domain, tiles)
    tiles = {dim: tiles.get(dim, WHOLE) for dim in domain.dims}
    if not found:
        return _choose_threads(domain, tiles, processors)
    best = found[0]
    # Without tf32 there is a block only of what tensor cores multiply as it is.
    rounds = tf32 and attention is None and heavy is not None and tensor_product(domain, heavy) is None
    block = best.block
    return Choice(
        tiles, block.warps, best.least, block.stages, best.registers, compared(found), rounds,
        beyond=isinstance(block, WarpgroupBlock),
        consumers=block.consumers if isinstance(block, WarpgroupBlock) else 1,
        parts=block.parts if isinstance(block, AttentionBlock) else 1,
        shared_keys=shared_keys(found),
    )  # fmt: skip


def _heavy(domain: Domain) -> Nest | None:
    """The product of a kernel, its first."""
    return next((nest for nest in domain.nests if rule_of(nest) is contraction), None)


def _choose_threads(domain: Domain, tiles: dict[Dim, int], processors: int) -> Choice:
    """The warps of blocks that hold their tile in registers, and how many of these a multiprocessor has.

    What all blocks read becomes a longer tile of each, if one wave has them all.
    """
    hold_rows(domain, tiles)
    if _in_steps(domain) and blocks_of(domain, tiles) <= processors * MOST_BLOCKS:
        # Others take turns, and keep what they share.
        share_inputs(domain, tiles, processors)
    warps, many = _warps(domain, tiles, processors), results_of(domain) > MOST_RESULTS
    short = 0 if many else short_steps(domain, tiles, warps, processors)
    warps = short or warps
    # Windows and steps of a reduction are unrolled: what they load is on its way before the first is used.
    unrolled = any(rule_of(nest) is window for nest in domain.nests) or any(
        0 < tiles[dim] < (dim.extent or ROW) for dim in reduced_in_tiles(domain)
    )
    if many:  # no more warps than can have their registers: mlopt-gpu-chunk-rows fits tiles to them
        warps = min(warps, REGISTERS // (CONTRACTION_REGISTERS * WARP))
    rows, light = reduces(domain), _heavy(domain) is None and not unrolled and not many
    wanted = registers_for_rows if rows else registers_of
    if unrolled and short:
        wanted = registers_for_steps
    registers = wanted(domain, tiles, warps * WARP) if light or short else CONTRACTION_REGISTERS
    blocks = _blocks(registers, warps)
    most = most_registers_for_rows(registers, blocks * warps * WARP) if rows and light else 0
    if rows and light and all(dim.extent is not None for dim in domain.dims):
        # Few rows: what no block waits for is loaded first, too, if as many blocks fit as come to each.
        come = ceil(blocks_of(domain, tiles) / processors)
        roomy = _blocks(registers_for_rows(domain, tiles, warps * WARP, alike=True), warps)
        blocks = min(blocks, max(roomy, come))
    attention = attention_of(domain)
    parts = 1 if attention is None else plain_parts(domain, attention, tiles, processors)
    first = light and not rows and should_wait_for_loads(domain, tiles, warps * WARP)
    return Choice(tiles, warps, blocks, most_registers=most, parts=parts, wait_for_loads=first)


def _warps(domain: Domain, tiles: dict[Dim, int], processors: int) -> int:
    """The warps that a block's tile is for; steps of few blocks become longer."""
    covered = largest_tile(domain, tiles)
    most = elements_for_rows(domain, tiles) if reduces(domain) else THREAD_ELEMENTS
    warps = warps_for(covered, most)
    if covered <= WARP * ROW_THREAD_ELEMENTS and are_few_rows(domain, processors):
        warps = 1
    if _heavy(domain) is None and attention_of(domain) is None:
        if blocks_of(domain, tiles) <= processors:
            warps = max(warps, lengthen_steps(domain, tiles), warps_of_rows(domain, tiles))
        if _in_steps(domain) or reduced_in_tiles(domain):
            warps = min(warps, warps_with_accesses(domain, tiles))
    warps = min(warps, warps_of_windows(domain, tiles) or warps)
    if reduces(domain):
        warps = warps_with_weights(domain, tiles, warps)
    if any(rule_of(nest) is scan for nest in domain.nests):
        warps = min(warps, SCAN_WARPS)
    return warps


def _in_steps(domain: Domain) -> bool:
    """Whether rows may be of any length."""
    return all(rule_of(nest) in _IN_STEPS for nest in domain.nests)


def _blocks(registers: int, warps: int) -> int:
    """The blocks that a multiprocessor holds whose threads have so many registers."""
    return min(max(REGISTERS // (registers * warps * WARP), 1), MOST_BLOCKS)
