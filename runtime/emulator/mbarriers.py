"""mbarrier objects: counts of arrivals and of bytes in shared memory, phase by phase.

The ISA keeps their contents opaque. Here the 64 bits say nothing; what an object counts is in a `State`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .access import WRITTEN
from .context import Context
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .batch import Batch

COUNT = (1 << 20) - 1  # the most arrivals, and the most bytes either way
PHASE = 20  # where a phase's number begins in the state that an arrival gives
MARK = 1 << 63
NEVER = -2  # a phase that nobody looks for


@dataclass(slots=True)
class State:
    """One object. ``phase`` is how many are over; ``place``, ``time`` are those of who initialised it.

    ``in_vain`` is, for each thread of the block, which phase it has not seen over at its last look;
    ``known_to`` are the warps of which all lanes are known to be behind the initialisation.
    """

    expected: int
    instruction: Instruction
    block: int
    lane: int
    place: int
    time: int
    in_vain: Array
    pending: int = 0
    bytes: int = 0
    phase: int = 0
    fenced: bool = False  # by fence.mbarrier_init
    published: int = 0  # when a barrier of the cluster has told of it then
    known_to: set[int] = field(default_factory=set)

    def word(self) -> int:
        """The state that an arrival gives."""
        return MARK | self.phase << PHASE | self.pending

    def advance(self) -> bool:
        """Go to the next phase, if all that was expected has come."""
        if self.pending or self.bytes:
            return False
        self.phase += 1
        self.pending = self.expected
        return True


class Objects:
    """The mbarriers of a batch, by their places in its shared memory."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.states: dict[int, State] = {}
        self.there = np.zeros(len(batch.shared.data) // 8, np.bool_)

    def add(self, place: int, state: State) -> None:
        """Initialise an object."""
        state.pending = state.expected
        self.states[place] = state
        self.there[place // 8] = True
        self.batch.shared.view(8)[place // 8] = MARK
        self.batch.shared.written_view(8)[place // 8] = WRITTEN[8]

    def remove(self, place: int) -> State | None:
        """The memory is free for other use, and has no value."""
        self.there[place // 8] = False
        self.batch.shared.written_view(8)[place // 8] = 0
        return self.states.pop(place, None)

    def touched(self, places: Array, size: int) -> Array:
        """Whether accesses of ``size`` bytes fall on an object."""
        first = places >> 3
        found: Array = self.there[first]
        for word in range(1, max(1, size // 8)):
            found = found | self.there[first + word]
        return found

    def unfinished(self) -> list[State]:
        """Objects that expect bytes, or have had more than they expect."""
        return [state for state in self.states.values() if state.bytes]


def arrivals(x: Context, place: int, rows: Array, *, tells: bool) -> Iterator[int]:
    """The rows of lanes that arrive at an object one by one; if that ``tells``, of what is before.

    Which lanes of a warp are the first is open: a warp tells what its lanes did when the last one arrives.
    """
    warp = x.lanes.warp[rows]
    last = np.append(warp[1:] != warp[:-1], True)
    for row, whole in zip(rows.tolist(), last.tolist(), strict=True):
        if tells:
            mine = rows[warp == x.lanes.warp[row]] if whole else np.array([row])
            x.batch.launch.watch.mbarrier_arrive(x, place, mine, own=whole)
        yield row


def report(x: Context, i: Instruction, rows: Array, detail: str, kind: str = "mbarrier") -> None:
    """A finding about the lanes in these rows."""
    bad = np.zeros(x.count, np.bool_)
    bad[rows] = True
    x.report(i, kind, detail, bad)


def transact(x: Context, i: Instruction, state: State, rows: Array, count: int) -> None:
    """Add to the bytes that an object's phase waits for."""
    state.bytes += count
    if abs(state.bytes) > COUNT:
        detail = f"a transaction count of {state.bytes} bytes, not in -{COUNT}…{COUNT}"
        report(x, i, rows, detail, "transaction-count")
        state.bytes = max(-COUNT, min(COUNT, state.bytes))


def advance(x: Context, place: int, state: State) -> bool:
    """Go to the next phase, if this one is over."""
    if not state.advance():
        return False
    x.batch.launch.watch.mbarrier_complete(x.batch, place)
    return True
