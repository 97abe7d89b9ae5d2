"""Tasks whose tiles are single elements run a few a thread, not one a block.

Before, a gather::

    scf.forall (%i, %j) in (64, 1000) {
      %at = memref.load %index[%i, %j]
      …
      %t = vector.broadcast %x : f32 to vector<1x1xf32>
      vector.transfer_write %t, %out[%i, %j] : vector<1x1xf32>, memref<64x1000xf32>
    } {mlopt.schedule = {tile = array<i64: 1, 1>, warps = array<i64: 4>, …}}

After, the same with ``tasks``, as mlopt-gpu-plain-loops writes it::

    } {mlopt.schedule = {tasks = array<i64: 256>, tile = array<i64: 1, 1>, warps = array<i64: 4>, …}}

Neighbours along the last loop belong to neighbouring lanes: 250 blocks with coalesced accesses, instead of
64,000, each of which would do one element's work in all of its threads. A thread has up to `MOST_EACH` tasks,
whose loads are on their way together, if all threads have as many, there are blocks for all multiprocessors,
and the task is straight code. Legal where no tile of the task has more than one element, so that there is
nothing for threads to share. Runs before mlopt-gpu-assign-layouts.

Where a thread's tasks are better neighbours, as in a flip or where every other element is read, the schedule
has ``neighbours``, too: what a thread then accesses is 16 bytes at once, backwards or not. All accesses must
be to known places, and fill whole aligned pieces of memory, but for loads from a place that was loaded
(``layouts/neighbours.py``). One task may be all, if it writes neighbours itself, as of a stack along the last
dim::

    } {mlopt.schedule = {neighbours = array<i64: 4>, tasks = array<i64: 512>, …}}

And where results follow each other, but rows of what is read begin anywhere, as in x[:, 1:], a thread has
``consecutive`` tasks, across the ends of rows (``layouts/consecutive.py``): it stores 16 bytes at once, and
loads aligned accesses, which it shifts into place (``threads/shifted.py``). So it is where rows are rolled,
or lie between borders (``layouts/pieces.py``); and where every other element is read, or every fourth, whose
whole accesses the lanes of a warp share (``layouts/stepped.py``)::

    } {mlopt.schedule = {consecutive = array<i64: 8>, tasks = array<i64: 1024>, …}}

And where short inner loops make an odd number of whole accesses, a thread has all of their tasks, ``inner``
ones (``layouts/inner.py``): rows of a window side by side, whose places and channels come from here and
there, are put together in registers, and stored through shared memory (``threads/inner.py``)::

    } {mlopt.schedule = {inner = array<i64: 24>, tasks = array<i64: 3072>, …}}

Of windows that overlap a thread has as many beside each other, here four, as begin in an access of their row:
it loads this, and has the rest from the lanes beside (``layouts/inner_rows.py``). Fewer blocks fit into a
multiprocessor then, by their shared memory::

    } {mlopt.schedule = {inner = array<i64: 24, 4>, min_blocks = array<i64: 6>, tasks = array<i64: 12288>, …}}

Effect on sm_80: x[:, 1:] of 128x4096 asks for 1.05 of the least bytes in f16 and f32, not 1.47 and 1.25, with
one wide store a thread, and two loads, in 81 and 59 instructions; in tiles 48 and 40, of four elements.
Copied rows of windows of f16 take 2 instructions an element, not 38, and ask for each sector once (1.56 times
with each window by itself, in loads of 4 bytes and 5 instructions).
F.pad(x, (1, 2)) of 256x512 in f16 asks for 1.06, not 1.50. What it costs: `is_worth_shifting`. Rolled by one
such rows ask for 1.03, not 1.31, in no more instructions than part by part; with a reflected border of three
for 1.11 in one kernel, not for 1.79 in one of three.

x[:, 1:, ::2] of 64x32x256 takes 12.5 instructions an element in f32, 6.5 in f16 and 3.5 in int8, not 14.5,
with two loads and a store of 16 bytes and two shuffles a thread, not one of each for an element.

A flip of 128x1024 in f32 has a load and a store of 16 bytes for four elements, not of 4 for each; rotary
embeddings of interleaved pairs ask for 1.33 of the least bytes, not 2.22. A gather of 64x1024 with its
checks of the index: 13 instructions an element, not 35, both of a thread's loads on their way at once, and
its places and results accessed in pairs. Where one index says a row, neighbours of f64 are a load of 16
bytes, not two of 8, which both ask for all of the sectors: 1.03 of the least bytes, not 1.53.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import SCHEDULE
from ...dialects.layouts import WARP
from ..base import Pass
from ..operations import nested_ops
from .grids import grids_of
from .layouts.consecutive import consecutive_each
from .layouts.inner import inner_of
from .layouts.neighbours import neighbours_each
from .layouts.tiles import is_tile, sizes_of
from .layouts.warps import BLOCK_SHARED, FILLING, RESERVED, warps_of
from .threads.grid import Loops

MOST_EACH = 4  # tasks of a thread


@dataclass(frozen=True)
class SingleElements(Pass):
    """Let each thread run tasks of kernels whose tiles are single elements."""

    name: ClassVar[str] = "mlopt-gpu-single-elements"

    def run(self, op: ir.Operation) -> None:
        """Mark the schedules of such kernels."""
        for forall in grids_of(op):
            if can_run_alone(forall):
                schedule = SCHEDULE.get(forall) or {}
                threads = WARP * warps_of(forall)
                more = _together(forall, threads)
                each = prod(next(iter(more.values()), (tasks_each(forall, threads),)))
                SCHEDULE.set(forall, {**schedule, **more, "tasks": (threads * each,)})


def _together(forall: ir.Operation, threads: int) -> dict[str, tuple[int, ...]]:
    """What the schedule says of a thread's tasks whose accesses are one: how they lie, and how many."""
    if neighbours := neighbours_each(forall, threads):
        return {"neighbours": (neighbours,)}
    if (consecutive := consecutive_each(forall)) > 1:
        return {"consecutive": (consecutive,)}
    inner = inner_of(forall, threads)
    if inner is None:
        return {}
    if inner.windows == 1:
        return {"inner": (inner.each,)}
    (blocks,) = (SCHEDULE.get(forall) or {}).get("min_blocks", (1,))
    room = (BLOCK_SHARED + RESERVED) // (threads * inner.bytes + RESERVED)
    return {"inner": (inner.each, inner.windows), "min_blocks": (min(blocks, room),)}


def can_run_alone(forall: ir.Operation) -> bool:
    """Whether a thread can run a task by itself: all of the task's tiles have one element."""
    for op in nested_ops(forall.regions[0].blocks[0]):
        carried = [argument for region in op.regions for argument in region.blocks[0].arguments]
        for value in (*op.operands, *op.results, *carried):
            if is_tile(value) and prod(sizes_of(value)) != 1:
                return False
    return True


def tasks_each(forall: ir.Operation, threads: int) -> int:
    """How many tasks a thread has."""
    total = Loops.of(forall).static_count()
    *work, _ = forall.regions[0].blocks[0].operations
    if not total or any(op.operation.regions for op in work):
        return 1
    each = MOST_EACH
    while each > 1 and (total % (threads * each) or total < FILLING * threads * each):
        each //= 2
    return each
