"""Blocks of products on tensor cores: those that there can be, and how long a GPU takes with each.

A block makes ``rows`` x ``columns`` of the result in steps along the depth; its warps share that in parts
that are as square as can be, and the factors of ``stages`` steps are in shared memory at once. A block is
possible if a thread's sums, its factors of an instruction and its addresses fit its registers, and the ring
fits shared memory. How many of them a multiprocessor holds follows from both. Then, in seconds::

    step     multiply-adds at the tensor cores' peak, bytes to and from shared memory, bytes from the L2
             cache, the latency of memory by the steps that are on their way, and that of what a step does
    wave     latency + steps x the step of the blocks that share a multiprocessor + what is computed of
             results, and stores; of a persistent grid the latency once, and stores while the next wave's
             steps are made, and what is computed, too, if warpgroups take turns with tiles. (Blocks of a
             multiprocessor may fall into such turns, too, or multiply at once: that is not counted.)
    blocks   full waves + the last one, which has fewer blocks on each multiprocessor
    total    blocks; what all blocks read, out of the L2 cache; what a wave does not find there, out of memory

What is done at once takes about as long as the longest of it (`overlapped`). Tiles at the edges count whole,
as they take as long: that is what ragged sizes and few rows cost.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, prod, sqrt
from typing import Generic, Protocol, TypeVar

from ..costs.machine import Machine, find_machine
from ..gpu.layouts.mma import COLUMNS, ROWS, warp_grid
from ..gpu.layouts.warps import REGISTERS, RESERVED

WARP = 32
SHARP = 4
CANDIDATES = 4  # sizes of blocks that are told, and that `tune=True` measures
SHARED = 164 * 1024  # bytes of a multiprocessor, of compute capability 8.0
MOST_REGISTERS = 255  # that a thread can have
REGISTER_STEP = 8  # they are handed out by so many
ADDRESSES = 36  # registers for places, counters and what is on its way, as ptxas has them
FEWEST_ADDRESSES = 24  # the same, if it is told to have no more
PLACES = 8  # more of them, of windows and rows that run along several dims: each has an end
DEPTH_BYTES = 32  # of a row of a factor, that an instruction multiplies
PRESSED_ADDRESSES = 8  # the same where elements pass through registers, and several blocks share them
TWIN = 0.75  # the same of a twin, whose elements pass in turns
WORD = 4
SECTOR = 32  # bytes of memory and of the L2 cache that come at once
HELD_WARPS = 64
FLOAT8 = "f8"  # as machines call both formats

_SIDES = (16, 32, 64, 128, 256)
MOST_ROWS = _SIDES[-1]
_STEP_BYTES = (64, 128)  # of a row of a factor: whole sectors, and lines
_WARPS = (4, 8)
_MORE_WARPS = (16,)  # where a block must have whole rows or columns
_STAGES = (2, 3, 4, 8)

# Seconds: estimates, alike on the chips that are described. Memory answers after 0.6 microseconds, and later
# when it is busy. A step of a block alone has a barrier, ldmatrix and its multiply-adds one after the other.
LATENCY = 0.6e-6
STEP_LATENCY = 0.12e-6
INSTRUCTION_LATENCY = 0.02e-6  # of an mma.sync that waits for the one before


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


class Sized(Protocol):
    """A block, of a product or of something else."""

    @property
    def size(self) -> tuple[int, int]:
        """What blocks are told apart by."""

    @property
    def warps(self) -> int:
        """How many it has."""

    @property
    def stages(self) -> int:
        """The steps that are in shared memory at once."""


Made = TypeVar("Made", bound=Sized, covariant=True)


@dataclass(frozen=True)
class Estimate(Generic[Made]):
    """A block, and what is predicted for what is done with it.

    ``least``: how many blocks a multiprocessor should have registers for, also of the kernel's twin;
    ``registers``: what a thread of the kernel and of its twin makes do with, if ptxas is to be told.
    """

    block: Made
    least: int
    seconds: float
    bound_by: str
    registers: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.block}: {self.seconds * 1e6:.1f} µs, bound by {self.bound_by}"


@cache
def estimates(
    product: Product,
    machine: str,
    shared: int,
    rows: int | None = None,
    columns: int | None = None,
    others: Sequence[Block] = (),
) -> Sequence[Estimate[Block]]:
    """The possible blocks on a machine, by its name, the fastest first.

    ``shared``: the bytes of a multiprocessor; ``rows`` and ``columns``: those that a block must have;
    ``others`` are blocks beside those of single warps, a tuple.
    """
    known = find_machine(machine)
    found = []
    for block in (*_blocks(product, rows, columns), *others):
        resident = block.resident(product, shared)
        least = block.resident(product, shared, aligned=False)
        if least:
            fewest, twin = (block.registers(product, even, FEWEST_ADDRESSES) for even in (True, False))
            if product.around > product.sums:  # what a twin's places in windows take, only ptxas knows
                twin = REGISTERS // (least * block.warps * WARP)
            estimate = _estimate(product, block, resident, least, known, shared)
            found.append(replace(estimate, registers=(fewest, twin)))
    return sorted(found, key=lambda each: each.seconds)


def best_of_sizes(found: Sequence[Estimate[Made]]) -> Sequence[Estimate[Made]]:
    """The first of each size, of the first `CANDIDATES` sizes."""
    best: dict[tuple[int, int], Estimate[Made]] = {}
    for each in found:
        best.setdefault(each.block.size, each)
    return list(best.values())[:CANDIDATES]


def compared(found: Sequence[Estimate[Sized]]) -> tuple[str, ...]:
    """The best of each size, in words and in their order."""
    return tuple(map(str, best_of_sizes(found)))


def with_first(found: Sequence[Estimate[Made]], candidate: int) -> Sequence[Estimate[Made]]:
    """Those ``found``, number ``candidate`` of `best_of_sizes` first, if there are so many."""
    best = best_of_sizes(found)
    if not 0 < candidate < len(best):
        return found
    return [best[candidate], *(each for each in found if each is not best[candidate])]


def row_parts(extents: Sequence[int], rows: int) -> tuple[int, ...]:
    """What a block of so many rows has of each dim that they run along, innermost first: powers of two.

    The fewest tiles cover all; of as few the ones that are longest in memory.
    """
    powers = [[1 << bit for bit in range((extent - 1).bit_length() + 1)] for extent in extents]
    found = [parts for parts in itertools.product(*powers) if prod(parts) == rows]
    longest_first = sorted(found, reverse=True)
    whole = tuple(each[-1] for each in powers)
    return min(longest_first, key=lambda parts: _tiles(extents, parts), default=whole)


def _tiles(extents: Sequence[int], parts: Sequence[int]) -> int:
    return prod(ceil(extent / part) for extent, part in zip(extents, parts, strict=True))


def overlapped(*seconds: float) -> float:
    """How long things take that are done at once, on units of their own: they wait for each other, too."""
    most = max(seconds)
    return most * sum((each / most) ** SHARP for each in seconds) ** (1 / SHARP) if most else 0.0


def _blocks(product: Product, rows: int | None, columns: int | None) -> Iterator[Block]:
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


def _estimate(
    product: Product, block: Block, resident: int, least: int, machine: Machine, shared: int
) -> Estimate[Block]:
    size, processors = product.bytes, machine.processors
    steps = product.around * ceil(product.depth / block.step)
    high = ceil(product.rows / block.rows)
    if product.extents:
        high = _tiles(product.extents, row_parts(product.extents, block.rows))
    grid = high, ceil(product.columns / block.columns)
    blocks = product.count * prod(grid)
    high, wide = block.part
    brought = block.brought(product, machine)
    padded = high * wide * block.warps
    each = {  # of a step of one block, on its multiprocessor
        "arithmetic": 2 * padded * block.step / block.peak(product, machine) * processors,
        "shared memory": block.passed(size) / machine.shared_bandwidth * processors,
        "the cache": brought / machine.cache_bandwidth * processors,
    }
    alone = {
        "latency of memory": LATENCY / block.ahead,
        "latency of a step": STEP_LATENCY + block.step * size / 32 * INSTRUCTION_LATENCY,
    }
    if product.loose:  # a block stores what it has loaded, then multiplies; another one may do the other
        storing = block.slot(WORD) / machine.shared_bandwidth * processors  # a bank takes one at once
        alone["latency of a step"] += each["arithmetic"] + storing
    results = block.rows * block.columns * processors
    written, computed = results * product.result_bytes, results * product.behind
    stores, passing = written / machine.bandwidth, written / machine.shared_bandwidth
    goes_on = blocks > processors * resident and block.persists(product, resident, shared)

    def wave(held: int) -> float:
        step = overlapped(*(held * seconds for seconds in each.values()), *alone.values())
        behind = held * (passing + computed)
        if goes_on and block.alternates:
            return overlapped(steps * step, held * stores, behind)
        if goes_on:
            return overlapped(steps * step, held * stores) + behind
        return LATENCY + steps * step + held * (stores + computed)

    full, rest = divmod(blocks, processors * resident)
    last = ceil(rest / processors) if rest else resident
    busy = full * wave(resident) + (wave(last) if rest else 0)
    if goes_on:
        busy += LATENCY + last * stores
        busy += last * (passing + computed) if block.alternates else 0
    read = blocks * steps * brought / machine.cache_bandwidth
    moved = _memory_bytes(product, block, grid, processors * resident, machine.cache) / machine.bandwidth
    held = min(resident, ceil(blocks / processors))
    bounds = {name: seconds * held for name, seconds in each.items()} | alone
    bound_by = "memory" if moved > max(busy, read) else longest(bounds)
    return Estimate(block, least, overlapped(busy, LATENCY + read, LATENCY + moved), bound_by)


def longest(parts: Mapping[str, float]) -> str:
    """What takes the longest."""
    return max(parts, key=lambda part: parts[part])


def _memory_bytes(product: Product, block: Block, grid: tuple[int, int], slots: int, cached: float) -> float:
    """What memory moves: all once, and the factors again for each wave if the cache cannot keep them.

    The blocks of a wave are taken to lie in a square.
    """
    size, depth = product.bytes, product.depth
    wide_size = size - product.saved
    factors = (product.rows * size + product.columns * wide_size) * depth
    results = product.rows * product.columns * product.result_bytes
    if factors > cached / 2:
        high = min(grid[0], max(round(sqrt(slots * block.columns / block.rows)), 1))
        wide = min(grid[1], max(slots // high, 1))
        waves = ceil(grid[0] / high) * ceil(grid[1] / wide)
        factors = max(waves * (high * block.rows * size + wide * block.columns * wide_size) * depth, factors)
    return product.count * (factors + results)
