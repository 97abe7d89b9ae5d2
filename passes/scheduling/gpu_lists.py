"""Blocks that list the hits among all indices, and read nothing else of what is added up (`tiling/hits.py`).

A block has some columns of a few rows of the result, and a warp for each 32 wide accesses to these: a
thread holds its columns of all rows in registers, since nobody knows which row the next hit adds to, and no
two warps read the same, unless rows are narrow. Of blocks that keep all multiprocessors busy those that ask
for the least: fewer blocks scan the indices less often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from ..costs.machine import Machine
from ..domain import Dim, Domain
from ..gpu.layouts.warps import MOST_BLOCKS, REGISTER_STEP, REGISTERS
from ..powers import power_above, power_below
from ..tiling import elementwise, fill, reduction, slices
from ..tiling.hits import Hits, find_hits
from ..tiling.listed import MOST
from ..tiling.registry import WHOLE, rule_of, stepped_dims
from .common import forced, memory_order
from .gpu_shares import NEARLY_ALL
from .gpu_threads import WARP, WIDE, WORD
from .gpu_tiles import blocks_of, bytes_of, in_memory, part_of

WARPS = 4  # of a block, at most
SCANNED = 8  # indices of a thread in a step
AT_ONCE = 4  # hits whose rows are on their way together
HELD = 32  # registers of a thread for its elements of the result, at most
OTHERS = 32  # for addresses, indices and what is computed
WAIT = 0.5e-6  # seconds until what is read is there, an estimate: 500 cycles and more from memory
PAIR = 4  # instructions for a pair of an index and a row, and each element: two to compare, a select, an add
_RULES = (elementwise, fill, reduction, slices)


@dataclass(frozen=True)
class Lists:
    """The tile of each dim, the warps of a block, and the blocks that a multiprocessor should hold."""

    tiles: dict[Dim, int]
    warps: int
    min_blocks: int
    at_once: int


def choose_lists(domain: Domain, machine: Machine) -> Lists | None:
    """How blocks list what counts, if that is faster than to read everything; None: there is no such sum."""
    found = can_list(domain)
    if found is None:
        return None
    lists = _lists(domain, found, machine)
    return lists if should_list(domain, found, lists, machine) else None


def can_list(domain: Domain) -> Hits | None:
    """The hits of a kernel that sums up rows of known numbers, and does nothing but element-wise work beside.

    Several sums must be of the same rows and indices.
    """
    if domain.stages or stepped_dims(domain):
        return None
    if any(rule_of(nest) not in _RULES or nest.onto is not None for nest in domain.nests):
        return None
    sums = [find_hits(domain, nest) for nest in domain.nests if nest.reductions]
    hits = [each for each in sums if each is not None]
    if not hits or len(hits) < len(sums) or len({(each.rows, each.along) for each in hits}) > 1:
        return None
    first, dims = hits[0], [dim for dim in domain.dims if dim.extent != 1]
    if any(dim.whole or not dim.extent for dim in dims):
        return None
    free = [dim for dim in dims if dim.kind == "parallel"]
    if any(dim in forced(domain) for dim in free) or {*free, first.along} != {*dims}:
        return None
    has_columns = len(free) > 1 and memory_order(domain)[0] != first.rows
    return first if first.rows in free and has_columns else None


def should_list(domain: Domain, hits: Hits, lists: Lists, machine: Machine) -> bool:
    """Whether the blocks are through before all pairs would be compared, if indices are spread evenly."""
    indices, rows = hits.along.extent or 1, hits.rows.extent or 1
    elements = prod(dim.extent or 1 for dim in domain.dims if dim.kind == "parallel")
    pairs = PAIR * indices * elements / (machine.vector["f32"] / 2)
    blocks = blocks_of(domain, lists.tiles)
    turns = ceil(blocks / (machine.processors * lists.min_blocks))
    own = indices * (lists.tiles[hits.rows] or rows) / rows
    scans = ceil(indices / (lists.tiles[hits.along] or indices))
    waiting = turns * WAIT * (2 * scans + ceil(own / AT_ONCE))
    return max(waiting, _scanned(domain, hits, lists.tiles) / machine.cache_bandwidth) < pairs


def _lists(domain: Domain, hits: Hits, machine: Machine) -> Lists:
    """Columns first, along memory; then of rows and warps those with which the least is asked for."""
    tiles: dict[Dim, int] = dict.fromkeys(domain.dims, WHOLE)
    size = _element_bytes(domain, hits)
    wide, words = max(WIDE // size, 1), max(size // WORD, 1)
    columns, left = 1, WARPS * WARP * wide
    for dim in _columns(domain, hits):
        tiles[dim] = _part(dim.extent or 1, left)
        own = power_above(tiles[dim] or dim.extent or 1)
        columns, left = columns * own, max(left // own, 1)
    fewest = max(columns // (WARP * wide), 1)
    found = []
    for warps in (fewest * by for by in (1, 2, 4) if fewest * by <= WARPS):
        each = max(warps * WARP * wide // columns, 1)  # rows for which threads have an access each
        step = part_of(hits.along.extent, min(warps * WARP * SCANNED, MOST))
        for held in (by for by in (1, 2, 4, 8) if by * wide * words <= HELD):
            rows = part_of(hits.rows.extent, min(each * held, MOST))
            made = {**tiles, hits.along: step, hits.rows: rows}
            registers = (3 * held + AT_ONCE) * wide * words + OTHERS
            registers = ceil(registers / REGISTER_STEP) * REGISTER_STEP
            blocks = min(max(REGISTERS // (registers * warps * WARP), 1), MOST_BLOCKS)
            found.append((Lists(made, warps, blocks, AT_ONCE), warps // fewest))

    wanted = int(NEARLY_ALL * machine.processors)

    def asked(one: tuple[Lists, int]) -> tuple[int, int]:
        """How many blocks are missing, then the bytes of all indices, and of rows, which warps read each."""
        lists, copies = one
        return (
            max(wanted - blocks_of(domain, lists.tiles), 0),
            _scanned(domain, hits, lists.tiles) + copies * _added(domain, hits),
        )

    return min(found, key=asked)[0]


def _columns(domain: Domain, hits: Hits) -> Sequence[Dim]:
    """The dims of a row, the innermost of memory first."""
    order = memory_order(domain)
    order += [dim for dim in domain.dims if dim not in order]
    return [dim for dim in order if dim.kind == "parallel" and dim != hits.rows and dim.extent != 1]


def _part(extent: int, most: int) -> int:
    """All, or a power of two: one that divides the extent, if there is one that is not much smaller."""
    if extent <= most:
        return WHOLE
    largest = power_below(most)
    divisor = extent & -extent
    return min(divisor, largest) if 4 * divisor >= largest else largest


def _scanned(domain: Domain, hits: Hits, tiles: dict[Dim, int]) -> int:
    """The bytes of indices that all blocks ask for."""
    return blocks_of(domain, tiles) * (hits.along.extent or 1) * int(hits.index.type.width) // 8


def _added(domain: Domain, hits: Hits) -> int:
    """The bytes of all rows that are added up."""
    columns = prod(dim.extent or 1 for dim in _columns(domain, hits))
    return columns * _element_bytes(domain, hits) * (hits.along.extent or 1)


def _element_bytes(domain: Domain, hits: Hits) -> int:
    """The size of the widest element of a row, in memory."""
    columns = {*_columns(domain, hits)}
    return max(
        bytes_of(access)
        for nest, access in in_memory(domain)
        if columns & {domain.loops(nest)[loop] for index in access.indices for loop in index.loops}
    )
