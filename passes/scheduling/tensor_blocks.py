"""Blocks of products on tensor cores: those that there can be (`block_times.py` has how long each takes).

A block makes ``rows`` x ``columns`` of the result in steps along the depth; its warps share that in parts
that are as square as can be, and the factors of ``stages`` steps are in shared memory at once. A block is
possible if a thread's sums, its factors of an instruction and its addresses fit its registers, and the ring
fits shared memory. How many of them a multiprocessor holds follows from both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod

from ..costs.machine import Machine
from ..gpu.layouts.instructions import COLUMNS, ROWS, warp_grid
from ..gpu.layouts.warps import HELD_WARPS, MOST_REGISTERS, REGISTER_STEP, REGISTERS, RESERVED

WARP = 32
SHARED = 164 * 1024  # bytes of a multiprocessor, of compute capability 8.0
ADDRESSES = 36  # registers for places, counters and what is on its way, as ptxas has them
FEWEST_ADDRESSES = 24  # the same, if it is told to have no more
PLACES = 8  # more of them, of windows and rows that run along several dims: each has an end
DEPTH_BYTES = 32  # of a row of a factor, that an instruction multiplies
PRESSED_ADDRESSES = 8  # the same where elements pass through registers, and several blocks share them
TWIN = 0.75  # the same of a twin, whose elements pass in turns
WORD = 4
SECTOR = 32  # bytes of memory and of the L2 cache that come at once
FLOAT8 = "f8"  # as machines call both formats

_SIDES = (16, 32, 64, 128, 256)
MOST_ROWS = _SIDES[-1]
_STEP_BYTES = (64, 128)  # of a row of a factor: whole sectors, and lines
_WARPS = (4, 8)
_MORE_WARPS = (16,)  # where a block must have whole rows or columns
_STAGES = (2, 3, 4, 8)


@dataclass(frozen=True)
class Product:
    """``count`` products of rows x depth and depth x columns, each added up ``around`` times.

    ``kind``: the factors' type as machines call it, ``bytes``: of an element. ``result_bytes``: what an
    element of the result costs to write, and to read of what is done to it. ``loose``: factors come through
    registers, element by element, in the step that multiplies them. ``sums``: so many tiles of results at
    once, of products side by side, which count ``around``, too. ``turned``: whether in memory the factor of
    the rows, and that of the columns, runs along these rather than along the depth. ``narrow``: the bytes of
    an element of the columns' factor in memory, where it is widened on its way; 0: it is not. ``staged``:
    those of an element of a result that comes through shared memory to be stored, ``exchanged``: of what is
    read beside the factors and comes through it; 0 if nothing does. ``behind``: the seconds of all processors
    for what is computed of an element of the result. ``goes_on``: whether blocks may make other results, too,
    as nothing comes behind the product but what is done element by element.
    """

    rows: int
    columns: int
    depth: int
    count: int
    kind: str
    bytes: int
    result_bytes: int
    loose: bool = False
    around: int = 1
    sums: int = 1
    turned: tuple[bool, bool] = (False, False)
    narrow: int = 0
    extents: tuple[int, ...] = ()
    staged: int = 0
    exchanged: int = 0
    behind: float = 0.0
    goes_on: bool = False

    @property
    def saved(self) -> int:
        """Bytes of an element of the columns' factor that no memory has."""
        return self.bytes - (self.narrow or self.bytes)


@dataclass(frozen=True)
class Block:
    """What a block makes, and with what."""

    rows: int
    columns: int
    step: int
    warps: int
    stages: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}x{self.step}, {self.warps} warps, {self.stages} stages"

    @property
    def size(self) -> tuple[int, int]:
        """What blocks are told apart by."""
        return self.rows, self.columns

    @property
    def all_warps(self) -> int:
        """Those that multiply, also other tiles of a block at the same time."""
        return self.warps

    @property
    def alternates(self) -> bool:
        """Whether what comes behind the product of a tile is done while the next one's is made."""
        return False

    @property
    def part(self) -> tuple[int, int]:
        """The rows and columns of a warp."""
        high, wide = ceil(self.rows / ROWS), ceil(self.columns / COLUMNS)
        below = warp_grid(high, wide, self.warps)
        return ROWS * ceil(high / below), COLUMNS * ceil(wide * below / self.warps)

    def registers(self, product: Product, aligned: bool = True, addresses: int = ADDRESSES) -> int:
        """What a thread needs: sums, factors of an instruction's depth, addresses, what passes through it.

        Of aligned factors nothing does, but in the kernel's twin for unaligned ones, and of bytes that lie
        across a depth of which some are beyond the last whole instruction.
        """
        high, wide = self.part
        sums = product.sums * high * wide / WARP
        factors = (high + wide) * DEPTH_BYTES / (WORD * WARP)
        passing = (self.rows + self.columns) * self.step / (self.warps * WARP)
        across = product.bytes == 1 and any(product.turned) and product.depth % DEPTH_BYTES > 0
        each = 1 if product.loose else TWIN if across or not aligned else 0
        addresses = PRESSED_ADDRESSES if product.loose else addresses
        places = PLACES if product.extents or product.around > product.sums else 0
        needed = sums + factors + addresses + places + each * passing
        return ceil(needed / REGISTER_STEP) * REGISTER_STEP

    @property
    def ahead(self) -> int:
        """The steps that are on their way."""
        return max(self.stages - 1, 1)

    def peak(self, product: Product, machine: Machine) -> float:
        """What the machine's tensor cores do in a second, of products of single warps."""
        return machine.matrix[product.kind] * machine.warp_share

    def slot(self, size: int) -> int:
        """The bytes of a step's factors in shared memory."""
        return (self.rows + self.columns) * self.step * size

    def brought(self, product: Product, machine: Machine) -> int:
        """The bytes of a step that come from the L2 cache."""
        del machine
        return self.slot(product.bytes) - self.columns * self.step * product.saved

    def persists(self, product: Product, resident: int, shared: int) -> bool:
        """Whether so many on a multiprocessor go on with another tile while one is stored."""
        del product, resident, shared
        return False

    def passed(self, size: int) -> int:
        """Bytes to and from shared memory in a step."""
        return self.slot(size) + sum(self.part) * self.warps * self.step * size

    def resident(self, product: Product, shared: int, aligned: bool = True) -> int:
        """How many blocks a multiprocessor with ``shared`` bytes holds, or of the kernel's twin; 0: none."""
        registers, ring = self.registers(product, aligned), self.slot(product.bytes) * self.stages
        easing = ADDRESSES - PRESSED_ADDRESSES if product.loose else 0  # ptxas takes them where it can
        if registers + easing > MOST_REGISTERS + 1 or ring > shared - RESERVED:
            return 0
        return min(
            REGISTERS // (registers * self.all_warps * WARP),
            shared // (ring + RESERVED),
            HELD_WARPS // self.all_warps,
        )


def row_parts(extents: Sequence[int], rows: int) -> tuple[int, ...]:
    """What a block of so many rows has of each dim that they run along, innermost first: powers of two.

    The fewest tiles cover all; of as few the ones that are longest in memory.
    """
    powers = [[1 << bit for bit in range((extent - 1).bit_length() + 1)] for extent in extents]
    found = [parts for parts in itertools.product(*powers) if prod(parts) == rows]
    longest_first = sorted(found, reverse=True)
    whole = tuple(each[-1] for each in powers)
    return min(longest_first, key=lambda parts: tiles_of(extents, parts), default=whole)


def tiles_of(extents: Sequence[int], parts: Sequence[int]) -> int:
    """How many tiles with so many ``parts`` of each dim cover ``extents``."""
    return prod(ceil(extent / part) for extent, part in zip(extents, parts, strict=True))


def possible_blocks(product: Product, rows: int | None, columns: int | None) -> Iterator[Block]:
    """The space, without blocks that are larger than need be; no warp multiplies 8-bit floats alone."""
    if product.kind == FLOAT8:
        return
    leasts = [SECTOR // product.bytes if is_turned else 1 for is_turned in product.turned]
    highs = [rows] if rows is not None else _sides_for(product.rows, ROWS, leasts[0])
    wides = [columns] if columns is not None else _sides_for(product.columns, _WARPS[0] * COLUMNS, leasts[1])
    most = _WARPS if rows is columns is None else (*_WARPS, *_MORE_WARPS)
    for high, wide, warps in itertools.product(highs, wides, most):
        part = Block(high, wide, 1, warps, 1).part
        if warps > _WARPS[0] and high * wide < prod(part) * warps:
            continue  # warps without work
        for row_bytes in _STEP_BYTES:
            step = row_bytes // product.bytes
            if step >= 2 * product.depth and row_bytes > _STEP_BYTES[0]:
                continue
            steps = product.around * ceil(product.depth / step)
            deep = [stages for stages in _STAGES if stages <= max(steps, _STAGES[0])]
            yield from (Block(high, wide, step, warps, stages) for stages in ([1] if product.loose else deep))


def _sides_for(extent: int, least: int, together: int) -> list[int]:
    """The sides up to the first that covers ``extent``; so many elements lie in a sector."""
    sides = [side for side in _SIDES if side >= max(least, min(together, extent))]
    return [side for number, side in enumerate(sides) if number == 0 or sides[number - 1] < extent]
