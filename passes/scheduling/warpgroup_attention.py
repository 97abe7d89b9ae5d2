"""Blocks of attention that warpgroups make (sm_90a): what there can be beside those of mma.sync.

A warpgroup has 64 queries, each warp 16 of them. Queries, keys and values stay in shared memory, where each
warpgroup reads all keys and values again; a thread has its sums, and its scores or weights. Within a
warpgroup products and weights come one after the other, so that the tensor cores of a multiprocessor rest
unless it has another one, of the same block or of another.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from ..costs.machine import Machine
from ..gpu.layouts.instructions import ROWS as WARP_ROWS
from ..gpu.layouts.warpgroup import MOST_COLUMNS, PATTERN_BYTES, ROWS, WARPS, can_swizzle, words_for
from ..gpu.layouts.warps import MOST_BLOCKS, MOST_REGISTERS, REGISTER_STEP, REGISTERS, RESERVED
from ..gpu.warp_roles import ADDRESSES, WEIGHT, roles_for
from .attention_blocks import (
    CAUSAL,
    DEPTH,
    MASK_INSTRUCTIONS,
    OTHERS,
    SOFTMAX_LATENCY,
    STEP_INSTRUCTIONS,
    Attention,
    Block,
)
from .block_times import INSTRUCTION_LATENCY, LATENCY
from .tensor_blocks import WARP, WORD

_GROUPS = (1, 2)
_KEYS = (32, 64, 128)
_STAGES = (2, 3, 4)
_TWIN = 0.5  # registers of a twin for an element that passes through one: ptxas loads a part at a time
_KINDS = ("bf16", "f16")
# Of a score: an instruction for an exponential keeps its unit as long as eight others the issue of a warp.
_SCORE_INSTRUCTIONS = 8


@dataclass(frozen=True)
class WarpgroupBlock(Block):
    """A block of whole warpgroups."""

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.keys} keys a step, {words_for(self.warps)}, {self.stages} stages"

    @property
    def own(self) -> int:
        """The rows of a warp."""
        return WARP_ROWS

    def registers(self, asked: Attention, aligned: bool = True) -> int:
        """What a thread needs: sums, scores or weights, places, and what passes through one of the twin."""
        sums, weights = self.own * asked.width / WARP, self.own * self.keys / WARP / 2
        needed = WEIGHT * weights
        if not aligned:
            brought = max(self.keys * max(asked.depth, asked.width), self.rows * asked.depth)
            needed = max(needed, _TWIN * brought / (self.warps * WARP))
        needed += sums + (ADDRESSES if aligned else OTHERS) + CAUSAL * asked.causal
        needed += 2 * weights * asked.score_bytes / WORD
        return ceil(needed / REGISTER_STEP) * REGISTER_STEP

    def shared(self, asked: Attention) -> int:
        """The bytes of shared memory: the queries, the steps, and what changes hands in one."""
        slot = self.keys * (asked.depth + asked.width) * asked.bytes
        queries = self.rows * asked.depth * asked.bytes
        return 3 * PATTERN_BYTES + queries + self.stages * slot + self.rows * self.keys * asked.score_bytes

    def instructions(self, asked: Attention) -> float:
        """Of a step of a warp: none for products, which run beside."""
        scores, sums = self.own * self.keys / WARP, self.own * asked.width / WARP
        each = _SCORE_INSTRUCTIONS + MASK_INSTRUCTIONS * bool(asked.score_bytes)
        return scores * each + sums + STEP_INSTRUCTIONS

    def peak(self, asked: Attention, machine: Machine) -> float:
        """All of the machine's."""
        return machine.matrix[asked.kind]

    def passed(self, asked: Attention) -> int:
        """Bytes to shared memory, and from there for each warpgroup; queries are read in each step."""
        groups, brought = self.warps // WARPS, self.keys * (asked.depth + asked.width) * asked.bytes
        queries = self.rows * asked.depth * asked.bytes
        return brought * (groups + 1) + queries + 2 * self.rows * self.keys * asked.score_bytes

    def latencies(self, asked: Attention, machine: Machine) -> dict[str, float]:
        """What a step waits for; masks are read in their step, and all warps meet then."""
        processor = machine.processors
        flops = 2 * ROWS * self.keys * (asked.depth + asked.width)
        products = flops / self.peak(asked, machine) * processor
        issued = WARPS * self.instructions(asked) * WARP / (machine.vector["f32"] / 2) * processor
        waits = 2 * INSTRUCTION_LATENCY * DEPTH / 4 + LATENCY * bool(asked.score_bytes)
        return {
            "latency of memory": LATENCY / (self.stages - 1),
            "latency of a step": SOFTMAX_LATENCY + waits + products + issued,
        }

    def resident(self, asked: Attention, shared: int, aligned: bool = True) -> int:
        """How many blocks a multiprocessor holds, with warps that copy; or so many that its twin has room.

        The twin has registers for three quarters of them (`blocks_with_registers`).
        """
        most = min(MOST_BLOCKS, (shared - RESERVED) // (self.shared(asked) + RESERVED))
        needed = self.registers(asked, aligned)
        for blocks in range(most, 0, -1):
            if aligned and roles_for(self.warps, blocks, needed) is not None:
                return blocks
            each = REGISTERS // (max(blocks * 3 // 4, 1) * self.warps * WARP)
            if not aligned and min(each, MOST_REGISTERS + 1) >= needed:
                return min(blocks, self.resident(asked, shared))
        return 0


def warpgroup_blocks(asked: Attention) -> Iterator[WarpgroupBlock]:
    """The blocks that warpgroups can make, of an attention whose rows in shared memory wgmma can read."""
    lengths = [elements * asked.bytes for elements in (asked.depth, asked.width)]
    spans = all(map(can_swizzle, lengths))
    if asked.kind not in _KINDS or not spans or asked.width > MOST_COLUMNS:
        return
    for groups, keys, stages in itertools.product(_GROUPS, _KEYS, _STAGES):
        # A whole dim is no power of two; of a single step there is no loop.
        if ROWS * groups <= asked.rows and keys < asked.keys:
            yield WarpgroupBlock(ROWS * groups, keys, WARPS * groups, stages)
