"""Whether blocks of a cluster have begun, and not ended, when others access their shared memory.

Who accesses it has to know of a thread of the block, by a barrier of the cluster or otherwise; and some
thread of the block has to know of the access before it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .clock import BEGIN
from .context import Context
from .lanes import WARP
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .batch import Batch
    from .ordering import Ordering


@dataclass(slots=True)
class Accesses:
    """Of the lanes of a warp to a block: the last instruction, each lane's number in the batch, and when."""

    instruction: Instruction
    lanes: Array
    times: Array


class Lifetimes:
    """Of the blocks of a batch."""

    def __init__(self, batch: Batch, order: Ordering) -> None:
        self.batch = batch
        self.order = order
        # By blocks, and by warps of the cluster or other columns of the order, who accessed their memory.
        self.accesses: dict[tuple[int, int], Accesses] = {}

    def access(self, i: Instruction, lanes: Array, target: Array) -> Array:
        """Lanes access the memory of these other blocks: whether these may not have begun.

        The end of an asynchronous copy to a block is told by the mbarrier there. A relaxed arrival is seen
        by who waits for the phase, though it tells of nothing else.
        """
        shape, order = self.batch.shape, self.order
        block, place = shape.block[lanes], shape.place[lanes]
        rows = order.rows(block, place)
        keys, which = np.unique(np.stack([block, rows, place >> 5, target]), axis=1, return_inverse=True)
        early = np.zeros(len(lanes), np.bool_)
        silent = i.has("async") or (i.opcode == "mbarrier" and i.has("relaxed"))
        for number, (mine, row, column, its) in enumerate(keys.T.tolist()):
            if mine == its:
                continue
            here = which.reshape(-1) == number
            began = order.known[mine, row, order.block_columns(its)].max() >= BEGIN
            early |= here & (not began and not self._after(its, BEGIN, mine))
            if not silent:
                self._note(its, column, i, place[here] & (WARP - 1), lanes[here])
        return early

    def _note(self, block: int, column: int, i: Instruction, rows: Array, lanes: Array) -> None:
        known = self.accesses.setdefault((block, column), Accesses(i, *np.zeros((2, WARP), np.int64)))
        known.instruction, known.lanes[rows], known.times[rows] = i, lanes, self.order.clock.now

    def copied(self, x: Context, i: Instruction, block: int, column: int) -> None:
        """A lane's copy to another block has read the memory of its own; this column tells of it."""
        if not self.batch.alive_in_block[block]:
            detail = "the block whose shared memory this copy reads has ended"
            x.report(i, "cluster", detail, np.ones(1, np.bool_))
        self._note(block, column, i, np.zeros(1, np.intp), x.lanes.index)

    def end(self, blocks: Array) -> None:
        """All threads of these blocks have ended: reports accesses that none of them knows of."""
        findings, order = self.batch.launch.findings, self.order
        for (block, column), accesses in self.accesses.items():
            if block not in blocks:
                continue
            rows = np.flatnonzero(accesses.times)
            times, lanes = accesses.times[rows], accesses.lanes[rows]
            for row in np.flatnonzero(order.block_knows(block, column * WARP + rows) < times).tolist():
                lane = int(lanes[row])
                other = int(self.batch.shape.block[lane])
                if other == block or not self._after(other, int(times[row]), block):
                    detail = (
                        "the block whose shared memory this accesses may end before; a barrier is missing"
                    )
                    finding = findings.at(accesses.instruction, "cluster", detail)
                    self.batch.locate(finding, lane)
                    findings.add(finding, "end")

    def _after(self, block: int, time: int, other: int) -> bool:
        """Whether a block has told another one, by way of global memory, what was at a time."""
        numbers = self.batch.blocks
        return self.order.clock.before(int(numbers[block]), time, int(numbers[other]))
