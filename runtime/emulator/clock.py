"""The time of a launch, and the order that fences and atomics in global memory make between its blocks.

Between blocks, and warps without a barrier, a fence and a later atomic by the one order what it did before
the fence, for who executes an atomic after that.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from .ptx import Array

BEGIN = 1  # when all blocks of a cluster have begun; what they do is later


class Clock:
    """The time of a launch, and what its blocks have published and seen through global memory."""

    def __init__(self, blocks: int) -> None:
        self.now = BEGIN + 1
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
