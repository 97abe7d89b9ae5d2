"""The barriers of each block: who has arrived, and who is let go when all have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .context import Context
from .lanes import Lanes
from .operands import Write
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .machine import Group, Machine

BARRIERS = 16  # of a block


class Waiting(NamedTuple):
    """Lanes at a barrier; ``votes`` and ``write`` belong to barrier.red."""

    group: Group
    lanes: Lanes
    instruction: Instruction
    aligned: bool
    votes: Array | None
    write: Write | None


class Barriers:
    """The sixteen barriers of each block of a batch."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.batch = machine.batch
        blocks = machine.shape.blocks
        self.arrived = np.zeros((BARRIERS, blocks), np.int64)
        self.expected = np.zeros((BARRIERS, blocks), np.int64)  # 0: all that are alive
        self.waiting: dict[int, list[Waiting]] = {}

    def arrive(self, number: int, count: int, came: Waiting, *, wait: bool) -> None:
        """Lanes come to barrier ``number``, that ``count`` threads take part in (0: all), and may wait."""
        machine, lanes = self.machine, came.lanes
        alone = wait and not count and not self.waiting and not self.arrived[number].any()
        if alone and lanes.count == self.batch.alive_count:
            self._release(number, [came], np.ones(machine.shape.blocks, np.bool_))
            return
        blocks = lanes.block
        expected = self.expected[number]
        pending = (self.arrived[number] > 0)[blocks] & (expected[blocks] != count)
        if pending.any():
            x = Context(self.batch, came.group.frame, lanes)
            x.report(came.instruction, "barrier", f"barrier {number} with two thread counts", pending)
        expected[blocks] = count
        self.arrived[number] += np.bincount(blocks, minlength=machine.shape.blocks)
        if not wait:
            self.batch.launch.watch.barrier_arrive(self.batch, lanes, number)
        if wait:
            self.waiting.setdefault(number, []).append(came)
        self._complete(number)

    def recheck(self) -> None:
        """After lanes have ended: barriers for all that are alive may be complete."""
        for number in list(self.waiting):
            self._complete(number)

    def _complete(self, number: int) -> None:
        arrived, expected = self.arrived[number], self.expected[number]
        wanted = np.where(expected > 0, expected, self.batch.alive_in_block)
        complete = (arrived >= wanted) & (arrived > 0)
        if not complete.any():
            return
        released: list[Waiting] = []
        kept: list[Waiting] = []
        for waiting in self.waiting.pop(number, []):
            inside = complete[waiting.lanes.block]
            if inside.any():
                votes = waiting.votes
                lanes = waiting.lanes.where(inside)
                released.append(waiting._replace(lanes=lanes, votes=None if votes is None else votes[inside]))
            if not inside.all():
                votes = waiting.votes
                lanes = waiting.lanes.where(~inside)
                kept.append(waiting._replace(lanes=lanes, votes=None if votes is None else votes[~inside]))
        if kept:
            self.waiting[number] = kept
        over = complete & (arrived > wanted)
        if over.any() and released:
            first = released[0]
            x = Context(self.batch, first.group.frame, first.lanes)
            detail = f"more threads arrive at barrier {number} than it was given"
            x.report(first.instruction, "barrier", detail, over[first.lanes.block])
        arrived[complete] = 0
        self._release(number, released, complete)

    def _release(self, number: int, released: list[Waiting], blocks: Array) -> None:
        self._check_aligned(released)
        self.batch.launch.watch.barrier(self.batch, released, blocks, number)
        voting = [waiting for waiting in released if waiting.write is not None]
        if voting:
            self._vote(voting)
        for waiting in released:
            self.machine.move(waiting.group, waiting.group.pc + 1, waiting.lanes)

    def _check_aligned(self, released: list[Waiting]) -> None:
        """An aligned barrier is for whole warps: all their threads execute the same instruction."""
        for waiting in released:
            if not waiting.aligned:
                continue
            lanes = waiting.lanes
            same = [other.lanes for other in released if other.instruction is waiting.instruction]
            present = same[0].present
            for more in same[1:]:
                present = present | more.present
            broken = (present != self.batch.alive_in_warp)[lanes.warp]
            if broken.any():
                x = Context(self.batch, waiting.group.frame, lanes)
                detail = "threads of one warp pass an aligned barrier at different instructions"
                x.report(waiting.instruction, "barrier-divergence", detail, broken)

    def _vote(self, voting: list[Waiting]) -> None:
        shape = self.machine.shape
        total = np.zeros(shape.blocks, np.int64)
        everyone = np.zeros(shape.blocks, np.int64)
        for waiting in voting:
            assert waiting.votes is not None
            total += np.bincount(waiting.lanes.block, waiting.votes, shape.blocks).astype(np.int64)
            everyone += np.bincount(waiting.lanes.block, minlength=shape.blocks)
        for waiting in voting:
            x = Context(self.batch, waiting.group.frame, waiting.lanes)
            mine = waiting.lanes.block
            value: Any
            if waiting.instruction.has("popc"):
                value = total[mine].astype(np.uint32)
            elif waiting.instruction.has("and"):
                value = total[mine] == everyone[mine]
            else:
                value = total[mine] > 0
            assert waiting.write is not None
            waiting.write(x, value)
