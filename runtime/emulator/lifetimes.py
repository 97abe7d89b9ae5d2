"""Whether blocks of a cluster have begun, and not ended, when others access their shared memory.

Who accesses it has to know of a thread of the block, by a barrier of the cluster or otherwise; and some
thread of the block has to know of the access before it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .clock import BEGIN
from .context import Context
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .batch import Batch
    from .ordering import Ordering


class Lifetimes:
    """Of the blocks of a batch."""

    def __init__(self, batch: Batch, order: Ordering) -> None:
        self.batch = batch
        self.order = order
        # By blocks, and by columns of the order who accessed their memory: when last, where, which lane.
        self.accesses: dict[tuple[int, int], tuple[int, Instruction, int]] = {}

    def access(self, i: Instruction, lanes: Array, target: Array) -> Array:
        """Lanes access the memory of these other blocks: whether these may not have begun.

        The end of an asynchronous copy to a block is told by the mbarrier there. A relaxed arrival is seen
        by who waits for the phase, though it tells of nothing else.
        """
        shape, order = self.batch.shape, self.order
        warp, block = shape.warp[lanes], shape.block[lanes]
        places = np.unique(np.stack([warp, target]), axis=1, return_index=True)[1]
        early = np.zeros(len(lanes), np.bool_)
        silent = i.has("async") or (i.opcode == "mbarrier" and i.has("relaxed"))
        for row in places.tolist():
            mine, its = int(block[row]), int(target[row])
            if mine == its:
                continue
            inside = int(warp[row]) % shape.warps_in_block
            began = order.known[mine, inside, order.own[its]].max() >= BEGIN
            if not began and not self._after(its, BEGIN, mine):
                early |= (warp == warp[row]) & (target == its)
            if not silent:
                column = int(order.own[mine, inside])
                self.accesses[its, column] = order.clock.now, i, int(lanes[row])
        return early

    def copied(self, x: Context, i: Instruction, block: int, column: int) -> None:
        """A lane's copy to another block has read the memory of its own; this column tells of it."""
        if not self.batch.alive_in_block[block]:
            detail = "the block whose shared memory this copy reads has ended"
            x.report(i, "cluster", detail, np.ones(1, np.bool_))
        self.accesses[block, column] = self.order.clock.now, i, int(x.lanes.index[0])

    def end(self, blocks: Array) -> None:
        """All threads of these blocks have ended: reports accesses that none of them knows of."""
        findings, order = self.batch.launch.findings, self.order
        for (block, column), (time, i, lane) in list(self.accesses.items()):
            if block not in blocks:
                continue
            other = int(self.batch.shape.block[lane])
            known = order.known[block, :, column].max() >= time
            if not known and (other == block or not self._after(other, time, block)):
                detail = "the block whose shared memory this accesses may end before; a barrier is missing"
                finding = findings.at(i, "cluster", detail)
                self.batch.locate(finding, lane)
                findings.add(finding, "end")

    def _after(self, block: int, time: int, other: int) -> bool:
        """Whether a block has told another one, by way of global memory, what was at a time."""
        numbers = self.batch.blocks
        return self.order.clock.before(int(numbers[block]), time, int(numbers[other]))
