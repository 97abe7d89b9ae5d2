"""How many blocks of a kernel fit on a multiprocessor, and what limits them.

The formula is that of cuda_occupancy.h (CUDA 13.0): each resource allows a number of
blocks, the least of which counts. Registers are allocated a warp at a time within each of the SM's four
partitions, shared memory with what the driver reserves.
"""

from __future__ import annotations

from dataclasses import dataclass

from .chips import (
    PARTITIONS,
    REGISTER_GRANULARITY,
    REGISTERS,
    REGISTERS_PER_THREAD,
    RESERVED,
    SHARED_GRANULARITY,
    WARP,
    Limits,
)


@dataclass(frozen=True)
class Occupancy:
    """``blocks`` on an SM, ``share`` of its warps that they are, and the resource that allows no more.

    ``limit`` is "warps", "blocks", "registers" or "shared memory".
    """

    blocks: int
    share: float
    limit: str

    def __str__(self) -> str:
        return f"{self.share:.0%} ({self.limit})"


def occupancy(limits: Limits, threads: int, registers: int, shared: int) -> Occupancy:
    """For blocks of ``threads``, ``registers`` a thread and ``shared`` bytes (static and dynamic)."""
    warps = -(-threads // WARP)
    allowed = {
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": _by_registers(warps, registers),
        "shared memory": _by_shared(limits, shared),
    }
    limit = min(allowed, key=lambda resource: allowed[resource])
    blocks = allowed[limit]
    return Occupancy(blocks, blocks * warps / limits.warps, limit)


def _by_registers(warps: int, registers: int) -> int:
    a_warp = round_up(max(registers, 1) * WARP, REGISTER_GRANULARITY)
    # The hardware checks a block as if its warps were spread over all partitions.
    if a_warp * round_up(warps, PARTITIONS) > REGISTERS or registers > REGISTERS_PER_THREAD:
        return 0
    a_partition = REGISTERS // PARTITIONS // a_warp
    return a_partition * PARTITIONS // warps


def _by_shared(limits: Limits, shared: int) -> int:
    if shared > limits.shared_per_block:
        return 0
    return limits.shared // round_up(shared + RESERVED, SHARED_GRANULARITY)


def round_up(number: int, step: int) -> int:
    """The least multiple of ``step`` that is no less than ``number``."""
    return -(-number // step) * step
