"""What happened before what: the order that synchronisation makes between the threads of a launch.

A launch has a `Clock` that moves on at every synchronisation. Barriers, mbarriers and bar.warp.sync say who
knows of whose past up to when (`Knowledge`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .clock import BEGIN, Clock
from .event import Event
from .knowledge import Knowledge
from .lanes import WARP, Lanes, bits
from .ptx import Array

if TYPE_CHECKING:
    from .barriers import Waiting
    from .batch import Batch


class Ordering(Knowledge):
    """The order within the blocks of a batch."""

    def __init__(self, batch: Batch, clock: Clock) -> None:
        super().__init__(batch, clock)
        shape = batch.shape
        self.arrived: dict[int, Array] = {}  # by barriers, what those tell of each block who do not wait
        self.objects: dict[Any, Event] = {}
        self.numbers: dict[int, int] = {}
        self.fenced_at = np.zeros((shape.blocks // shape.cluster, shape.cluster_warps * WARP), np.int32)
        # By warps, what lanes (bits) know that have executed a fence for the cluster since the last one.
        self.released: dict[int, list[tuple[int, Array]]] = {}
        self.completed = np.zeros(shape.blocks // shape.cluster, np.int32)  # when the cluster's barrier was
        self.clustered = np.zeros(
            (shape.blocks, self.warps * WARP), np.int32
        )  # the last that a thread passed

    def column(self, place: int) -> int:
        """The column of the mbarrier at a place in a cluster's shared memory; below 0, of a warpgroup."""
        found = self.numbers.get(place)
        if found is None:
            now = self.clock.now
            found = self.numbers[place] = self.widen(
                lambda array: np.concatenate([array, np.full((*array.shape[:-1], 1), now, np.int32)], axis=-1)
            )
            self._tick()
        return found

    def widen(self, wider: Callable[[Array], Array]) -> int:
        """One column more, in what is told but not known yet, too."""
        self.arrived = {number: wider(each) for number, each in self.arrived.items()}
        self.released = {
            warp: [(lanes, wider(row)) for lanes, row in each] for warp, each in self.released.items()
        }
        for event in self.objects.values():
            event.widen(wider)
        return super().widen(wider)

    def _tick(self) -> None:
        self.clock.now += 1

    def _set_floor(self) -> None:
        self.floor = self.known[:, : self.warps].min(axis=(1, 2))

    def barrier(self, released: list[Waiting], blocks: Array, number: int) -> None:
        """The threads that waited at a barrier go on; ``blocks`` says in which blocks."""
        shape, now = self.batch.shape, self.clock.now
        present = np.zeros(shape.warps, np.uint32)
        for waiting in released:
            present |= waiting.lanes.present
        lacking = present & self.batch.alive_in_warp != self.batch.alive_in_warp
        parts = {warp: int(present[warp]) for warp in np.flatnonzero(lacking & (present != 0)).tolist()}
        for warp in [warp for warp in self.apart if present[warp]]:
            self.meet(warp, int(present[warp]))
        for warp, lanes in parts.items():
            self._come(number, warp, lanes)
            present[warp] = 0
        taking = (present != 0).reshape(shape.blocks, self.warps)
        alive = (self.batch.alive_in_warp != 0).reshape(shape.blocks, self.warps)
        early = self.arrived.pop(number, None)
        going = (blocks[:, None] & taking)[:, :, None]
        fenced = np.zeros_like(self.known[:, 0])
        if self.fenced is not None:
            mine = self.fenced[:, : self.warps]
            fenced = np.where(taking[:, :, None], mine, 0).max(axis=1)
            if early is not None:
                fenced = np.maximum(fenced, np.where(blocks[:, None], early[1], 0))
            mine[:] = np.where(going, np.maximum(mine, fenced[:, None, :]), mine)
        mine = self.known[:, : self.warps]
        whole = early is None and ((taking == alive) | ~blocks[:, None]).all()
        if whole and self.known.shape[2] == self.warps:
            mine[:] = np.where(going, np.int32(now), mine)
        else:
            joined = np.where(taking[:, :, None], mine, 0).max(axis=1)
            each = np.arange(shape.blocks)[:, None]
            joined[each, self.own] = np.maximum(joined[each, self.own], np.where(taking, np.int32(now), 0))
            if early is not None:
                joined = np.maximum(joined, np.where(blocks[:, None], early[0], 0))
                left = np.where(blocks[:, None], 0, early)
                if left.any():
                    self.arrived[number] = left
            self.level(joined)
            mine[:] = np.where(going, np.maximum(mine, joined[:, None, :]), mine)
            for warp, lanes in parts.items():
                block = warp // self.warps
                self.learn(warp, lanes, np.stack([joined[block], fenced[block]]))
        self._tick()
        self._set_floor()

    def barrier_arrive(self, lanes: Lanes, number: int) -> None:
        """Lanes arrive at a barrier and do not wait."""
        for warp, mine in lanes.by_warp():
            self._come(number, warp, mine)
        self._tick()

    def _come(self, number: int, warp: int, lanes: int) -> None:
        row = self.tells(warp, lanes)
        nothing = np.zeros((2, self.batch.shape.blocks, row.shape[1]), np.int32)
        early = self.arrived.setdefault(number, nothing)[:, warp // self.warps]
        np.maximum(early, row, out=early)

    def warp_barrier(self, lanes: Lanes, mask: Array) -> None:
        """Lanes of warps have met, each with those that its ``mask`` names."""
        alive = self.batch.alive_in_warp[lanes.warp]
        whole = (mask & alive) == alive
        warps = np.unique(lanes.warp[whole])
        for warp in [warp for warp in self.apart if warp in warps]:
            self.meet(warp, int(self.batch.alive_in_warp[warp]))
        block, inside = warps // self.warps, warps % self.warps
        self.known[block, inside, self.own[block, inside]] = self.clock.now
        if len(self.lone):
            self.known[block, inside] = self.level(self.known[block, inside])
        if not whole.all():
            self._parts_meet(lanes.warp[~whole], lanes.lane[~whole], mask[~whole])
        self._set_floor()
        self._tick()

    def _parts_meet(self, warp: Array, lane: Array, mask: Array) -> None:
        if self.met is None:
            self.met = np.zeros((self.batch.shape.warps, WARP, WARP), np.int32)
        named = (mask[:, None] >> np.arange(WARP, dtype=np.uint32)) & np.uint32(1) != 0
        met = self.met[warp, lane]
        if self.apart or (met.astype(np.bool_) & ~named).any():
            keys, group = np.unique(warp.astype(np.int64) << WARP | mask, return_inverse=True)
            order = np.argsort(group, kind="stable")
            starts = np.searchsorted(group[order], np.arange(len(keys)))
            met = np.maximum.reduceat(met[order], starts)[group]
            for each, lanes in ((key >> WARP, key & 0xFFFFFFFF) for key in keys.tolist()):
                if each in self.apart:
                    self.meet(each, lanes & int(self.batch.alive_in_warp[each]))
        self.met[warp, lane] = np.where(named, np.int32(self.clock.now), met)

    def proxy_fence(self, lanes: Lanes) -> None:
        """Lanes execute fence.proxy.async: it stands behind all that they know of.

        What other lanes of a warp do is behind it too if all of them execute it.
        """
        if self.fenced is None:
            self.fenced = np.zeros_like(self.known)
        shape = self.batch.shape
        threads = shape.block[lanes.index] // shape.cluster, shape.place[lanes.index]
        self.fenced_at[threads] = self.clock.now
        for warp, mine in lanes.by_warp():
            block, inside = divmod(warp, self.warps)
            if mine != int(self.batch.alive_in_warp[warp]):
                for lane in bits(mine):
                    known, _ = self.lanes_tell(warp, 1 << lane)
                    self.learn(warp, 1 << lane, np.stack([known, known]))
                continue
            for row in self.rows_of(warp, mine):
                np.maximum(self.fenced[block, row], self.known[block, row], out=self.fenced[block, row])
                self.fenced[block, row, self.own[block, inside]] = self.clock.now
                self.level(self.fenced[block, row])
        self._tick()

    def cluster_fence(self, lanes: Lanes) -> None:
        """Lanes execute a fence for their cluster: a relaxed arrival behind it tells what is before it."""
        for warp, mine in lanes.by_warp():
            row = self.tells(warp, mine)
            before = [(each, old) for each, old in self.released.get(warp, []) if each & ~mine]
            self.released[warp] = [*before, (mine, row)]
        self._tick()

    def cluster_arrive(self, lanes: Lanes, *, release: bool) -> None:
        """Lanes arrive at the barrier of their cluster."""
        for state in self.batch.objects.states.values():
            if state.fenced and not state.published and state.lane in lanes.index:
                state.published = self.clock.now
        for warp, mine in lanes.by_warp():
            place = "cluster", warp // self.warps // self.batch.shape.cluster
            if release:
                self.object_arrive(place, warp, mine)
            for fencing, row in [] if release else self.released.get(warp, []):
                if fencing & mine:
                    event = self._object(place)
                    np.maximum(event.pending, row, out=event.pending)
        self._tick()

    def cluster_complete(self, clusters: Array) -> None:
        """All have arrived in these clusters."""
        for cluster in clusters.tolist():
            self.object_complete(("cluster", cluster))
            self.completed[cluster] = self.clock.now

    def cluster_wait(self, lanes: Lanes) -> None:
        """Lanes have passed the barrier of their cluster."""
        cluster = lanes.block // self.batch.shape.cluster
        threads = self.batch.shape.thread[lanes.index]
        self.clustered[lanes.block, threads] = self.completed[cluster]
        for warp, mine in lanes.by_warp():
            self.object_wait(("cluster", warp // self.warps // self.batch.shape.cluster), warp, mine)
            self.learn(warp, mine, np.array([[BEGIN], [0]], np.int32))

    def fences(self, block: int, threads: Any) -> Any:
        """When threads of the block's cluster executed their last fence.proxy.async."""
        return self.fenced_at[block // self.batch.shape.cluster, threads]

    def object_arrive(self, place: Any, warp: int, lanes: int, *, own: bool = True) -> None:
        """Lanes of a warp arrive at the mbarrier at ``place``, or at their cluster's barrier.

        It tells what they did if it is their ``own`` past, else only what they know.
        """
        row = self.tells(warp, lanes, own=own)
        event = self._object(place)
        np.maximum(event.pending, row, out=event.pending)
        self._tick()

    def copy_arrive(self, place: int, column: int) -> None:
        """Copies have arrived at the mbarrier at ``place``, which has this column in its cluster."""
        self._object(place).pending[0, column] = self.clock.now
        self._tick()

    def operands_read(self, name: int) -> tuple[int, int]:
        """A warpgroup, by its name among the columns, has read shared memory: its column, and the time."""
        column, now = self.column(name), self.clock.now
        self._tick()
        return column, now

    def operands_waited(self, name: int, warp: int, time: int) -> None:
        """A warp knows what its warpgroup has read up to a time."""
        block, column = warp // self.warps, self.column(name)
        for row in [warp % self.warps, *self.apart.get(warp, {}).values()]:
            self.known[block, row, column] = max(time, int(self.known[block, row, column]))
        self.floor[block] = self.known[block, : self.warps].min()

    def object_complete(self, place: Any) -> None:
        """A phase is over."""
        self._object(place).complete()

    def object_known(self, place: Any, warp: int, lane: int) -> bool:
        """Whether a lane knows of all arrivals in the phases that are over, other than its warp's."""
        known, _ = self.joined(warp, 1 << lane)
        ahead = self._object(place).done[0] > known
        ahead[self.own_columns(warp)] = False
        return not ahead.any()

    def object_wait(self, place: Any, warp: int, lanes: int) -> None:
        """Lanes of a warp have seen that a phase is over."""
        block = warp // self.warps
        self.learn(warp, lanes, self._object(place).done)
        self.floor[block] = self.known[block, : self.warps].min()

    def _object(self, place: Any) -> Event:
        if place not in self.objects:
            self.objects[place] = Event(self.known.shape[2])
        return self.objects[place]
