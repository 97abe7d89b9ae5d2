"""What happened before what: the order that synchronisation makes between the warps and blocks of a launch.

A launch has a clock that moves on at every synchronisation. In a block, ``known[block, w, v]`` is the time up
to which what warp v did happened before what warp w does now; barriers, mbarriers and bar.warp.sync say so.
Between blocks, and warps without a barrier, a fence and a later atomic by the one order what it did before
the fence, for who executes an atomic after that.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from .lanes import WARP, Lanes
from .ptx import Array

if TYPE_CHECKING:
    from .barriers import Waiting
    from .batch import Batch


class Clock:
    """The time of a launch, and what its blocks have published and seen through global memory."""

    def __init__(self, blocks: int) -> None:
        self.now = 1
        self.fenced = np.zeros(blocks, np.int32)
        self.seen = np.zeros(blocks, np.int32)
        self._published = np.zeros(blocks, np.int32)
        self._fences: dict[int, list[int]] = {}
        self._releases: dict[int, list[int]] = {}

    def fence(self, blocks: Array) -> None:
        """Blocks execute a fence that holds for the whole device."""
        self.fenced[blocks] = self.now
        self.now += 1

    def publish(self, blocks: Array) -> None:
        """Blocks write global memory by an atomic or strong access: what is before their fence is out."""
        fresh = blocks[self.fenced[blocks] > self._published[blocks]]
        for block in np.unique(fresh).tolist():
            self._fences.setdefault(block, []).append(int(self.fenced[block]))
            self._releases.setdefault(block, []).append(self.now)
        if len(fresh):
            self._published[fresh] = self.fenced[fresh]
            self.now += 1

    def see(self, blocks: Array) -> None:
        """Blocks read global memory so."""
        self.seen[blocks] = self.now

    def before(self, block: int, time: int, other: int) -> bool:
        """Whether what ``block`` did at ``time`` is before what ``other`` does now."""
        fences = self._fences.get(block, [])
        at = bisect_left(fences, time)
        return at < len(fences) and self._releases[block][at] <= int(self.seen[other])


class Ordering:
    """The order within the blocks of a batch."""

    def __init__(self, batch: Batch, clock: Clock) -> None:
        self.batch = batch
        self.clock = clock
        shape = batch.shape
        self.warps = shape.warps_in_block
        self.known = np.zeros((shape.blocks, self.warps, self.warps), np.int32)
        self.floor = np.zeros(shape.blocks, np.int32)  # what every warp of a block knows of every other
        self.met: Array | None = (
            None  # for lanes of a warp: when they met at a bar.warp.sync for a part of it
        )
        self.arrived: dict[int, Array] = {}
        self.objects: dict[int, tuple[Array, Array]] = {}

    def knows(self, block: Array, thread: Array, other: Array) -> Array:
        """Up to which time threads know what other threads of their blocks did."""
        mine, its = thread >> 5, other >> 5
        known: Array = self.known[block, mine, its]
        if self.met is not None:
            met = self.met[block * self.warps + mine, thread & (WARP - 1), other & (WARP - 1)]
            known = np.where(mine == its, np.maximum(known, met), known)
        return known

    def _tick(self) -> None:
        self.clock.now += 1

    def barrier(self, released: list[Waiting], blocks: Array, number: int) -> None:
        """The threads that waited at a barrier go on; ``blocks`` says in which blocks."""
        shape, now = self.batch.shape, self.clock.now
        part = np.zeros(shape.warps, np.bool_)
        for waiting in released:
            part[waiting.lanes.warp] = True
        taking = part.reshape(shape.blocks, self.warps)
        early = self.arrived.pop(number, None)
        alive = (self.batch.alive_in_warp != 0).reshape(shape.blocks, self.warps)
        if early is None and ((taking == alive) | ~blocks[:, None]).all():
            self.known = np.where((blocks[:, None] & taking)[:, :, None], np.int32(now), self.known)
        else:
            rows = np.where(taking[:, :, None], self.known, 0).max(axis=1)
            joined = np.maximum(rows, np.where(taking, np.int32(now), 0))
            if early is not None:
                joined = np.maximum(joined, np.where(blocks[:, None], early, 0))
                left = np.where(blocks[:, None], 0, early)
                if left.any():
                    self.arrived[number] = left
            gained = np.maximum(self.known, joined[:, None, :])
            self.known = np.where((blocks[:, None] & taking)[:, :, None], gained, self.known)
        self._tick()
        self.floor = self.known.min(axis=(1, 2))

    def barrier_arrive(self, lanes: Lanes, number: int) -> None:
        """Lanes arrive at a barrier and do not wait."""
        shape = self.batch.shape
        early = self.arrived.setdefault(number, np.zeros((shape.blocks, self.warps), np.int32))
        for warp in np.unique(lanes.warp):
            block, inside = divmod(int(warp), self.warps)
            early[block] = np.maximum(early[block], self.known[block, inside])
            early[block, inside] = self.clock.now
        self._tick()

    def warp_barrier(self, lanes: Lanes, mask: Array) -> None:
        """Lanes of warps have met, each with those that its ``mask`` names."""
        alive = self.batch.alive_in_warp[lanes.warp]
        whole = (mask & alive) == alive
        warps = np.unique(lanes.warp[whole])
        block, inside = warps // self.warps, warps % self.warps
        self.known[block, inside, inside] = self.clock.now
        if not whole.all():
            if self.met is None:
                self.met = np.zeros((self.batch.shape.warps, WARP, WARP), np.int32)
            warp, lane = lanes.warp[~whole], lanes.lane[~whole]
            named = (mask[~whole][:, None] >> np.arange(WARP, dtype=np.uint32)) & np.uint32(1)
            self.met[warp, lane] = np.where(named != 0, np.int32(self.clock.now), self.met[warp, lane])
        self.floor = self.known.min(axis=(1, 2))
        self._tick()

    def object_arrive(self, place: int, block: int, warp: int) -> None:
        """A warp arrives at the mbarrier at ``place``."""
        pending, _ = self._object(place)
        np.maximum(pending, self.known[block, warp], out=pending)
        pending[warp] = self.clock.now
        self._tick()

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
