"""Copies in bulk: between global and shared memory, or the shared memories of a cluster, by one thread each.

What a copy takes, it takes when it is issued. What it writes to shared memory appears when somebody looks at
its mbarrier; what it writes to global memory, when its thread has waited for its group, or at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .access import Part, check_written
from .asynchronous import READING, REDUCING, WRITING
from .context import Context
from .lanes import Lanes
from .mbarriers import advance, transact
from .ptx import RAW, Array, Instruction
from .spans import Spans

if TYPE_CHECKING:
    from .batch import Batch


Combine = Callable[[Array, Array], Array]  # what a reduction makes of old elements and new ones


class Change(NamedTuple):
    """A reduction, and the bytes of its elements."""

    combine: Combine
    size: int


@dataclass(eq=False, slots=True)
class Fetch:
    """A copy to shared memory that has not arrived: what it reads, in global or in shared memory."""

    starts: Array  # addresses in global memory, of ``unit`` bytes each
    unit: int
    place: int = -1  # in the batch's shared memory
    size: int = 0


@dataclass(eq=False, slots=True)
class Store:
    """A copy from shared memory whose group has not been waited for."""

    instruction: Instruction
    lane: int
    place: int  # in the batch's shared memory
    size: int
    starts: Array  # addresses that it writes, sorted
    unit: int
    write: Callable[[], None]
    values: Array | None  # what it writes there; None for reductions


class Bulk:
    """The bulk copies of a batch, of those that write global memory by groups; see `Copies` for others."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.open: dict[int, list[Store]] = {}  # by lanes
        self.groups: dict[int, list[list[Store]]] = {}
        self.read: dict[int, int] = {}  # by lanes, so many of its groups have read their sources
        # The copies under way, in order; of those from shared memory, the ones that still read it.
        self.stores: dict[Store, None] = {}
        self.reading: dict[Store, None] = {}
        self.fetches: dict[Fetch, None] = {}
        self._spans: Spans[Store] = Spans()  # what the stores will write
        self.reductions: list[tuple[int, int]] = []  # places and sizes in shared memory
        # For each 16 bytes of shared memory: 1 + the number of the swizzle in which a box was written there.
        self.swizzles = np.zeros(len(batch.shared.data) // 16, np.uint8)

    def mark(self, place: int, size: int, mark: int) -> None:
        """Bytes of shared memory are under way."""
        self.batch.copies.flying[place : place + size] |= mark

    def clear(self, place: int, size: int, mark: int) -> None:
        """They are not any more."""
        self.batch.copies.flying[place : place + size] &= 255 - mark

    def take(self, x: Context, i: Instruction, place: int, size: int) -> Array:
        """The bytes of shared memory that a lane's copy reads."""
        part = shared_part(self.batch, place, size)
        shared = self.batch.shared
        check_written(x, i, "shared", part, shared.places(part.addresses, 8), 8, 2)
        self.batch.launch.watch.bulk(x, i, "shared", "fetch", part, 16)
        return shared.data[place : place + size].copy()

    def store(self, store: Store) -> None:
        """A copy from shared memory begins."""
        self.mark(store.place, store.size, READING)
        self.open.setdefault(store.lane, []).append(store)
        self.stores[store] = self.reading[store] = None
        if len(store.starts):
            self._spans.add(store, int(store.starts[0]), int(store.starts[-1]) + store.unit)

    def load(
        self,
        x: Context,
        i: Instruction,
        place: int,
        data: Array,
        barrier: int,
        block: int,
        unit: int = 16,
        change: Change | None = None,
        source: Fetch | None = None,
    ) -> None:
        """A copy to shared memory begins, that arrives at the mbarrier at ``barrier`` of a block."""
        if source is not None:
            self._reads(source)
        batch, size = self.batch, len(data)
        part, shared = shared_part(batch, place, size, unit), batch.shared
        batch.launch.watch.bulk(x, i, "shared", "reduce" if change else "copy", part, unit)
        assert shared.written is not None
        if change is None:
            self.mark(place, size, WRITING)
        else:
            step = min(unit, 8)
            check_written(x, i, "shared", part, shared.places(part.addresses, step), step, unit // step)
            self.mark(place, size, REDUCING)
            self.reductions.append((place, size))
        shared.written[place : place + size] = 1
        self.swizzles[place // 16 : -(-(place + size) // 16)] = 0
        frame, lanes = x.frame, x.lanes

        def arrive() -> None:
            y = Context(batch, frame, lanes)
            if source is not None:
                self._has_read(source)
                if source.place >= 0:
                    batch.launch.watch.bulk_sent(y, i, source.place, barrier)
                batch.launch.watch.bulk_fetched(batch, source.starts, source.unit, barrier)
            if change is None:
                shared.data[place : place + size] = data
                self.clear(place, size, WRITING)
            else:
                self._reduce(place, data, change)
            batch.launch.watch.bulk_arrived(batch, place, size, barrier, block, atomic=change is not None)
            arrive_at(y, i, barrier, size)

        batch.copies.defer(barrier, arrive)

    def _reads(self, source: Fetch) -> None:
        self.fetches[source] = None
        if source.place >= 0:
            self.mark(source.place, source.size, READING)

    def _has_read(self, source: Fetch) -> None:
        del self.fetches[source]
        if source.place >= 0:
            self.clear(source.place, source.size, READING)
            self.batch.copies.read_on()

    def _reduce(self, place: int, data: Array, change: Change) -> None:
        """A reduction arrives. Others of the same bytes may be under way still."""
        kind = RAW[8 * change.size]
        old = self.batch.shared.data[place : place + len(data)].view(kind)
        old[:] = change.combine(old, data.view(kind))
        self.clear(place, len(data), REDUCING)
        self.reductions.remove((place, len(data)))
        for at, size in self.reductions:
            if at < place + len(data) and place < at + size:
                self.mark(at, size, REDUCING)

    def commit(self, lanes: Lanes) -> None:
        """What these lanes have started since the last commit is a group."""
        for lane in lanes.index.tolist() if self.open or self.groups else []:
            self.groups.setdefault(lane, []).append(self.open.pop(lane, []))

    def wait(self, lanes: Lanes, keep: int, *, read: bool) -> None:
        """These lanes have waited for their groups but the last ``keep``; ``read``: for the reading only."""
        some = False
        for lane in lanes.index.tolist() if self.groups else []:
            groups, before = self.groups.get(lane, []), self.read.get(lane, 0)
            done = max(0, len(groups) - keep)
            for store in [store for group in groups[before:done] for store in group]:
                self._read(store)
            some |= done > before
            self.read[lane] = max(before, done)
            if not read:
                for store in [store for group in groups[:done] for store in group]:
                    self._write(store)
                self.groups[lane] = groups[done:]
                self.read[lane] -= done
        if some:
            self.batch.copies.read_on()

    def _read(self, store: Store) -> None:
        self.clear(store.place, store.size, READING)
        x = Context(self.batch, self.batch.frame(self.batch.launch.program, 0), self._lane(store.lane))
        self.batch.launch.watch.bulk_read(x, shared_part(self.batch, store.place, store.size))
        del self.reading[store]

    def _write(self, store: Store) -> None:
        store.write()
        del self.stores[store]
        self._spans.remove(store)

    def _lane(self, lane: int) -> Lanes:
        return Lanes.of(self.batch.shape, np.array([lane]))

    def written(self, part: Part, unit: int) -> Array:
        """What is in ``unit`` bytes each of global memory once all copies of the batch have written."""
        found: Array = part.allocation.view(unit)[part.allocation.places(part.addresses, unit)]
        low, high = int(part.addresses.min()), int(part.addresses.max()) + unit
        for store in self._spans.overlapping(low, high):
            if store.values is None or store.unit != unit:
                continue
            at = np.minimum(np.searchsorted(store.starts, part.addresses), len(store.starts) - 1)
            found = np.where(store.starts[at] == part.addresses, store.values[at], found)
        return found

    def still_written(self, addresses: Array, size: int) -> Array:
        """For accesses of ``size`` bytes to global memory, whether a copy may still write any of them."""
        found = np.zeros(len(addresses), np.bool_)
        for store in self._spans.overlapping(int(addresses.min()), int(addresses.max()) + size):
            before = np.searchsorted(store.starts, addresses + np.uint64(size), side="left") - 1
            last = store.starts[np.maximum(before, 0)] + np.uint64(store.unit)
            found |= (before >= 0) & (last > addresses)
        return found

    def finish(self) -> list[Store]:
        """Everything is written; gives the copies that nobody has waited for until they had been read."""
        left = list(self.reading)
        for store in list(self.stores):
            self._write(store)
        return left


def shared_part(batch: Batch, place: int, size: int, unit: int = 16) -> Part:
    """The ``unit`` bytes each that a copy of one lane accesses in the batch's shared memory."""
    places = np.arange(place, place + size, unit, dtype=np.uint64)
    return Part(batch.shared, np.zeros(len(places), np.intp), places)


def global_parts(x: Context, i: Instruction, addresses: Array, unit: int) -> list[tuple[Part, Array]]:
    """The allocations of places that a lane's copy accesses, and which each has; reports bad ones."""
    memory = x.batch.launch.memory
    found: list[tuple[Part, Array]] = []
    left = np.arange(len(addresses))
    while len(left):
        mine = addresses[left]
        low = int(mine.min())
        allocation = memory.find(low)
        if allocation is None:
            inside, good = mine == low, np.zeros(len(left), np.bool_)
        else:
            inside = mine < np.uint64(allocation.end)
            good = inside & (mine + np.uint64(unit) <= np.uint64(allocation.end))
        if (inside & ~good).any():
            at = int(mine[inside & ~good][0])
            where = f"over the end of {allocation.name}" if allocation else memory.describe(at)
            bad = np.ones(1, np.bool_)
            x.report(i, "out-of-bounds", f"a bulk copy, {where}", bad, np.array([at]), "global")
        if allocation is not None and good.any():
            rows = np.zeros(int(good.sum()), np.intp)
            found.append((Part(allocation, rows, mine[good]), left[good]))
        left = left[~inside]
    return found


def fetch(x: Context, i: Instruction, addresses: Array, unit: int) -> Array:
    """The bytes behind addresses in global memory, ``unit`` each; zeros where there is none."""
    out = np.zeros(len(addresses), RAW[8 * unit])
    for part, which in global_parts(x, i, addresses, unit):
        allocation = part.allocation
        places = allocation.places(part.addresses, unit)
        if allocation.written is not None:
            check_written(x, i, "global", part, places, unit, 1)
        x.batch.launch.watch.bulk(x, i, "global", "fetch", part, unit)
        out[which] = allocation.view(unit)[places]
    return out.view(np.uint8)


def arrive_at(x: Context, i: Instruction, barrier: int, size: int) -> None:
    """Bytes have come: the object at which they arrive expects so many less."""
    state = x.batch.objects.states.get(barrier)
    one = np.zeros(1, np.intp)
    if state is None:
        detail = "a copy arrives at an mbarrier that is not initialised"
        x.report(i, "mbarrier", detail, np.ones(1, np.bool_))
        return
    transact(x, i, state, one, -size)
    advance(x, barrier, state)
