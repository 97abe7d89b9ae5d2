"""How long a GPU takes for a product on tensor cores with each of its blocks (`tensor_blocks.py`).

In seconds::

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, prod, sqrt
from typing import Generic, Protocol, TypeVar

from ..costs.machine import Machine, find_machine
from ..gpu.layouts.warps import REGISTERS
from .tensor_blocks import FEWEST_ADDRESSES, WARP, WORD, Block, Product, possible_blocks, row_parts, tiles_of

SHARP = 4
CANDIDATES = 4  # sizes of blocks that are told, and that `tune=True` measures

# Seconds: estimates, alike on the chips that are described. Memory answers after 0.6 microseconds, and later
# when it is busy. A step of a block alone has a barrier, ldmatrix and its multiply-adds one after the other.
LATENCY = 0.6e-6
STEP_LATENCY = 0.12e-6
INSTRUCTION_LATENCY = 0.02e-6  # of an mma.sync that waits for the one before
# The last block of a tile joins its parts: after trips to the cache (what is stored has come there, the
# counter's answer, and the fence behind it), so many elements a thread at once, where its sums were.
ROUND_TRIPS = 3
IN_FLIGHT = 32


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
    for block in (*possible_blocks(product, rows, columns), *others):
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


def overlapped(*seconds: float) -> float:
    """How long things take that are done at once, on units of their own: they wait for each other, too."""
    most = max(seconds)
    return most * sum((each / most) ** SHARP for each in seconds) ** (1 / SHARP) if most else 0.0


def _estimate(
    product: Product, block: Block, resident: int, least: int, machine: Machine, shared: int
) -> Estimate[Block]:
    size, processors = product.bytes, machine.processors
    steps = product.around * ceil(product.depth / block.step)
    high = ceil(product.rows / block.rows)
    if product.extents:
        high = tiles_of(product.extents, row_parts(product.extents, block.rows))
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
