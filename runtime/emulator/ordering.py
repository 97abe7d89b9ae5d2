"""What happened before what: the order that synchronisation makes between the warps and blocks of a launch.

A launch has a `Clock` that moves on at every synchronisation. ``known[block, w, v]`` is the time up to which
what warp v of the block's cluster did happened before what warp w of the block does now; barriers, mbarriers
and bar.warp.sync say so. Behind the columns of the warps are those of the mbarriers at which copies arrive,
and of the warpgroups whose wgmma read.
``fenced`` is the same for what a fence.proxy.async stands between, None before the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .clock import BEGIN, Clock
from .lanes import WARP, Lanes
from .ptx import Array

if TYPE_CHECKING:
    from .barriers import Waiting
    from .batch import Batch


class Ordering:
    """The order within the blocks of a batch."""

    def __init__(self, batch: Batch, clock: Clock) -> None:
        self.batch = batch
        self.clock = clock
        shape = batch.shape
        self.warps = shape.warps_in_block
        self.known = np.zeros((shape.blocks, self.warps, shape.cluster_warps), np.int32)
        self.fenced: Array | None = None
        rank = np.arange(shape.blocks) % shape.cluster
        self.own = rank[:, None] * self.warps + np.arange(self.warps)  # the columns of a block's warps
        self.floor = np.zeros(shape.blocks, np.int32)  # what every warp of a block knows of every other
        self.met: Array | None = (
            None  # for lanes of a warp: when they met at a bar.warp.sync for a part of it
        )
        self.arrived: dict[int, Array] = {}
        self.objects: dict[Any, Event] = {}
        self.columns: dict[int, int] = {}
        self.fenced_at = np.zeros((shape.blocks // shape.cluster, shape.cluster_warps * WARP), np.int32)
        self.released: dict[int, Array] = {}  # by warps, what is before their last fence for the cluster
        self.completed = np.zeros(shape.blocks // shape.cluster, np.int32)  # when the cluster's barrier was
        self.clustered = np.zeros((shape.blocks, self.warps), np.int32)  # the last one that a warp has passed

    def knows(self, block: Array, thread: Array, other: Array) -> Array:
        """Up to which time threads know what other threads of their clusters did.

        Threads are numbered through the cluster (`Shape.place`).
        """
        column, its = thread >> 5, other >> 5
        mine = column % self.warps
        known: Array = self.known[block, mine, its]
        if self.met is not None:
            met = self.met[block * self.warps + mine, thread & (WARP - 1), other & (WARP - 1)]
            known = np.where(column == its, np.maximum(known, met), known)
        return known

    def column(self, place: int) -> int:
        """The column of the mbarrier at a place in a cluster's shared memory; below 0, of a warpgroup."""
        found = self.columns.get(place)
        if found is None:
            found = self.columns[place] = self.known.shape[2]
            now = self.clock.now
            self.known = _wider(self.known, now)
            self.fenced = None if self.fenced is None else _wider(self.fenced, now)
            self.arrived = {number: _wider(each, now) for number, each in self.arrived.items()}
            for event in self.objects.values():
                event.widen(now)
            self._tick()
        return found

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
        going = (blocks[:, None] & taking)[:, :, None]
        whole = early is None and ((taking == alive) | ~blocks[:, None]).all()
        if whole and self.known.shape[2] == self.warps:
            self.known = np.where(going, np.int32(now), self.known)
        else:
            joined = np.where(taking[:, :, None], self.known, 0).max(axis=1)
            each = np.arange(shape.blocks)[:, None]
            joined[each, self.own] = np.maximum(joined[each, self.own], np.where(taking, np.int32(now), 0))
            if early is not None:
                joined = np.maximum(joined, np.where(blocks[:, None], early, 0))
                left = np.where(blocks[:, None], 0, early)
                if left.any():
                    self.arrived[number] = left
            self.known = np.where(going, np.maximum(self.known, joined[:, None, :]), self.known)
        if self.fenced is not None:
            joined = np.where(taking[:, :, None], self.fenced, 0).max(axis=1)
            self.fenced = np.where(going, np.maximum(self.fenced, joined[:, None, :]), self.fenced)
        self._tick()
        self.floor = self.known.min(axis=(1, 2))

    def barrier_arrive(self, lanes: Lanes, number: int) -> None:
        """Lanes arrive at a barrier and do not wait."""
        shape = self.batch.shape
        early = self.arrived.setdefault(number, np.zeros((shape.blocks, self.known.shape[2]), np.int32))
        for warp in np.unique(lanes.warp):
            block, inside = divmod(int(warp), self.warps)
            early[block] = np.maximum(early[block], self.known[block, inside])
            early[block, self.own[block, inside]] = self.clock.now
        self._tick()

    def warp_barrier(self, lanes: Lanes, mask: Array) -> None:
        """Lanes of warps have met, each with those that its ``mask`` names."""
        alive = self.batch.alive_in_warp[lanes.warp]
        whole = (mask & alive) == alive
        warps = np.unique(lanes.warp[whole])
        block, inside = warps // self.warps, warps % self.warps
        self.known[block, inside, self.own[block, inside]] = self.clock.now
        if not whole.all():
            if self.met is None:
                self.met = np.zeros((self.batch.shape.warps, WARP, WARP), np.int32)
            warp, lane = lanes.warp[~whole], lanes.lane[~whole]
            named = (mask[~whole][:, None] >> np.arange(WARP, dtype=np.uint32)) & np.uint32(1)
            self.met[warp, lane] = np.where(named != 0, np.int32(self.clock.now), self.met[warp, lane])
        self.floor = self.known.min(axis=(1, 2))
        self._tick()

    def proxy_fence(self, lanes: Lanes) -> None:
        """Lanes execute fence.proxy.async: it stands behind all that they know of.

        What other lanes of a warp do is behind it too if all of them execute it.
        """
        if self.fenced is None:
            self.fenced = np.zeros_like(self.known)
        warps = np.unique(lanes.warp)
        block, inside = warps // self.warps, warps % self.warps
        self.fenced[block, inside] = np.maximum(self.fenced[block, inside], self.known[block, inside])
        whole = lanes.present[warps] == self.batch.alive_in_warp[warps]
        shape = self.batch.shape
        threads = shape.block[lanes.index] // shape.cluster, shape.place[lanes.index]
        self.fenced_at[threads] = self.clock.now
        block, inside = block[whole], inside[whole]
        self.fenced[block, inside, self.own[block, inside]] = self.clock.now
        self._tick()

    def cluster_fence(self, lanes: Lanes) -> None:
        """Lanes execute a fence for their cluster: a relaxed arrival behind it tells what is before it."""
        for warp in np.unique(lanes.warp).tolist():
            block, inside = divmod(warp, self.warps)
            row = self.known[block, inside].copy()
            row[self.own[block, inside]] = self.clock.now
            self.released[warp] = row
        self._tick()

    def cluster_arrive(self, lanes: Lanes, *, release: bool) -> None:
        """Lanes arrive at the barrier of their cluster."""
        for state in self.batch.objects.states.values():
            if state.fenced and not state.published and state.lane in lanes.index:
                state.published = self.clock.now
        for warp in np.unique(lanes.warp).tolist():
            block, inside = divmod(warp, self.warps)
            cluster = block // self.batch.shape.cluster
            if release:
                self.object_arrive(("cluster", cluster), block, inside)
            elif warp in self.released:
                event = self._object(("cluster", cluster))
                row = self.released[warp]
                event.pending[: len(row)] = np.maximum(event.pending[: len(row)], row)
        self._tick()

    def cluster_complete(self, clusters: Array) -> None:
        """All have arrived in these clusters."""
        for cluster in clusters.tolist():
            self.object_complete(("cluster", cluster))
            self.completed[cluster] = self.clock.now

    def cluster_wait(self, lanes: Lanes) -> None:
        """Lanes have passed the barrier of their cluster."""
        for warp in np.unique(lanes.warp).tolist():
            block, inside = divmod(warp, self.warps)
            cluster = block // self.batch.shape.cluster
            self.object_wait(("cluster", cluster), block, inside)
            np.maximum(self.known[block, inside], BEGIN, out=self.known[block, inside])
            self.clustered[block, inside] = self.completed[cluster]

    def fences(self, block: int, threads: Array) -> Array:
        """When threads of the block's cluster executed their last fence.proxy.async."""
        found: Array = self.fenced_at[block // self.batch.shape.cluster, threads]
        return found

    def object_arrive(self, place: Any, block: int, warp: int, *, whole: bool = True) -> None:
        """A warp, or a part of it, arrives at the mbarrier at ``place``, or at its cluster's barrier."""
        event = self._object(place)
        np.maximum(event.pending, self.known[block, warp], out=event.pending)
        if whole:
            event.pending[self.own[block, warp]] = self.clock.now
        if self.fenced is not None:
            np.maximum(event.fenced, self.fenced[block, warp], out=event.fenced)
        self._tick()

    def copy_arrive(self, place: int, column: int) -> None:
        """Copies have arrived at the mbarrier at ``place``, which has this column in its cluster."""
        self._object(place).pending[column] = self.clock.now
        self._tick()

    def operands_read(self, name: int) -> tuple[int, int]:
        """A warpgroup, by its name among the columns, has read shared memory: its column, and the time."""
        column, now = self.column(name), self.clock.now
        self._tick()
        return column, now

    def operands_waited(self, name: int, block: int, warp: int, time: int) -> None:
        """A warp knows what its warpgroup has read up to a time."""
        column = self.column(name)
        self.known[block, warp, column] = max(time, int(self.known[block, warp, column]))
        self.floor[block] = self.known[block].min()

    def object_complete(self, place: Any) -> None:
        """A phase is over."""
        self._object(place).complete()

    def object_known(self, place: Any, block: int, warp: int) -> bool:
        """Whether a warp knows of all arrivals in the phases that are over, other than its own."""
        ahead = self._object(place).done > self.known[block, warp]
        ahead[self.own[block, warp]] = False
        return not ahead.any()

    def object_wait(self, place: Any, block: int, warp: int) -> None:
        """A warp has seen that a phase is over."""
        event = self._object(place)
        self.known[block, warp] = np.maximum(self.known[block, warp], event.done)
        self.floor[block] = self.known[block].min()
        if event.done_fenced.any():
            if self.fenced is None:
                self.fenced = np.zeros_like(self.known)
            self.fenced[block, warp] = np.maximum(self.fenced[block, warp], event.done_fenced)

    def _object(self, place: Any) -> Event:
        if place not in self.objects:
            self.objects[place] = Event(self.known.shape[2])
        return self.objects[place]


class Event:
    """What those know who wait for a phase of an mbarrier: of the one that goes on, and of those before."""

    def __init__(self, columns: int) -> None:
        self.pending, self.done, self.fenced, self.done_fenced = np.zeros((4, columns), np.int32)

    def complete(self) -> None:
        """The phase is over."""
        np.maximum(self.done, self.pending, out=self.done)
        np.maximum(self.done_fenced, self.fenced, out=self.done_fenced)

    def widen(self, value: int) -> None:
        """One column more."""
        self.pending, self.done = _wider(self.pending, value), _wider(self.done, value)
        self.fenced, self.done_fenced = _wider(self.fenced, value), _wider(self.done_fenced, value)


def _wider(array: Array, value: int) -> Array:
    """The array with one column more."""
    return np.concatenate([array, np.full((*array.shape[:-1], 1), value, np.int32)], axis=-1)
