"""A block runs several tasks, one after the other, and keeps what they share.

Before, a norm of 16,384 rows, each of whose tasks reads the weights again::

    scf.forall (%i) in (16384) {
      %v = vector.transfer_read %x[%i, %c0], … : memref<16384x1024xf32>, vector<1x1024xf32>
      %w = vector.transfer_read %weight[%c0], … : memref<1024xf32>, vector<1024xf32>
      …
    } {mlopt.schedule = {min_blocks = array<i64: 8>, tile = array<i64: 1, 0>, warps = array<i64: 4>}}

After, the same, and mlopt-gpu-distribute writes a loop: each of 1261 blocks (12 on each of 108
multiprocessors) reads %w once, and what is a total of that it makes once, and runs every 1261st task::

    } {mlopt.schedule = {min_blocks = array<i64: 12>, …, turns = array<i64: 0, 1261>}}

``turns`` has the loop of the scf.forall that blocks take turns along, and how many blocks share it: as many
as the GPU holds at once, or a multiple, so that all have about the same number of turns. While a task is run,
the next one's reads are on their way. A block gets more warps where all that would not fit its registers, as
long as each thread has 16 bytes to load; a multiprocessor gets as many blocks as it has registers for.
Legal for any kernel whose tasks are blocks' and keep nothing in shared memory: the next task would overwrite
what warps still read. Done where tasks without loops and products read tiles that they share.

Effect on sm_80: layer_norm of 1,024 columns in f32 takes 113 instructions a row instead of 128, and weights
are no longer loaded with each. x / x.sum() adds 512 parts up before its turns: 91 instructions a turn, and no
barrier, instead of 100 and two.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import SCHEDULE
from ...dialects.layouts import WARP
from ..base import Pass
from ..costs.machine import DEFAULT_GPU, machine_of
from ..operations import nested_ops, ops_named
from .grids import adds_up_parts, grids_of
from .layouts.access import bytes_of
from .layouts.tiles import is_tile, sizes_of
from .layouts.warps import MOST_BLOCKS, REGISTERS, warps_of
from .threads.grid import Loops
from .turns.reads import depends_on, is_ahead, is_shared

MOST_WARPS = 32
OWN = 64  # registers that a thread may have
FILLED = 48  # of these by what is kept and what is on its way
OTHERS = 12  # at least, for addresses, counts and what is computed
EIGHTS = 8  # registers are handed out by
WORD, WIDEST = 4, 16  # bytes of a register, and of an access
_OF_ONE_TASK = ("wait_for_loads", "most_registers")  # of a schedule: blocks with turns load ahead
_HEAVY = ("scf.for", "scf.if", "scf.parallel", "vector.contract", "memref.alloca")
FEWEST_TURNS = 4  # from which on most blocks that can run at once have work in the last turn, too


@dataclass(frozen=True)
class TakeTurns(Pass):
    """Let blocks run several tasks that share what they read; ``machine``: whose multiprocessors to fill."""

    name: ClassVar[str] = "mlopt-gpu-take-turns"
    machine: str = DEFAULT_GPU

    def run(self, op: ir.Operation) -> None:
        """Mark the schedules of such kernels."""
        processors = machine_of(op, self.machine).processors
        for forall in grids_of(op):
            along = shared_along(forall)
            if along is not None:
                _mark(forall, along, processors)


def shared_along(forall: ir.Operation) -> int | None:
    """The loop along which tasks share the most of what they read, if that is a tile; else None."""
    schedule = SCHEDULE.get(forall) or {}
    if ops_named(forall, *_HEAVY) or "tasks" in schedule or "turns" in schedule or adds_up_parts(forall):
        return None
    best, most = None, 0
    for loop in range(Loops.of(forall).rank):
        shared = sum(map(_bytes, _shared(forall, loop)))
        if shared > most and _ahead(forall, loop):
            best, most = loop, shared
    return best


def _shared(forall: ir.Operation, loop: int) -> list[ir.Operation]:
    """The reads of a warp or more that do not change along a loop."""
    changing = depends_on(forall, loop)
    return [
        op
        for op in ops_named(forall, "vector.transfer_read")
        if is_shared(op, changing) and prod(sizes_of(op.results[0])) >= WARP
    ]


def _ahead(forall: ir.Operation, loop: int) -> list[ir.Operation]:
    """The reads that can be made before the task's turn."""
    changing = depends_on(forall, loop)
    return [op for op in ops_named(forall, "vector.transfer_read") if is_ahead(op, changing)]


def _bytes(read: ir.Operation) -> int:
    tile = read.results[0]
    return prod(sizes_of(tile)) * bytes_of(tile.type.element_type)


def _mark(forall: ir.Operation, along: int, processors: int) -> None:
    schedule = SCHEDULE.get(forall) or {}
    warps = warps_of(forall)
    while (words := _words(forall, along, warps * WARP)) > FILLED:
        if 2 * warps > _most_warps(forall, along):
            return  # what does not fit even so would be read again from memory, only from elsewhere
        warps *= 2
    own = min(-(-(words + OTHERS) // EIGHTS) * EIGHTS, OWN)
    most = min(max(REGISTERS // (own * warps * WARP), 1), MOST_BLOCKS)
    (wanted,) = schedule.get("min_blocks", (1,))
    counts = Loops.of(forall).static_counts()
    others = prod(count or 1 for loop, count in enumerate(counts) if loop != along)
    # As many as there is room for keep more reads on their way; but of few tasks each would have few turns.
    for resident in (most, min(most, wanted)):
        blocks = blocks_along(counts[along], others, processors * resident)
        if blocks is not None:
            changed = {"warps": (warps,), "min_blocks": (resident,), "turns": (along, blocks)}
            kept = {key: each for key, each in schedule.items() if key not in _OF_ONE_TASK}
            SCHEDULE.set(forall, {**kept, **changed})
            return


def blocks_along(tasks: int | None, others: int, resident: int) -> int | None:
    """How many blocks take turns at ``tasks``, of which there are ``others`` beside; None: it does not pay.

    ``resident`` blocks run at once. The fewest waves times turns, with a turn for what is read once.
    """
    blocks = max(resident // others, 1)
    if tasks is None:
        return blocks
    found: dict[int, int] = {}
    while -(-tasks // blocks) >= FEWEST_TURNS:
        turns = -(-tasks // blocks)
        even = -(-tasks // turns)
        found.setdefault(even, -(-others * even // resident) * (turns + 1))
        blocks *= 2
    return min(found, key=lambda each: found[each], default=None)


def _words(forall: ir.Operation, along: int, threads: int) -> int:
    """The registers of a thread that hold what is shared, the next reads, and this task's largest tile."""
    tiles = [value for op in nested_ops(forall) for value in op.results if is_tile(value)]
    floats = [value for value in tiles if isinstance(value.type.element_type, ir.FloatType)]
    largest = max((prod(sizes_of(tile)) * _words_of(tile) for tile in floats), default=0)
    ahead = sum(map(_bytes, _ahead(forall, along))) // WORD
    kept = sum(_kept(op.results[0], threads) for op in _shared(forall, along))
    return -(-(largest + ahead) // threads) + kept


def _kept(tile: ir.Value, threads: int) -> int:
    """A thread's registers of a shared tile: 16 bytes of memory at least, which other warps may have, too."""
    least = WIDEST // bytes_of(tile.type.element_type)
    return max(-(-prod(sizes_of(tile)) // threads), least) * _words_of(tile)


def _words_of(tile: ir.Value) -> int:
    """The registers of an element: half floats are computed with in f32."""
    return -(-bytes_of(tile.type.element_type) // WORD)


def _most_warps(forall: ir.Operation, along: int) -> int:
    """With more, threads would load less than 16 bytes each of what comes ahead, or the same as others."""
    most = max(map(_bytes, _ahead(forall, along))) // (WIDEST * WARP)
    return min(MOST_WARPS, most)
