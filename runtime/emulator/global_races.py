"""Races in global memory: of threads of one block as in shared memory, and of threads of different blocks.

For each granule of an allocation, the smallest access that the kernel makes, the last writer and the last
two readers of different warps are kept. Blocks are ordered by fences and atomics alone (`Clock`). A copy in
bulk reads when it arrives at its mbarrier: who writes has to know of that, not of the thread that issued it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .context import Context
from .lanes import WARP
from .ptx import Array, Instruction
from .races import LACKS, STRONG, Unchanged

if TYPE_CHECKING:
    from .access import Part
    from .batch import Batch
    from .clock import Clock
    from .launch import Launch
    from .memory import Allocation
    from .proxy_fences import ProxyFences

MOST_BYTES = 1 << 30  # so much may all maps of who accessed what take; what is beyond is not looked at
_BYTES = 26  # of the map, for a granule


@dataclass(slots=True)
class Accesses:
    """Who wrote each granule last, who read it, and when. Threads are numbered through the grid."""

    writer: Array
    written_at: Array
    atomic: Array
    readers: tuple[Array, Array]
    read_at: tuple[Array, Array]
    bulk: Array  # whether a copy in bulk wrote it
    is_read: bool = False  # whether any granule is
    is_written: bool = False

    @classmethod
    def of(cls, granules: int) -> Accesses:
        """Nobody, never."""
        a, b, c, d, e, f = (np.zeros(granules, np.int32) for _ in range(6))
        atomic, bulk = np.zeros(granules, np.bool_), np.zeros(granules, np.bool_)
        return cls(a, b, atomic, (c, d), (e, f), bulk)


@dataclass(frozen=True, slots=True)
class Access:
    """One instruction's access to an allocation, by ``thread`` of the grid each."""

    x: Context
    instruction: Instruction
    part: Part
    thread: Array
    strong: bool
    reads: bool
    bulk: bool
    unchanged: Unchanged | None


class GlobalRaces:
    """Of one launch."""

    def __init__(self, launch: Launch, granule: int, clock: Clock) -> None:
        self.launch = launch
        self.clock = clock
        self.shift = granule.bit_length() - 1
        self.threads = launch.threads
        self.left = MOST_BYTES if math.prod(launch.grid) * launch.threads < 1 << 31 else 0
        self.maps: dict[int, Accesses | None] = {}
        # The mbarriers at which copies arrive, as readers: a block, and a column in the order of its cluster.
        self.barriers: dict[tuple[int, int], int] = {}

    def access(
        self,
        x: Context,
        instruction: Instruction,
        kind: str,
        part: Part,
        size: int,
        unchanged: Unchanged | None,
        *,
        bulk: bool = False,
    ) -> None:
        """Lanes access ``size`` bytes of an allocation."""
        found = self._map(part.allocation)
        if found is None:
            return
        strong = kind == "atomic" or instruction.has(*STRONG)
        if strong:
            self._synchronise(x, instruction, kind)
        thread = x.lanes.take(x.batch.value("the thread in the grid", self._numbers))
        thread = thread if part.rows is None else thread[part.rows]
        access = Access(x, instruction, part, thread, strong, kind == "load", bulk, unchanged)
        first = (part.addresses >> np.uint64(self.shift)).view(np.int64)
        first = first - (part.allocation.base >> self.shift)
        at = first[:, None] + np.arange(max(1, size >> self.shift))
        if found.is_written or (found.is_read and not access.reads):
            for each in at.T:
                self._check(access, found, each)
        if not (bulk and access.reads):
            _note(access, found, at, self.clock.now)

    def fetched(self, block: int, column: int, starts: Array, unit: int) -> None:
        """A copy that has read ``unit`` bytes at each address arrives at an mbarrier, a column of a block."""
        number = self.barriers.setdefault((block, column), len(self.barriers) + 1)
        reader = np.int32(-WARP * number)  # as a thread of a warp of its own, below all others
        while len(starts):
            allocation = self.launch.memory.find(int(starts.min()))
            end = np.uint64(int(starts.min()) + 1 if allocation is None else allocation.end)
            mine, starts = starts[starts < end], starts[starts >= end]
            found = None if allocation is None else self._map(allocation)
            if allocation is None or found is None:
                continue
            mine = mine[mine + np.uint64(unit) <= end]
            first = (mine >> np.uint64(self.shift)).view(np.int64) - (allocation.base >> self.shift)
            for step in range(max(1, unit >> self.shift)):
                _note_read(found, first + step, reader, self.clock.now)

    def last_write(self, part: Part, size: int) -> tuple[int, int] | None:
        """Who wrote last, and when, to the ``size`` bytes of a part of one lane; None if nobody has."""
        found = self._map(part.allocation)
        if found is None:
            return None
        first = (int(part.addresses[0]) >> self.shift) - (part.allocation.base >> self.shift)
        times = found.written_at[first : first + max(1, size >> self.shift)]
        latest = int(times.argmax())
        return (int(found.writer[first + latest]), int(times[latest])) if times[latest] else None

    def unfenced(self, x: Context, part: Part, size: int, fences: ProxyFences) -> Array:
        """Whether ordinary writes to ``size`` bytes each of a part lack a fence before one lane's copy."""
        bad = np.zeros(len(part.addresses), np.bool_)
        found = self._map(part.allocation)
        if found is None:
            return bad
        first = (part.addresses >> np.uint64(self.shift)).view(np.int64)
        first = first - (part.allocation.base >> self.shift)
        for step in range(max(1, size >> self.shift)):
            at = first + step
            rows = np.flatnonzero((found.written_at[at] > 0) & ~found.bulk[at])
            if len(rows):
                bad[rows] |= fences.lacks(x, found.writer[at[rows]], found.written_at[at[rows]])
        return bad

    def _map(self, allocation: Allocation) -> Accesses | None:
        if allocation.base not in self.maps:
            granules = (allocation.size >> self.shift) + 2
            fits = allocation.writable and granules * _BYTES <= self.left
            self.left -= granules * _BYTES if fits else 0
            self.maps[allocation.base] = Accesses.of(granules) if fits else None
        return self.maps[allocation.base]

    def _numbers(self, batch: Batch) -> Array:
        shape = batch.shape
        return (batch.blocks[shape.block] * self.threads + shape.thread).astype(np.int32)

    def _synchronise(self, x: Context, instruction: Instruction, kind: str) -> None:
        """What an atomic or strong access means for the order of blocks."""
        blocks = x.batch.blocks[np.unique(x.lanes.block)]
        if instruction.has("release", "acq_rel"):
            self.clock.fence(blocks)
        if kind != "load":
            self.clock.publish(blocks)
        if kind != "store":
            self.clock.see(blocks)

    def _check(self, access: Access, found: Accesses, at: Array) -> None:
        if found.is_written and (when := found.written_at[at]).any():
            writer = found.writer[at]
            if access.instruction.has("nc"):
                self._check_constant(access, np.flatnonzero(when > 0))
            suspects = (when > 0) & (writer != access.thread)
            if access.strong:
                suspects &= ~found.atomic[at]
            if access.unchanged is not None and suspects.any():
                suspects &= ~access.unchanged(access.part)
            self._look(access, np.flatnonzero(suspects), writer, when, "write")
        if access.reads or not found.is_read:
            return
        for readers, times in zip(found.readers, found.read_at, strict=True):
            when = times[at]
            if when.any():
                reader = readers[at]
                suspects = (when > 0) & (reader != access.thread)
                self._look(access, np.flatnonzero(suspects), reader, when, "read")

    def _look(self, access: Access, rows: Array, other: Array, when: Array, what: str) -> None:
        """Report those of the ``rows`` whose access nothing orders behind that of the ``other`` thread."""
        if not len(rows):
            return
        block, mine = np.divmod(access.thread[rows], self.threads)
        its_block, its = np.divmod(other[rows], self.threads)
        copies = np.flatnonzero(other[rows] < 0)
        barriers = np.array([*self.barriers], np.int64).reshape(-1, 2)[-other[rows[copies]] // WARP - 1]
        its_block[copies] = barriers[:, 0]
        clusters = self.launch.clusters
        same = clusters.same(block, its_block) if clusters.size > 1 else block == its_block
        if clusters.size > 1:
            rank = self.launch.shape(clusters.size).warps_in_block * WARP
            mine, its = mine + clusters.rank(block) * rank, its + clusters.rank(its_block) * rank
        its[copies] = barriers[:, 1] * WARP
        lanes, part = access.x.lanes, access.part
        inside = (lanes.block if part.rows is None else lanes.block[part.rows])[rows]
        order = access.x.batch.order
        assert order is not None
        late = ~same | (when[rows] > order.knows(inside, mine, np.where(same, its, 0)))
        if not late.any():
            return
        pairs = np.stack([its_block[late], when[rows][late], block[late]])
        unique, which = np.unique(pairs, axis=1, return_inverse=True)
        racing = np.array([not self.clock.before(*map(int, pair)) for pair in unique.T])
        late = np.flatnonzero(late)[racing[which.reshape(-1)]]
        between_lanes = np.zeros(len(late), np.bool_)
        near = np.flatnonzero(same[late])
        if len(near):
            at = late[near]
            between_lanes[near] = order.between_lanes(inside[at], mine[at], its[at], when[rows[at]])
        between_copies = other[rows[late]] < 0
        between_lanes &= ~between_copies
        for kind, chosen in (
            ("race", late[~between_lanes & ~between_copies]),
            ("warp-sync", late[between_lanes]),
            ("async-write", late[between_copies]),
        ):
            if len(chosen):
                self._report(access, rows[chosen], int(other[rows[chosen[0]]]), what, kind)

    def _check_constant(self, access: Access, rows: Array) -> None:
        """Loads with .nc may see old values of what the kernel has written, whatever the order."""
        if len(rows):
            _report(
                access, rows, "a read of what this kernel has written, by .nc, which takes it for constant"
            )

    def _report(self, access: Access, rows: Array, other: int, what: str, kind: str) -> None:
        launch = self.launch
        if other < 0:
            _report(access, rows, "bytes that a copy may not have read yet: its mbarrier tells when", kind)
            return
        block, thread = divmod(other, self.threads)
        who = f"thread {launch.thread_index(thread)} of block {launch.block_index(block)}"
        mine = "read" if access.reads else "write"
        _report(access, rows, f"nothing orders this {mine} and a {what} by {who}{LACKS[kind]}", kind)


def _report(access: Access, rows: Array, detail: str, kind: str = "race") -> None:
    x, part = access.x, access.part
    lanes = rows if part.rows is None else part.rows[rows]
    mask = np.ones(len(rows), np.bool_)
    x.report(access.instruction, kind, detail, mask, part.addresses[rows], "global", lanes)


def _note(access: Access, found: Accesses, at: Array, now: int) -> None:
    """The access is to the granules ``at``, for each of its threads a row."""
    thread = access.thread[:, None]
    if not access.reads:
        found.is_written = True
        found.writer[at] = thread
        found.written_at[at] = now
        found.atomic[at] = access.strong
        found.bulk[at] = access.bulk
        return
    if not access.strong:
        _note_read(found, at, thread, now)


def _note_read(found: Accesses, at: Array, thread: Any, now: int) -> None:
    (last, older), (last_at, older_at) = found.readers, found.read_at
    if found.is_read and (before := last_at[at]).any():
        who = last[at]
        moved = (before > 0) & (who >> 5 != thread >> 5)
        older[at[moved]] = who[moved]
        older_at[at[moved]] = before[moved]
    found.is_read = True
    last[at] = thread
    last_at[at] = now
