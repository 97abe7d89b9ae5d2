"""mbarrier objects: counts of arrivals and of bytes in shared memory, phase by phase.

The ISA keeps their contents opaque. Here the 64 bits say nothing; what an object counts is in a `State`.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(slots=True)
class State:
    """One object. ``phase`` is how many are over; ``place``, ``time`` are those of who initialised it."""

    expected: int
    instruction: Instruction
    block: int
    lane: int
    place: int
    time: int
    pending: int = 0
    bytes: int = 0
    phase: int = 0
    fenced: bool = False  # by fence.mbarrier_init
    published: int = 0  # when a barrier of the cluster has told of it then

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
        self.waited = np.full((2, batch.shape.lanes), -1, np.int64)  # by lanes in vain: place, and phase
        self._refused: dict[int, tuple[int, Array]] = {}  # by places: a phase, and which lanes

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

    def refused(self, place: int) -> Array:
        """Which lanes a try_wait has told that this phase is not over; who calls may add some."""
        phase = self.states[place].phase
        known = self._refused.get(place)
        if known is None or known[0] != phase:
            known = self._refused[place] = phase, np.zeros(self.batch.shape.lanes, np.bool_)
        return known[1]

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
