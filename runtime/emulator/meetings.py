"""Tells the order of a launch when threads meet and when copies arrive: what has to look on for races."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .clock import Clock
from .context import Context
from .lanes import WARP, Lanes
from .mbarriers import State
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .access import Part
    from .barriers import Waiting
    from .batch import Batch


class Meetings:
    """Of one launch. Batches without an `Ordering` are not looked at."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def barrier(self, batch: Batch, released: list[Waiting], blocks: Array, number: int) -> None:
        """Threads have passed a barrier together."""
        if batch.order is not None:
            batch.order.barrier(released, blocks, number)

    def barrier_arrive(self, batch: Batch, lanes: Lanes, number: int) -> None:
        """Threads have come to a barrier where they do not wait."""
        if batch.order is not None:
            batch.order.barrier_arrive(lanes, number)

    def warp_barrier(self, x: Context, mask: Array) -> None:
        """Lanes of a warp have met at bar.warp.sync, those that the ``mask`` of each names."""
        if x.batch.order is not None:
            x.batch.order.warp_barrier(x.lanes, mask)

    def fence(self, x: Context) -> None:
        """Lanes execute a fence that holds for the whole device."""
        self.clock.fence(x.batch.blocks[np.unique(x.lanes.block)])

    def cluster_fence(self, x: Context) -> None:
        """Lanes execute a fence that holds for the cluster at least."""
        if x.batch.order is not None and x.batch.shape.cluster > 1:
            x.batch.order.cluster_fence(x.lanes)

    def proxy_fence(self, x: Context) -> None:
        """Lanes execute fence.proxy.async."""
        if x.batch.order is not None:
            x.batch.order.proxy_fence(x.lanes)

    def cluster_arrive(self, batch: Batch, lanes: Lanes, *, release: bool) -> None:
        """Lanes have arrived at the barrier of their cluster."""
        if batch.order is not None:
            batch.order.cluster_arrive(lanes, release=release)

    def cluster_complete(self, batch: Batch, clusters: Array) -> None:
        """All have arrived in these clusters."""
        if batch.order is not None:
            batch.order.cluster_complete(clusters)

    def cluster_wait(self, batch: Batch, lanes: Lanes) -> None:
        """Lanes have passed the barrier of their cluster."""
        if batch.order is not None:
            batch.order.cluster_wait(lanes)

    def knows(self, batch: Batch, warp: int, other: int, time: int) -> bool:
        """Whether a warp knows what another one of its block, by its number there, did up to a time."""
        if batch.order is None:
            return True
        block, inside = divmod(warp, batch.shape.warps_in_block)
        column = batch.order.own[block, other]
        return other == inside or int(batch.order.known[block, inside, column]) >= time

    def mbarrier_unknown(self, x: Context, rows: Array, state: State) -> Array:
        """Whether the lanes in these rows may see an mbarrier before it is initialised."""
        order = x.batch.order
        if order is None:
            return np.zeros(len(rows), np.bool_)
        warps = x.lanes.warp[rows]
        warp = int(warps[0]) if warps[0] == warps[-1] else None  # rows ascend, and warps with them
        if warp in state.known_to:  # what a warp knows once it knows for ever
            return np.zeros(len(rows), np.bool_)
        thread = x.lanes.take(x.batch.shape.place)[rows].astype(np.int64)
        block = x.lanes.block[rows]
        late = (thread != state.place) | (block != state.block)
        if late.any():
            late &= order.knows(block, thread, np.full(len(rows), state.place)) < state.time
            passed = order.clustered[block, thread % (order.warps * WARP)]
            late &= not state.published or passed < state.published
        whole = warp is not None and len(rows) == int(x.batch.alive_in_warp[warp]).bit_count()
        if warp is not None and whole and not late.any():
            state.known_to.add(warp)
        return late

    def mbarrier_arrive(self, x: Context, place: int, rows: Array, *, own: bool = True) -> None:
        """The lanes in these rows have arrived at an mbarrier; not ``own``: it tells not what they did."""
        if x.batch.order is not None:
            for warp, lanes in x.lanes.by_warp(rows):
                x.batch.order.object_arrive(place, warp, lanes, own=own)

    def mbarrier_complete(self, batch: Batch, place: int) -> None:
        """A phase of an mbarrier is over."""
        if batch.order is not None:
            batch.order.object_complete(place)

    def mbarrier_known(self, x: Context, place: int, rows: Array) -> Array:
        """Whether the lanes in these rows know, not by looking, that the phases so far are over."""
        order = x.batch.order
        if order is None:
            return np.ones(len(rows), np.bool_)
        keys = np.stack(
            [x.lanes.warp[rows], order.rows(x.lanes.block[rows], x.batch.shape.place[x.lanes.index[rows]])]
        )
        _, first, which = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        lanes = zip(x.lanes.warp[rows][first].tolist(), x.lanes.lane[rows][first].tolist(), strict=True)
        return np.array([order.object_known(place, *lane) for lane in lanes])[which.reshape(-1)]

    def mbarrier_wait(self, x: Context, places: Array, done: Array) -> None:
        """Lanes have seen that a phase is over, where ``done`` holds."""
        if x.batch.order is None or not done.any():
            return
        for place in np.unique(places[done]).tolist():
            for warp, lanes in x.lanes.by_warp(np.flatnonzero(done & (places == place))):
                x.batch.order.object_wait(place, warp, lanes)

    def wgmma_done(self, batch: Batch, units: Array, name: int) -> int:
        """A wgmma of a warpgroup has read units of shared memory: when that was."""
        if batch.order is None:
            return 0
        column, time = batch.order.operands_read(name)
        if batch.races is not None:
            batch.races.operands_read(column, (units * 16).astype(np.uint64), time)
        return time

    def wgmma_waited(self, batch: Batch, name: int, warp: int, time: int) -> None:
        """A warp knows that its warpgroup has read, up to a time."""
        if batch.order is not None:
            batch.order.operands_waited(name, warp, time)

    def bulk_arrived(
        self, batch: Batch, place: int, size: int, barrier: int, block: int, *, atomic: bool
    ) -> None:
        """A copy has written bytes of shared memory and arrives at an mbarrier of a block."""
        order, races = batch.order, batch.races
        if order is None:
            return
        rank = block % batch.shape.cluster
        column = order.column(rank * batch.shared_stride + barrier % batch.shared_stride)
        if races is not None:
            races.completed(column * WARP, place, size, atomic=atomic)
        order.copy_arrive(barrier, column)

    def bulk_sent(self, x: Context, i: Instruction, place: int, barrier: int) -> None:
        """A copy of a lane has read what is at a place in shared memory; it arrives at an mbarrier."""
        batch, order = x.batch, x.batch.order
        stride, cluster = batch.shared_stride, batch.shape.cluster
        block, other = place // stride, barrier // stride
        if order is not None and batch.lifetimes is not None and block != other:
            batch.lifetimes.copied(x, i, block, order.column(other % cluster * stride + barrier % stride))

    def bulk_read(self, x: Context, part: Part) -> None:
        """A copy has read bytes of shared memory: the lane knows that now."""
        if x.batch.races is not None:
            x.batch.races.note(x, part)
