"""Races in shared memory: accesses of two threads to one byte, one a write, that nothing orders.

An access that was made later than is known (`Ordering`) races. Memory is looked at in granules, the size of
the smallest access that the kernel makes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .context import Context
from .lanes import WARP
from .ordering import Ordering
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .access import Part
    from .batch import Batch

STRONG = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
READS = ("load", "fetch", "operand")  # of a thread, of a copy in bulk, of a wgmma
SEVERAL = -2  # lanes of a warp have read
Unchanged = Callable[["Part"], Array]  # for a store: whether each lane writes what is there anyway


class Races:
    """Who has accessed the shared memory of a batch, and when."""

    def __init__(self, batch: Batch, granule: int, order: Ordering) -> None:
        self.batch = batch
        self.order = order
        self.granule = granule
        self.shift = granule.bit_length() - 1
        self.warps = batch.shape.cluster_warps
        granules = len(batch.shared.data) // granule
        self.writer = np.full(granules, -1, np.int32)
        self.written_at = np.zeros(granules, np.int32)
        self.atomic = np.zeros(granules, np.bool_)
        self.read_at = np.zeros((self.warps, granules), np.int32)
        self.read_by = np.zeros((self.warps, granules), np.int8)
        self.last_read = np.zeros(granules, np.int32)
        self.bulk_read_at: Array | None = None  # the last copy in bulk of each, by whose thread
        self.bulk_reader = np.zeros(0, np.int32)
        self.operand_read_at: dict[int, Array] = {}  # by wgmma, by the columns of their warpgroups

    def access(
        self,
        x: Context,
        instruction: Instruction,
        kind: str,
        part: Part,
        size: int,
        unchanged: Unchanged | None,
    ) -> None:
        """Lanes access ``size`` bytes of the batch's shared memory."""
        lanes, rows = x.lanes, part.rows
        thread, block = lanes.take(self.batch.shape.place), lanes.block
        if rows is not None:
            thread, block = thread[rows], block[rows]
        strong = kind in ("atomic", "reduce", "sync") or instruction.has(*STRONG)
        reads = kind in READS
        granules = self._granules(part.addresses, size)
        racing = self._check(thread, block, granules, strong=strong, reads=reads)
        if racing is not None:
            bad, other = racing
            if unchanged is not None:
                bad &= (other < 0) | ~unchanged(part)
            if bad.any():
                self._report(x, instruction, part, bad, other, "read" if reads else "write")
        if kind == "fetch":
            self._note_bulk(thread, granules)
        elif kind != "operand":
            self._note(thread, block, granules, strong=strong, reads=reads)

    def _granules(self, places: Array, size: int) -> list[Array]:
        first = places.view(np.int64) >> self.shift
        return [first + step if step else first for step in range(max(1, size // self.granule))]

    def _check(
        self, thread: Array, block: Array, granules: list[Array], *, strong: bool, reads: bool
    ) -> tuple[Array, Array] | None:
        """The lanes that race, and the threads that they race with (-1: a reader).

        Only accesses after ``floor`` need a closer look.
        """
        bad = np.zeros(len(thread), np.bool_)
        other = np.full(len(thread), -1, np.int64)
        floor = self.order.floor[block]
        for at in granules:
            late = self.written_at[at] > floor
            if late.any():
                rows = np.flatnonzero(late)
                writer = self._racing_writer(thread[rows], block[rows], at[rows], strong=strong)
                rows, writer = rows[writer >= 0], writer[writer >= 0]
                bad[rows] = True
                other[rows] = writer
            if reads:
                continue
            late = self.last_read[at] > floor
            if late.any():
                rows = np.flatnonzero(late)
                read = rows[self._racing_reader(thread[rows], block[rows], at[rows])]
                bad[read] = True
                other[read] = -1
        return (bad, other) if bad.any() else None

    def _racing_writer(self, thread: Array, block: Array, at: Array, *, strong: bool) -> Array:
        """The thread that wrote each granule last, if nothing orders it before ``thread``; else -1."""
        writer = self.writer[at]
        found = (writer >= 0) & (writer != thread)
        found &= self.written_at[at] > self.order.knows(block, thread, np.maximum(writer, 0))
        if strong:
            found &= ~self.atomic[at]
        return np.where(found, writer, -1)

    def _racing_reader(self, thread: Array, block: Array, at: Array) -> Array:
        """Whether another thread has read each granule, and nothing orders it before."""
        warp = thread >> 5
        found = np.zeros(len(at), np.bool_)
        for reader in range(self.warps):
            by = self.read_by[reader, at].astype(np.int32)
            lane = np.where(by == SEVERAL, (thread & (WARP - 1)) ^ 1, by)
            late = self.read_at[reader, at] > self.order.knows(block, thread, reader * WARP + lane)
            found |= late & ((warp != reader) | (lane != thread & (WARP - 1)))
        if self.bulk_read_at is not None:
            late = self.bulk_read_at[at] > self.order.knows(block, thread, self.bulk_reader[at])
            found |= late & (self.bulk_reader[at] != thread)
        for column, read_at in self.operand_read_at.items():
            found |= read_at[at] > self.order.knows(block, thread, np.full(len(at), column * WARP))
        return found

    def _note(self, thread: Array, block: Array, granules: list[Array], *, strong: bool, reads: bool) -> None:
        if reads and strong:
            return
        now = self.order.clock.now
        if reads:
            warp, lane = thread >> 5, (thread & (WARP - 1)).astype(np.int8)
            known = self.order.known[block, warp % self.order.warps, warp]
        for at in granules:
            if reads:
                others = (self.read_at[warp, at] > known) & (self.read_by[warp, at] != lane)
                self.read_by[warp, at] = lane
                others |= self.read_by[warp, at] != lane
                if others.any():
                    self.read_by[warp[others], at[others]] = SEVERAL
                self.read_at[warp, at] = now
                self.last_read[at] = now
                continue
            self.writer[at] = thread
            self.written_at[at] = now
            self.atomic[at] = strong

    def _note_bulk(self, thread: Array, granules: list[Array]) -> None:
        """Copies in bulk have read."""
        if self.bulk_read_at is None:
            self.bulk_read_at = np.zeros_like(self.last_read)
            self.bulk_reader = np.zeros_like(self.writer)
        for at in granules:
            self.bulk_read_at[at] = self.last_read[at] = self.order.clock.now
            self.bulk_reader[at] = thread

    def _report(
        self, x: Context, instruction: Instruction, part: Part, bad: Array, other: Array, what: str
    ) -> None:
        with_whom = int(other[int(np.argmax(bad))])
        detail = (
            f"this {what} and a read by another thread"
            if with_whom < 0
            else f"this {what} and a write by {self._who(with_whom)}"
        )
        addresses = part.addresses % np.uint64(self.batch.shared_stride)
        detail = f"{detail} have no barrier between them"
        x.report(instruction, "race", detail, bad, addresses, "shared", part.rows)

    def _who(self, place: int) -> str:
        """A thread by its number in its cluster; behind them are the mbarriers of copies."""
        warp, lane = divmod(place, WARP)
        if warp >= self.warps:
            return "a copy that arrived at an mbarrier"
        rank, warp = divmod(warp, self.order.warps)
        thread = f"thread {self.batch.launch.thread_index(warp * WARP + lane)}"
        return f"{thread} of block {rank} of the cluster" if self.batch.shape.cluster > 1 else thread

    def unfenced(self, lane: int, part: Part, *, writes: bool) -> Array:
        """Whether no fence.proxy.async is between an ordinary access to each 16 bytes and now, for a lane.

        A copy that ``writes`` is held against what was read before, too.
        """
        found = np.zeros(len(part.addresses), np.bool_)
        for at in self._granules(part.addresses, 16):
            found |= self._unfenced(lane, at, writes=writes)
        return found

    def _unfenced(self, lane: int, at: Array, *, writes: bool) -> Array:
        shape, order = self.batch.shape, self.order
        block, warp = int(shape.block[lane]), int(shape.place[lane]) >> 5
        known = np.zeros(self.order.known.shape[2], np.int32)
        if order.fenced is not None:
            known = order.fenced[block, warp % order.warps]
        writer = self.writer[at]
        bad = (writer >= 0) & (writer < self.warps * WARP)
        if not writes and not bad.any():
            return bad
        writer = np.where(bad, writer, 0)
        bad &= self.written_at[at] > np.maximum(known[writer >> 5], order.fences(block, writer))
        if not writes or not (self.last_read[at] > order.floor[block]).any():
            return bad
        for reader in range(self.warps):
            by = self.read_by[reader, at].astype(np.int32)
            own = np.where(by == SEVERAL, 0, order.fences(block, reader * WARP + np.maximum(by, 0)))
            bad |= self.read_at[reader, at] > np.maximum(known[reader], own)
        return bad

    def operands_read(self, column: int, places: Array, time: int) -> None:
        """A wgmma of the warpgroup that has this column has read 16 bytes at each place."""
        if column not in self.operand_read_at:
            self.operand_read_at[column] = np.zeros_like(self.last_read)
        for at in self._granules(places, 16):
            self.operand_read_at[column][at] = self.last_read[at] = time

    def copied(self, places: Array) -> Array:
        """Whether a copy that arrives at an mbarrier was the last to write these places."""
        found: Array = self.writer[places >> self.shift] >= self.warps * WARP
        return found

    def note(self, x: Context, part: Part) -> None:
        """A lane has read a part of the batch's shared memory now."""
        lane = x.lanes.index[part.rows]
        thread = self.batch.shape.place[lane]
        self._note_bulk(thread, self._granules(part.addresses, 16))

    def completed(self, place: int, start: int, size: int, *, atomic: bool) -> None:
        """A copy has written bytes: the ``place`` is a number behind those of the threads, or a thread's."""
        at = np.arange(start >> self.shift, -(-(start + size) >> self.shift))
        self.writer[at] = place
        self.written_at[at] = self.order.clock.now
        self.atomic[at] = atomic

    def arrived_copies(self, x: Context, places: Array, size: int) -> None:
        """Asynchronous copies of these lanes have been completed: they are writes at this time."""
        lanes = x.lanes
        thread, block = lanes.take(self.batch.shape.place), lanes.block
        self._note(thread, block, self._granules(places, size), strong=False, reads=False)
