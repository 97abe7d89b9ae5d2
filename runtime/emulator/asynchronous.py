"""Asynchronous copies that are on their way: what they will write appears when the kernel waits for it.

Source bytes are taken when the copy is issued, and arrive when the issuing thread has waited.
Until then the bytes of the destination are marked as in flight: to read or to write them is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .access import WRITTEN
from .context import Context
from .lanes import Lanes
from .ptx import RAW, Array, Instruction

if TYPE_CHECKING:
    from .batch import Batch

NEVER = np.iinfo(np.int64).max
WRITING, READING, REDUCING = 1, 2, 4  # marks of bytes in shared memory under way


class Copy:
    """One instruction's copies: for each lane of ``index``, ``size`` bytes to its place in shared memory."""

    __slots__ = ("barriers", "group", "index", "instruction", "places", "size", "sources", "words")

    def __init__(
        self,
        instruction: Instruction,
        index: Array,
        group: Array,
        places: Array,
        size: int,
        words: list[Array],
        sources: Array,
    ) -> None:
        self.instruction = instruction
        self.index = index
        self.group = group
        self.places = places  # byte offsets in the batch's shared memory
        self.size = size
        self.words = words
        self.sources = sources  # addresses in global memory
        self.barriers: Array | None = None

    def part(self, mask: Array) -> Copy:
        """The copies for which ``mask`` holds."""
        return Copy(
            self.instruction,
            self.index[mask],
            self.group[mask],
            self.places[mask],
            self.size,
            [word[mask] for word in self.words],
            self.sources[mask],
        )


class Copies:
    """The copies of a batch that have not arrived, and how many groups each lane has committed."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.queue: list[Copy] = []
        self.committed = np.zeros(batch.shape.lanes, np.int64)
        self.deferred: dict[int, list[Callable[[], None]]] = {}
        self.flying = np.zeros(len(batch.shared.data), np.uint8)

    @property
    def active(self) -> bool:
        """Whether any copy may be on its way."""
        batch = self.batch
        return bool(self.queue or self.deferred or batch.bulk.stores or batch.warpgroups.flying)

    def issue(
        self,
        x: Context,
        instruction: Instruction,
        places: Array,
        size: int,
        words: list[Array],
        sources: Array,
    ) -> None:
        """Lanes start a copy; ``places`` are byte offsets in the batch's shared memory."""
        unit = min(size, 8)
        flying, written = self.flying.view(RAW[8 * unit]), self.batch.shared.written_view(unit)
        for element in range(size // unit):
            flying[places // unit + element] = WRITTEN[unit]
            written[places // unit + element] = WRITTEN[unit]
        index = x.lanes.index
        self.queue.append(Copy(instruction, index, self.committed[index], places, size, words, sources))

    def commit(self, lanes: Lanes) -> None:
        """What these lanes have started since the last commit is a group."""
        self.committed[lanes.index] += 1

    def wait(self, x: Context, keep: int) -> None:
        """These lanes have waited for all of their groups but the last ``keep``; -1: for all copies."""
        if not self.queue:
            return
        before = np.full(self.batch.shape.lanes, -1, np.int64)
        index = x.lanes.index
        before[index] = NEVER if keep < 0 else self.committed[index] - keep
        left: list[Copy] = []
        for copy in self.queue:
            done = copy.group < before[copy.index]
            if done.all():
                self._arrive(x, copy)
            elif done.any():
                self._arrive(x, copy.part(done))
                left.append(copy.part(~done))
            else:
                left.append(copy)
        self.queue = left

    def take(self, lanes: Lanes) -> list[Copy]:
        """The copies of these lanes that have not arrived, for an mbarrier to complete."""
        mine = np.zeros(self.batch.shape.lanes, np.bool_)
        mine[lanes.index] = True
        taken: list[Copy] = []
        left: list[Copy] = []
        for copy in self.queue:
            mask = mine[copy.index]
            if mask.any():
                taken.append(copy if mask.all() else copy.part(mask))
            if not mask.all():
                left.append(copy.part(~mask) if mask.any() else copy)
        self.queue = left
        return taken

    def _arrive(self, x: Context, copy: Copy) -> None:
        shared = self.batch.shared
        unit = copy.size // len(copy.words)
        view, at = shared.view(unit), copy.places // unit
        flying = self.flying.view(RAW[8 * unit])
        for element, words in enumerate(copy.words):
            view[at + element] = words
            flying[at + element] = 0
        lanes = Lanes.of(self.batch.shape, copy.index)
        self.batch.launch.watch.arrived(x.batch, lanes, copy.places, copy.size)

    def arrive(self, x: Context, copies: list[Copy]) -> None:
        """These copies are complete."""
        for copy in copies:
            self._arrive(x, copy)

    def defer(self, place: int, action: Callable[[], None]) -> None:
        """Do this when somebody looks at the mbarrier at ``place``."""
        self.deferred.setdefault(place, []).append(action)

    def settle(self, places: Array) -> None:
        """Somebody looks at these mbarriers."""
        if self.deferred:
            for place in np.unique(places).tolist():
                for action in self.deferred.pop(place, []):
                    action()

    def still_read(self, addresses: Array, size: int) -> Array:
        """For writes of ``size`` bytes to global memory, whether a copy may still read any of them."""
        found = np.zeros(len(addresses), np.bool_)
        low, high = int(addresses.min()), int(addresses.max()) + size
        reads = [(copy.sources, copy.size) for copy in self.queue]
        reads += [(fetch.starts, fetch.unit) for fetch in self.batch.bulk.fetches]
        for sources, unit in reads:
            if not len(sources) or int(sources.max()) + unit <= low or int(sources.min()) >= high:
                continue
            starts = np.sort(sources)
            before = np.searchsorted(starts, addresses + np.uint64(size), side="left") - 1
            found |= (before >= 0) & (starts[np.maximum(before, 0)] + np.uint64(unit) > addresses)
        return found

    def read_on(self) -> None:
        """Mark again what is still read, after some reads are over: others may read the same bytes."""
        for store in self.batch.bulk.reading:
            self.flying[store.place : store.place + store.size] |= READING
        for fetch in self.batch.bulk.fetches:
            if fetch.place >= 0:
                self.flying[fetch.place : fetch.place + fetch.size] |= READING
        self.batch.warpgroups.mark()

    def in_flight(self, places: Array, size: int) -> Array:
        """For accesses of ``size`` bytes, the marks of copies that still write or read any of them."""
        unit = min(size & -size, 8)
        flying = self.flying.view(RAW[8 * unit])
        found = flying.take(places // unit)
        for element in range(1, size // unit):
            found = found | flying.take(places // unit + element)
        if not found.any():
            return np.zeros(len(places), np.uint8)
        parts: Array = np.bitwise_or.reduce(found.reshape(-1, 1).view(np.uint8), axis=1)
        return parts
