"""Blocks of attention on tensor cores: those that there can be, and how long a GPU takes with each.

A block has ``rows`` queries of one matrix, 16 or 32 of them a warp, and runs through the keys in steps, of
which ``stages`` are in shared memory at once with their values. A block is possible if a thread's sums, its
scores and its queries fit its registers, and the ring fits shared memory. Then, in seconds::

    step     multiply-adds at the tensor cores' peak, instructions, bytes to and from shared memory, bytes
             from the L2 cache, the latency of memory by the steps that are on their way, and that of a step
    wave     latency + steps x the step of the blocks that share a multiprocessor + stores of results
    blocks   full waves + the last one, which has fewer blocks on each multiprocessor
    total    blocks; what all blocks read, out of the L2 cache; what is read and written, from memory

as for products (`block_times`). Where all rows of a matrix are one block's, its keys may be divided over
several blocks, in ``parts``, which the last of these joins (mlopt-gpu-split-keys). That comes in the end::

    join     round trips to the cache, the loads of parts, one after the other, and their way through it

More rows read keys and values less often, fewer make blocks for all multiprocessors, as do more parts. Steps
of more keys scale the sums less often, and take registers and shared memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil

from ..costs.machine import Machine, find_machine
from ..gpu.layouts.access import WIDE
from ..gpu.layouts.instructions import COLUMNS, ROWS
from ..gpu.layouts.warps import HELD_WARPS, MOST_REGISTERS, REGISTER_STEP, REGISTERS, RESERVED
from ..powers import power_below
from .block_times import (
    IN_FLIGHT,
    INSTRUCTION_LATENCY,
    LATENCY,
    ROUND_TRIPS,
    STEP_LATENCY,
    Estimate,
    longest,
    overlapped,
)
from .tensor_blocks import WARP, WORD

DEPTH = 16  # of an mma.sync of half floats
MATRICES = 512  # bytes that ldmatrix loads at once
SCORE_INSTRUCTIONS = 7  # of a score, from the product to its weight: the maximum, exp2, the sum, rounding
MASK_INSTRUCTIONS = 3  # of a score more that something is added to: it is scaled and widened before
STEP_INSTRUCTIONS = 60  # of a step: positions, copies, what lanes say to each other
SOFTMAX_LATENCY = 0.1e-6  # of a step: the maximum comes before all weights
SCORE = 1.5  # registers for a score, some of which are weights already
# As ptxas has them, in a sweep of blocks for heads of 32 to 256 elements:
OTHERS = 40  # for maxima, totals, a step's factors, places and counters
CAUSAL = 14  # more for positions, and for what both loops over keys need, the masked one and the other
STAYING = 1 / 8  # for an element of queries that stay in shared memory: some are on their way from there
ZONE = 32  # elements of a swizzled row that have an address of their own
TWIN = 1.1  # for an element that passes through a thread of the twin, before there are scores
TWIN_PLACES = 1.9  # the same, where both loops keep its place: of causal rows of 3 * 2^n elements
SCHEDULERS = 4  # parts of a multiprocessor, each of which runs warps of its own
HELD = 64  # of a warp's elements of its queries in each thread; those of wider ones stay in shared memory

_WARP_ROWS = (ROWS, 2 * ROWS)
_WARPS = (1, 2, 4, 8)
_KEYS = (16, 32, 64, 128)
_STAGES = (2, 3, 4)
_PARTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
GAIN = 0.9  # of the time of undivided keys; less is not worth their parts


@dataclass(frozen=True)
class Attention:
    """``count`` matrices of ``rows`` queries and ``keys`` keys, of ``depth`` elements; values have ``width``.

    ``kind``: the type of these as machines call it, ``bytes``: of an element. ``score_bytes``: what is read
    for each score, as of a mask, which has ``mask_bytes``. ``causal``: no key is behind a row's own position.
    ``divides``: the keys may be divided, as the number of tasks is known.
    """

    rows: int
    keys: int
    depth: int
    width: int
    count: int
    kind: str
    bytes: int
    score_bytes: int = 0
    mask_bytes: int = 0
    causal: bool = False
    divides: bool = False


@dataclass(frozen=True)
class Block:
    """What a block has, and with what; ``parts``: how many blocks share the keys."""

    rows: int
    keys: int
    warps: int
    stages: int
    parts: int = 1

    def __str__(self) -> str:
        shared = f", {self.parts} parts of all keys" if self.parts > 1 else ""
        return f"{self.rows} rows, {self.keys} keys a step, {self.warps} warps, {self.stages} stages{shared}"

    @property
    def size(self) -> tuple[int, int]:
        """What blocks are told apart by."""
        return self.rows, self.keys

    @property
    def own(self) -> int:
        """The rows of a warp: of fewer rows than warps can share all have the same."""
        return max(self.rows // self.warps, ROWS)

    def registers(self, asked: Attention, aligned: bool = True) -> int:
        """What a thread needs: sums, scores or weights, queries, addresses, what passes through it.

        Of what is aligned nothing does, but in the kernel's twin for the unaligned.
        """
        sums = self.own * asked.width / WARP
        scores = self.own * self.keys / WARP
        queries = self.own * asked.depth / WARP
        held = queries * asked.bytes / WORD if queries <= HELD else queries * STAYING
        longest_row = max(asked.depth, asked.width)
        scored = SCORE * scores
        if not aligned:
            passing = self.keys * longest_row / (self.warps * WARP)
            each = TWIN_PLACES if asked.causal and longest_row & (longest_row - 1) else TWIN
            scored = max(scored, each * passing + scores * asked.score_bytes / WORD)
        needed = sums + held + OTHERS + CAUSAL * asked.causal + longest_row / ZONE + scored
        return ceil(needed / REGISTER_STEP) * REGISTER_STEP

    def shared(self, asked: Attention) -> int:
        """The bytes of shared memory."""
        slot = self.keys * (row_bytes(asked.depth, asked.bytes) + row_bytes(asked.width, asked.bytes))
        if asked.score_bytes:
            slot += self.rows * row_bytes(self.keys, asked.score_bytes)
        queries = self.rows * row_bytes(asked.depth, asked.bytes)
        stay = self.own * asked.depth > HELD * WARP
        return max(self.stages * slot + stay * queries, queries)

    def instructions(self, asked: Attention) -> float:
        """Of a step of a warp."""
        width = asked.depth + asked.width
        multiplies = self.own / ROWS * self.keys * width / (COLUMNS * DEPTH)
        loads = self.keys * width * asked.bytes / MATRICES
        scores, sums = self.own * self.keys / WARP, self.own * asked.width / WARP
        each = SCORE_INSTRUCTIONS + MASK_INSTRUCTIONS * bool(asked.score_bytes)
        return multiplies + loads + scores * each + sums + STEP_INSTRUCTIONS

    def peak(self, asked: Attention, machine: Machine) -> float:
        """What the machine's tensor cores do in a second, of products of single warps."""
        return machine.matrix[asked.kind] * machine.warp_share

    def passed(self, asked: Attention) -> int:
        """Bytes to and from shared memory in a step."""
        brought = self.keys * (asked.depth + asked.width) * asked.bytes
        return brought * (self.warps + 1) + 2 * self.rows * self.keys * asked.score_bytes

    def latencies(self, asked: Attention, machine: Machine) -> dict[str, float]:
        """Seconds of a step of a block that has the multiprocessor for itself, by what it waits for."""
        del machine
        products = (asked.depth + self.keys) / DEPTH * INSTRUCTION_LATENCY
        return {
            "latency of memory": LATENCY / (self.stages - 1),
            "latency of a step": STEP_LATENCY + SOFTMAX_LATENCY + products,
        }

    def resident(self, asked: Attention, shared: int, aligned: bool = True) -> int:
        """How many blocks a multiprocessor with ``shared`` bytes holds, or of the kernel's twin; 0: none."""
        registers, used = self.registers(asked, aligned), self.shared(asked)
        if registers > MOST_REGISTERS or used > shared - RESERVED:
            return 0
        return min(
            REGISTERS // (registers * self.warps * WARP),
            shared // (used + RESERVED),
            HELD_WARPS // self.warps,
        )


@cache
def estimates(
    asked: Attention, machine: str, shared: int, others: Sequence[Block] = ()
) -> Sequence[Estimate[Block]]:
    """The possible blocks on a machine, by its name, the fastest first.

    ``shared``: the bytes of a multiprocessor; ``others`` are blocks beside those of single warps, a tuple.
    """
    known = find_machine(machine)
    found = []
    for block in (*_blocks(asked), *others):
        least = block.resident(asked, shared, aligned=False)
        if least:
            found.append(_estimate(asked, block, block.resident(asked, shared), least, known))
    whole = min((each.seconds for each in found if each.block.parts == 1), default=0.0)
    worth = [each for each in found if each.block.parts == 1 or each.seconds < GAIN * whole]
    return sorted(worth, key=lambda each: each.seconds)


def parts_at_once(elements: int, warps: int) -> int:
    """How many parts of so many weighted sums a block reads at once: a power of two."""
    most = max(IN_FLIGHT * warps * WARP // elements, 1)
    return power_below(most)


def join_seconds(asked: Attention, block: Block, machine: Machine) -> float:
    """What the last block of a tile needs to join its parts."""
    if block.parts == 1:
        return 0.0
    elements = asked.rows * asked.width
    steps = ceil(block.parts / parts_at_once(elements, block.warps))
    moved = block.parts * elements * WORD / (machine.cache_bandwidth / machine.processors)
    return (ROUND_TRIPS + steps) * machine.cache_latency + moved


def _blocks(asked: Attention) -> Iterator[Block]:
    """The space, without blocks that are larger than need be."""
    steps = [keys for number, keys in enumerate(_KEYS) if number == 0 or _KEYS[number - 1] < asked.keys]
    sizes = {(own * warps, warps) for own in _WARP_ROWS for warps in _WARPS}
    sizes = {(rows, warps) for rows, warps in sizes if rows == ROWS or rows < 2 * asked.rows}
    if asked.rows <= ROWS:
        sizes |= {(ROWS, warps) for warps in _WARPS[:-1]}  # more warps to copy with
    for (rows, warps), keys in itertools.product(sorted(sizes), steps):
        for parts, stages in itertools.product(_parts(asked, rows, keys), _STAGES):
            if stages <= max(ceil(asked.keys / keys / parts), _STAGES[0]):
                yield Block(rows, keys, warps, stages, parts)


def _parts(asked: Attention, rows: int, keys: int) -> Sequence[int]:
    """Over how many blocks the keys of a tile may be divided: all rows are one tile's."""
    if not asked.divides or asked.causal or asked.rows > ROWS or rows > ROWS:
        return (1,)
    steps = ceil(asked.keys / keys)
    return sorted({1} | {ceil(steps / ceil(steps / parts)) for parts in _PARTS})


def _estimate(asked: Attention, block: Block, resident: int, least: int, machine: Machine) -> Estimate[Block]:
    size, processors, own, width = asked.bytes, machine.processors, block.own, asked.depth + asked.width
    grid = ceil(asked.rows / block.rows)
    blocks = asked.count * grid * block.parts
    steps = _steps(asked, block, grid)
    read = block.keys * width * size + block.rows * block.keys * asked.score_bytes
    alone = block.latencies(asked, machine)
    stored = asked.rows * WORD if block.parts > 1 else block.rows * size
    stores = stored * asked.width / machine.bandwidth * processors
    flops = 2 * own * block.keys * width
    warp = {  # of a step of a warp, if it had the multiprocessor for itself
        "arithmetic": flops / block.peak(asked, machine) * processors,
        "instructions": block.instructions(asked) * WARP / (machine.vector["f32"] / 2) * processors,
    }
    moved = {  # of a step of a block
        "shared memory": block.passed(asked) / machine.shared_bandwidth * processors,
        "the cache": read / machine.cache_bandwidth * processors,
    }

    def bounds(held: int) -> dict[str, float]:
        """What a step of so many blocks takes: of a multiprocessor's parts each has whole warps."""
        warps = SCHEDULERS * ceil(held * block.warps / SCHEDULERS)
        busy = {name: warps * seconds for name, seconds in warp.items()}
        return busy | {name: held * seconds for name, seconds in moved.items()} | alone

    def wave(held: int) -> float:
        return LATENCY + steps * overlapped(*bounds(held).values()) + held * stores

    full, rest = divmod(blocks, processors * resident)
    busy = full * wave(resident) + (wave(ceil(rest / processors)) if rest else 0)
    cached = blocks * steps * read / machine.cache_bandwidth
    memory = _memory_bytes(asked) / machine.bandwidth
    longer = longest(bounds(min(resident, ceil(blocks / processors))))
    bound_by = "memory" if memory > max(busy, cached) else longer
    seconds = overlapped(busy, LATENCY + cached, LATENCY + memory)
    return Estimate(block, least, seconds + join_seconds(asked, block, machine), bound_by)


def _steps(asked: Attention, block: Block, grid: int) -> float:
    """Of a block, on average: a causal one ends at its last row."""
    steps = ceil(ceil(asked.keys / block.keys) / block.parts)
    if not asked.causal:
        return steps
    ends = [min(ceil((number + 1) * block.rows / block.keys), steps) for number in range(grid)]
    return sum(ends) / len(ends)


def row_bytes(elements: int, size: int) -> int:
    """Of shared memory: rows of whole pairs of 16 bytes are swizzled, others may be padded."""
    row = elements * size
    return row + WIDE * (size == 1 or row % (2 * WIDE) > 0)


def _memory_bytes(asked: Attention) -> float:
    """What memory moves: all once. The keys and values of the matrices that are at work stay in the cache."""
    once = asked.count * (asked.rows + asked.keys) * (asked.depth + asked.width) * asked.bytes
    return once + asked.mask_bytes
