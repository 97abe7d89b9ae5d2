"""How many warps a block has, and registers a thread, as the schedule says."""

from __future__ import annotations

from mlir import ir

from ....dialects.attributes import SCHEDULE
from ....dialects.layouts import WARP
from ...base import PassError

REGISTERS = 1 << 16  # of a multiprocessor, of every GPU since compute capability 3.5
# Blocks from which on there are enough for the multiprocessors of any chip: an H200's. An A100 has 108, but
# tiles, and mostly sizes, are powers of two: of 128 blocks 20 would get two, for which the others wait; of
# 256, with half of the work each, they get two or three.
FILLING = 132
MOST_BLOCKS = 32  # of a multiprocessor of sm_80 and sm_90
HELD_WARPS = 64  # at once by a multiprocessor of these
BLOCK_SHARED = 163 * 1024  # bytes of shared memory that a block can have, of compute capability 8.0
RESERVED = 1024  # bytes of shared memory for each block, which the driver takes
PARTS = 4  # of a multiprocessor's registers, each for every fourth warp
REGISTER_STEP = 8  # they are handed out by so many
MOST_REGISTERS = 255  # that a thread can have
CONSUMERS = 2  # that take turns with a block's tiles (mlopt-gpu-ping-pong), each with a block's warps
_DEFAULT = 4


def warps_of(forall: ir.Operation) -> int:
    """The warps that the schedule of a kernel's scf.forall gives to a block."""
    schedule = SCHEDULE.get(forall) or {}
    (warps,) = schedule.get("warps", (_DEFAULT,))
    if warps < 1 or warps > 32 or warps & (warps - 1):
        raise PassError(forall, f"a block has 1, 2, 4, … or 32 warps, not {warps}")
    return warps


def registers_of(forall: ir.Operation) -> int:
    """The registers that a thread may have, as `blocks_with_registers` leave them to it."""
    return REGISTERS // (blocks_with_registers(forall) * consumers_of(forall) * warps_of(forall) * WARP)


def blocks_with_registers(forall: ir.Operation, aligned: bool = True) -> int:
    """For how many blocks a multiprocessor should have registers: those that the schedule wants to be there.

    More if it says that a thread needs fewer ``registers`` than these leave to it, as long as there can be as
    many threads: where shared memory fills first, ptxas would take what nobody else has a use for. Of a twin
    for what is not aligned fewer, as an address for each element takes registers, too.
    """
    schedule, warps = SCHEDULE.get(forall) or {}, warps_of(forall)
    warps *= wanted_consumers(forall) if aligned else 1
    if aligned and "roles" in schedule:
        return schedule["roles"][1]
    (blocks,) = schedule.get("min_blocks", (1,))
    blocks = blocks if aligned else max(blocks * 3 // 4, 1)
    if "registers" not in schedule:
        return blocks
    needed = schedule["registers"][0 if aligned else 1]
    return max(blocks, min(REGISTERS // needed, HELD_WARPS * WARP) // (warps * WARP))


def producers_of(forall: ir.Operation) -> int:
    """The warps of a block that copy for the others, beside those that the schedule gives to it."""
    return (SCHEDULE.get(forall) or {}).get("roles", (0, 0))[0]


def wanted_consumers(forall: ir.Operation) -> int:
    """How often a block is to have its warps, each time with a tile of their own (mlopt-gpu-ping-pong)."""
    return (SCHEDULE.get(forall) or {}).get("ping_pong", (1,))[0]


def consumers_of(forall: ir.Operation) -> int:
    """How often it has them; the kernel's twin for what is unaligned has them once."""
    return (SCHEDULE.get(forall) or {}).get("consumers", (1,))[0]


def registers_for(warps: int) -> int:
    """What a thread can have of so many warps of a multiprocessor."""
    each = REGISTERS // PARTS // (WARP * -(-warps // PARTS))
    return min(each // REGISTER_STEP * REGISTER_STEP, MOST_REGISTERS)
