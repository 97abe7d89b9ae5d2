"""The barrier of each cluster: barrier.cluster.arrive and .wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .context import Context
from .lanes import Lanes
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .machine import Machine


class ClusterBarrier:
    """Of each cluster of a batch. A thread arrives, then waits, in turns."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.batch = machine.batch
        shape = machine.shape
        self.cluster = shape.block // shape.cluster  # of each lane
        self.clusters = shape.blocks // shape.cluster
        self.came = np.zeros(shape.lanes, np.bool_)  # and has not waited yet
        self.awaited = np.zeros(shape.lanes, np.int64)  # the phase in which a lane has arrived
        self.phase = np.zeros(self.clusters, np.int64)
        self.pending = np.zeros(self.clusters, np.int64)  # threads to come; counted from the first use on
        self.used = False

    def arrive(self, x: Context, i: Instruction, *, release: bool) -> None:
        """Lanes arrive; who has already has to wait first."""
        if not self.used:
            self.used = True
            self.pending = self._living()
        index = x.lanes.index
        twice = self.came[index]
        if twice.any():
            x.report(i, "barrier", "an arrival at the barrier of the cluster, again before a wait", twice)
        index = index[~twice]
        self.came[index] = True
        self.awaited[index] = self.phase[self.cluster[index]]
        self.pending -= np.bincount(self.cluster[index], minlength=self.clusters)
        lanes = Lanes.of(self.machine.shape, index)
        self.batch.launch.watch.cluster_arrive(self.batch, lanes, release=release)
        self._complete()

    def wait(self, x: Context, i: Instruction) -> Array:
        """Which lanes may go on."""
        index = x.lanes.index
        early = ~self.came[index]
        if early.any():
            x.report(i, "barrier", "a wait at the barrier of the cluster without an arrival", early)
        return early | (self.awaited[index] < self.phase[self.cluster[index]])

    def left(self, lanes: Lanes) -> None:
        """Lanes go on behind the barrier."""
        self.came[lanes.index] = False
        self.batch.launch.watch.cluster_wait(self.batch, lanes)

    def over(self, lanes: Lanes) -> bool:
        """Whether any of these lanes may go on."""
        return bool((self.awaited[lanes.index] < self.phase[self.cluster[lanes.index]]).any())

    def missing(self, lanes: Lanes) -> int:
        """How many threads the cluster of the first of these lanes waits for."""
        return int(self.pending[self.cluster[lanes.index[0]]])

    def recheck(self) -> None:
        """After lanes have ended: they count as arrived."""
        if self.used:
            alive = self.batch.alive
            now = self.awaited == self.phase[self.cluster]
            late = alive & ~(self.came & now)
            self.pending = np.bincount(self.cluster[late], minlength=self.clusters)
            self._complete()

    def _complete(self) -> None:
        living = self._living()
        done = (self.pending <= 0) & (living > 0)
        if done.any():
            self.phase[done] += 1
            # A thread that has not waited yet cannot arrive; it is counted as one that is to come.
            self.pending = np.where(done, living, self.pending)
            self.batch.launch.watch.cluster_complete(self.batch, np.flatnonzero(done))
            self.machine.poll()

    def _living(self) -> Array:
        """How many threads of each cluster have not ended."""
        return np.bincount(self.cluster[self.batch.alive], minlength=self.clusters)
