"""Races in shared memory: accesses of two threads to one byte, one a write, that nothing orders.

Each block has a clock that moves on at every synchronisation. ``known[block, w, v]`` is the time up to
which what warp v did happened before what warp w does now. Barriers, mbarriers and bar.warp.sync move it on.
An access that was made at a later time than is known races. Memory is looked at in granules, the size of
the smallest access that the kernel makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .context import Context
from .lanes import Lanes
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .barriers import Waiting
    from .batch import Batch

STRONG = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")


class Races:
    """Who has accessed the shared memory of a batch, and when."""

    def __init__(self, batch: Batch, granule: int) -> None:
        self.batch = batch
        self.granule = granule
        self.shift = granule.bit_length() - 1
        shape = batch.shape
        self.warps = shape.warps_in_block
        granules = len(batch.shared.data) // granule
        self.writer = np.full(granules, -1, np.int32)
        self.written_at = np.zeros(granules, np.int32)
        self.atomic = np.zeros(granules, np.bool_)
        self.read_at = np.zeros((self.warps, granules), np.int32)
        self.last_read = np.zeros(granules, np.int32)
        self.now = np.ones(shape.blocks, np.int32)
        self.known = np.zeros((shape.blocks, self.warps, self.warps), np.int32)
        self.floor = np.zeros(shape.blocks, np.int32)
        self.arrived: dict[int, Array] = {}
        self.objects: dict[int, tuple[Array, Array]] = {}

    # -- accesses ------------------------------------------------------------------------------

    def access(
        self, x: Context, instruction: Instruction, kind: str, rows: Array | None, places: Array, size: int
    ) -> None:
        """Lanes access ``size`` bytes at byte offsets ``places`` of the batch's shared memory."""
        lanes = x.lanes
        thread, block = lanes.take(self.batch.shape.thread), lanes.block
        if rows is not None:
            thread, block = thread[rows], block[rows]
        strong = kind in ("atomic", "sync") or instruction.has(*STRONG)
        reads = kind == "load"
        granules = self._granules(places, size)
        racing = self._check(thread, block, granules, strong=strong, reads=reads)
        if racing is not None:
            bad, other = racing
            self._report(x, instruction, rows, bad, other, places, "read" if reads else "write")
        self._note(thread, block, granules, strong=strong, reads=reads)

    def _granules(self, places: Array, size: int) -> list[Array]:
        first = places.view(np.int64) >> self.shift
        return [first + step if step else first for step in range(max(1, size // self.granule))]

    def _check(
        self, thread: Array, block: Array, granules: list[Array], *, strong: bool, reads: bool
    ) -> tuple[Array, Array] | None:
        """The lanes that race, and the threads that they race with (-1: a reader).

        ``floor`` is what every warp of a block knows: only accesses after it need a closer look.
        """
        bad = np.zeros(len(thread), np.bool_)
        other = np.full(len(thread), -1, np.int64)
        floor = self.floor[block]
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
                bad[rows] |= self._racing_reader(thread[rows], block[rows], at[rows])
        return (bad, other) if bad.any() else None

    def _racing_writer(self, thread: Array, block: Array, at: Array, *, strong: bool) -> Array:
        """The thread that wrote each granule last, if nothing orders it before ``thread``; else -1."""
        writer = self.writer[at]
        found = (writer >= 0) & (writer != thread)
        known = self.known[block, thread >> np.uint32(5), np.maximum(writer, 0) >> 5]
        found &= self.written_at[at] > known
        if strong:
            found &= ~self.atomic[at]
        return np.where(found, writer, -1)

    def _racing_reader(self, thread: Array, block: Array, at: Array) -> Array:
        """Whether a warp other than the thread's has read each granule, and nothing orders it before."""
        warp = (thread >> np.uint32(5)).astype(np.int64)
        found = np.zeros(len(at), np.bool_)
        for reader in range(self.warps):
            found |= (self.read_at[reader, at] > self.known[block, warp, reader]) & (warp != reader)
        return found

    def _note(self, thread: Array, block: Array, granules: list[Array], *, strong: bool, reads: bool) -> None:
        if reads and strong:
            return
        now = self.now[block]
        warp = (thread >> np.uint32(5)).astype(np.int64) if reads else None
        for at in granules:
            if warp is not None:
                self.read_at[warp, at] = now
                self.last_read[at] = now
                continue
            self.writer[at] = thread
            self.written_at[at] = now
            self.atomic[at] = strong

    def _report(
        self,
        x: Context,
        instruction: Instruction,
        rows: Array | None,
        bad: Array,
        other: Array,
        places: Array,
        what: str,
    ) -> None:
        whole = np.zeros(x.count, np.bool_)
        addresses = np.zeros(x.count, np.uint64)
        index = slice(None) if rows is None else rows
        whole[index] = bad
        addresses[index] = places.astype(np.uint64) % np.uint64(self.batch.shared_stride)
        with_whom = int(other[int(np.argmax(bad))])
        detail = (
            f"this {what} and a read by another warp"
            if with_whom < 0
            else (f"this {what} and a write by thread {self.batch.launch.thread_index(with_whom)}")
        )
        x.report(instruction, "race", f"{detail} have no barrier between them", whole, addresses, "shared")

    def arrived_copies(self, x: Context, places: Array, size: int) -> None:
        """Asynchronous copies of these lanes have been completed: they are writes at this time."""
        lanes = x.lanes
        thread, block = lanes.take(self.batch.shape.thread), lanes.block
        self._note(thread, block, self._granules(places, size), strong=False, reads=False)

    # -- synchronisation -----------------------------------------------------------------------

    def barrier(self, released: list[Waiting], blocks: Array, number: int) -> None:
        """The threads that waited at a barrier go on; ``blocks`` says in which blocks."""
        shape = self.batch.shape
        part = np.zeros(shape.warps, np.bool_)
        for waiting in released:
            part[waiting.lanes.warp] = True
        taking = part.reshape(shape.blocks, self.warps)
        early = self.arrived.pop(number, None)
        now = self.now[:, None]
        alive = (self.batch.alive_in_warp != 0).reshape(shape.blocks, self.warps)
        if early is None and ((taking == alive) | ~blocks[:, None]).all():
            self.known = np.where((blocks[:, None] & taking)[:, :, None], now[:, :, None], self.known)
        else:
            rows = np.where(taking[:, :, None], self.known, 0).max(axis=1)
            joined = np.maximum(rows, np.where(taking, now, 0))
            if early is not None:
                joined = np.maximum(joined, np.where(blocks[:, None], early, 0))
                left = np.where(blocks[:, None], 0, early)
                if left.any():
                    self.arrived[number] = left
            gained = np.maximum(self.known, joined[:, None, :])
            self.known = np.where((blocks[:, None] & taking)[:, :, None], gained, self.known)
        self.now = self.now + blocks.astype(np.int32)
        self.floor = self.known.min(axis=(1, 2))

    def barrier_arrive(self, lanes: Lanes, number: int) -> None:
        """Lanes arrive at a barrier and do not wait."""
        shape = self.batch.shape
        early = self.arrived.setdefault(number, np.zeros((shape.blocks, self.warps), np.int32))
        for warp in np.unique(lanes.warp):
            block, inside = divmod(int(warp), self.warps)
            early[block] = np.maximum(early[block], self.known[block, inside])
            early[block, inside] = self.now[block]
        self.now[np.unique(lanes.block)] += 1

    def warp_barrier(self, lanes: Lanes) -> None:
        """Lanes of warps have met."""
        warps = lanes.warp[lanes.starts]
        block, inside = warps // self.warps, warps % self.warps
        self.known[block, inside, inside] = self.now[block]
        self.floor = self.known.min(axis=(1, 2))
        self.now[np.unique(block)] += 1

    def object_arrive(self, place: int, block: int, warp: int) -> None:
        """A warp arrives at the mbarrier at ``place``."""
        pending, _ = self._object(place)
        np.maximum(pending, self.known[block, warp], out=pending)
        pending[warp] = self.now[block]
        self.now[block] += 1

    def object_complete(self, place: int) -> None:
        """A phase of the mbarrier is over."""
        pending, done = self._object(place)
        np.maximum(done, pending, out=done)

    def object_wait(self, place: int, block: int, warp: int) -> None:
        """A warp has seen that a phase is over."""
        _, done = self._object(place)
        self.known[block, warp] = np.maximum(self.known[block, warp], done)
        self.floor[block] = self.known[block].min()

    def _object(self, place: int) -> tuple[Array, Array]:
        if place not in self.objects:
            self.objects[place] = (np.zeros(self.warps, np.int32), np.zeros(self.warps, np.int32))
        return self.objects[place]
