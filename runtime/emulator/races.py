"""Races in shared memory: accesses of two threads to one byte, one a write, that nothing orders.

An access that was made later than is known (`Ordering`) races. Memory is looked at in granules, the size of
the smallest access that the kernel makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .context import Context
from .lanes import WARP, bits
from .ordering import Ordering
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .access import Part
    from .batch import Batch

STRONG = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
READS = ("load", "fetch", "operand")  # of a thread, of a copy in bulk, of a wgmma
Unchanged = Callable[["Part"], Array]  # for a store: whether each lane writes what is there anyway


LACKS = {
    "race": "",
    "warp-sync": ": another lane has arrived or waited for its warp, and a bar.warp.sync is missing",
}


@dataclass(slots=True)
class Racing:
    """The lanes that race: with whom (-1: a reader), and whether only a bar.warp.sync is missing."""

    bad: Array
    other: Array
    lanes: Array

    @classmethod
    def of(cls, count: int) -> Racing:
        """None of so many."""
        return cls(np.zeros(count, np.bool_), np.full(count, -1, np.int64), np.zeros(count, np.bool_))

    def add(self, rows: Array, other: Array, lanes: Array) -> None:
        """These race."""
        self.lanes[rows] = lanes & (self.lanes[rows] | ~self.bad[rows])
        self.bad[rows] = True
        self.other[rows] = other

    def kinds(self) -> Iterator[tuple[str, Array]]:
        """The kinds of findings, each with its lanes."""
        for kind, mine in (("race", self.bad & ~self.lanes), ("warp-sync", self.bad & self.lanes)):
            if mine.any():
                yield kind, mine


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
        self.read_by = np.zeros((self.warps, granules), np.uint32)  # bits of lanes
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
            if unchanged is not None:
                racing.bad &= (racing.other < 0) | ~unchanged(part)
            if racing.bad.any():
                self._report(x, instruction, part, racing, "read" if reads else "write")
        if kind == "fetch":
            self._note_bulk(thread, granules)
        elif kind != "operand":
            self._note(thread, block, granules, strong=strong, reads=reads)

    def _granules(self, places: Array, size: int) -> Array:
        """For each place, the granules of so many bytes from there on."""
        first = places.view(np.int64) >> self.shift
        return first[:, None] + np.arange(max(1, size // self.granule))

    def _check(
        self, thread: Array, block: Array, granules: Array, *, strong: bool, reads: bool
    ) -> Racing | None:
        """The lanes that race; only accesses after ``floor`` need a closer look."""
        floor = self.order.floor[block][:, None]
        written = self.written_at.take(granules) > floor
        read = None if reads else self.last_read.take(granules) > floor
        if not written.any() and (read is None or not read.any()):
            return None
        found = None
        for step, at in enumerate(granules.T):
            rows = np.flatnonzero(written[:, step])
            if len(rows):
                writer = self._racing_writer(thread[rows], block[rows], at[rows], strong=strong)
                rows, writer = rows[writer >= 0], writer[writer >= 0]
                if len(rows):
                    found = found or Racing.of(len(thread))
                    lanes = self.order.between_lanes(
                        block[rows], thread[rows], writer, self.written_at[at[rows]]
                    )
                    found.add(rows, writer, lanes)
            rows = rows[:0] if read is None else np.flatnonzero(read[:, step])
            if len(rows):
                reader, when = self._racing_reader(thread[rows], block[rows], at[rows])
                rows, reader, when = (each[reader >= 0] for each in (rows, reader, when))
                if len(rows):
                    found = found or Racing.of(len(thread))
                    lanes = self.order.between_lanes(block[rows], thread[rows], reader, when)
                    found.add(rows, np.full(len(rows), -1), lanes)
        return found

    def _racing_writer(self, thread: Array, block: Array, at: Array, *, strong: bool) -> Array:
        """The thread that wrote each granule last, if nothing orders it before ``thread``; else -1."""
        writer = self.writer[at]
        found = (writer >= 0) & (writer != thread)
        found &= self.written_at[at] > self.order.knows(block, thread, np.maximum(writer, 0))
        if strong:
            found &= ~self.atomic[at]
        return np.where(found, writer, -1)

    def _racing_reader(self, thread: Array, block: Array, at: Array) -> tuple[Array, Array]:
        """A thread that has read each granule, if nothing orders it before, else -1; and when it has."""
        found, when = np.full(len(at), -1, np.int64), np.zeros(len(at), np.int32)

        def race(rows: Array, reader: Array | int, times: Array) -> None:
            found[rows], when[rows] = reader, times

        row = self.order.rows(block, thread)
        for warp in range(self.warps):
            read_at = self.read_at[warp, at]
            rows = np.flatnonzero(read_at > self.order.known[block, row, warp])
            if len(rows):
                lanes = self.read_by[warp, at[rows]]
                its = thread[rows] >> 5 == warp
                lanes = lanes & ~np.where(
                    its, np.uint32(1) << (thread[rows] & (WARP - 1)).astype(np.uint32), 0
                )
                lanes = self.order.unknown_lanes(block[rows], thread[rows], warp, lanes, read_at[rows])
                rows = rows[lanes != 0]
                race(rows, warp * WARP, read_at[rows])
        if self.bulk_read_at is not None:
            read_at, reader = self.bulk_read_at[at], self.bulk_reader[at]
            late = (read_at > self.order.knows(block, thread, reader)) & (reader != thread)
            race(late, reader[late], read_at[late])
        for column, times in self.operand_read_at.items():
            read_at = times[at]
            late = read_at > self.order.knows(block, thread, np.full(len(at), column * WARP))
            race(late, column * WARP, read_at[late])
        return found, when

    def _note(self, thread: Array, block: Array, granules: Array, *, strong: bool, reads: bool) -> None:
        if reads and strong:
            return
        now = self.order.clock.now
        if not reads:
            self.writer[granules] = thread[:, None]
            self.written_at[granules] = now
            self.atomic[granules] = strong
            return
        bit = np.uint32(1) << (thread & (WARP - 1)).astype(np.uint32)
        # Who has read before and told of it since is left out: when that was is not known any more.
        known = self.order.knows_own(block, thread)
        mine = granules + (thread >> 5).astype(np.int64)[:, None] * self.read_at.shape[1]
        read_at, read_by = self.read_at.reshape(-1), self.read_by.reshape(-1)
        lanes = np.where(read_at.take(mine) > known[:, None], read_by.take(mine), np.uint32(0)) | bit[:, None]
        read_by[mine] = lanes
        lost = (lanes & ~read_by.take(mine)) != 0
        if lost.any():
            np.bitwise_or.at(read_by, mine[lost], lanes[lost])
        read_at[mine] = now
        self.last_read[granules] = now

    def _note_bulk(self, thread: Array, granules: Array) -> None:
        """Copies in bulk have read."""
        if self.bulk_read_at is None:
            self.bulk_read_at = np.zeros_like(self.last_read)
            self.bulk_reader = np.zeros_like(self.writer)
        self.bulk_read_at[granules] = self.last_read[granules] = self.order.clock.now
        self.bulk_reader[granules] = thread[:, None]

    def _report(self, x: Context, instruction: Instruction, part: Part, racing: Racing, what: str) -> None:
        addresses = part.addresses % np.uint64(self.batch.shared_stride)
        for kind, bad in racing.kinds():
            with_whom = int(racing.other[int(np.argmax(bad))])
            other = "a read by another thread" if with_whom < 0 else f"a write by {self._who(with_whom)}"
            detail = f"this {what} and {other} have no barrier between them{LACKS[kind]}"
            x.report(instruction, kind, detail, bad, addresses, "shared", part.rows)

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
        for at in self._granules(part.addresses, 16).T:
            found |= self._unfenced(lane, at, writes=writes)
        return found

    def of_threads(self, part: Part) -> bool:
        """Whether a thread, and no copy, was the last to write any of a part's 16 bytes each."""
        writer = self.writer.take(self._granules(part.addresses, 16))
        return bool(((writer >= 0) & (writer < self.warps * WARP)).any())

    def _unfenced(self, lane: int, at: Array, *, writes: bool) -> Array:
        shape, order = self.batch.shape, self.order
        block, thread = int(shape.block[lane]), int(shape.place[lane])
        writer = self.writer[at]
        bad = (writer >= 0) & (writer < self.warps * WARP)
        if not writes and not bad.any():
            return bad
        writer = np.where(bad, writer, 0)
        known = order.proxy_row(block, thread)[order.columns(writer)]
        bad &= self.written_at[at] > np.maximum(known, order.fences(block, writer))
        if not writes or not (self.last_read[at] > order.floor[block]).any():
            return bad
        known = order.proxy_row(block, thread)
        for reader in range(self.warps):
            rows = np.flatnonzero(self.read_at[reader, at] > known[reader])
            if not len(rows):
                continue
            read_at, by = self.read_at[reader, at[rows]], self.read_by[reader, at[rows]]
            for lane in bits(int(np.bitwise_or.reduce(by))):
                place = reader * WARP + lane
                fenced = max(known[order.columns(place)], order.fences(block, place))
                bad[rows] |= (read_at > fenced) & (by >> np.uint32(lane) & np.uint32(1) != 0)
        return bad

    def operands_read(self, column: int, places: Array, time: int) -> None:
        """A wgmma of the warpgroup that has this column has read 16 bytes at each place."""
        if column not in self.operand_read_at:
            self.operand_read_at[column] = np.zeros_like(self.last_read)
        at = self._granules(places, 16)
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
