"""fence.proxy.async for global memory: between an ordinary write and a bulk copy of the same bytes.

The thread that wrote executes it behind the write, or one of the copy's block that knows of it: the one that
copies, or one that is ordered before. What the host or an earlier launch has written needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .context import Context
from .ptx import Array

if TYPE_CHECKING:
    from .launch import Launch


class ProxyFences:
    """Of one launch."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.blocks: dict[int, list[tuple[int, Array]]] = {}  # times, and who executed a fence then

    def add(self, x: Context) -> None:
        """Lanes execute a fence."""
        shape, clock = x.batch.shape, self.launch.watch.clock
        clock.now += 1
        threads = shape.thread[x.lanes.index]
        for block in np.unique(x.lanes.block).tolist():
            mine = threads[x.lanes.block == block]
            self.blocks.setdefault(int(x.batch.blocks[block]), []).append((clock.now, mine))
        clock.now += 1

    def lacks(self, x: Context, writers: Array, times: Array) -> Array:
        """For a lane that copies now, whether no fence is behind writes by threads of the grid."""
        found = np.ones(len(writers), np.bool_)
        latest = self._known(x, int(times.min()))
        block, thread = np.divmod(writers, self.launch.threads)
        for number in np.unique(block).tolist():
            rows = np.flatnonzero(block == number)
            oldest = int(times[rows].min())
            for time, threads in reversed(self.blocks.get(number, [])):
                if time <= oldest:
                    break
                found[rows] &= ~((time > times[rows]) & np.isin(thread[rows], threads))
        return found & (times >= latest)

    def _known(self, x: Context, since: int) -> int:
        """The latest fence after a time of the lane itself, or of one of its block that is before; or 0."""
        lane = int(x.lanes.index[0])
        block, thread = int(x.lanes.block[0]), int(x.batch.shape.thread[lane])
        place, order = int(x.batch.shape.place[lane]), x.batch.order
        assert order is not None
        for time, threads in reversed(self.blocks.get(int(x.batch.blocks[block]), [])):
            if time <= since:
                break
            others = threads + (place - thread)
            where, mine = np.full(len(others), block), np.full(len(others), place)
            if thread in threads or (order.knows(where, mine, others) >= time).any():
                return time
        return 0
