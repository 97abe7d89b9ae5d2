"""Which tensor maps that a kernel has written are fenced: copies read them by a proxy of their own.

Who has written a map executes fence.proxy.tensormap::generic.release, or tensormap.cp_fenceproxy; then who
copies by it, .acquire of that map. A thread may lean on the .acquire of another one of its block which is
ordered before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .context import Context
from .ptx import Array, Instruction
from .tensor_maps import SIZE

if TYPE_CHECKING:
    from .access import Part
    from .global_races import GlobalRaces
    from .launch import Launch

WIDE = ("gpu", "sys")


@dataclass(frozen=True, slots=True)
class Fence:
    """One thread's: its number in the grid, its place in its cluster, when it was, and for whom."""

    thread: int
    place: int
    time: int
    scope: str


class MapFences:
    """Of one launch."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.releases: dict[int, list[Fence]] = {}  # by threads
        self.acquires: dict[int, list[Fence]] = {}  # by addresses

    def _fences(self, x: Context, scope: str) -> list[Fence]:
        shape, clock = x.batch.shape, self.launch.watch.clock
        clock.now += 1
        numbers = x.batch.blocks[x.lanes.block] * self.launch.threads + shape.thread[x.lanes.index]
        places = shape.place[x.lanes.index]
        pairs = zip(numbers.tolist(), places.tolist(), strict=True)
        return [Fence(thread, place, clock.now, scope) for thread, place in pairs]

    def release(self, x: Context, scope: str) -> None:
        """Lanes execute a fence behind what they have written."""
        for fence in self._fences(x, scope):
            self.releases.setdefault(fence.thread, []).append(fence)
        self.launch.watch.clock.now += 1

    def acquire(self, x: Context, scope: str, addresses: Array) -> None:
        """Lanes execute a fence before they use the maps at these addresses."""
        for fence, address in zip(self._fences(x, scope), addresses.tolist(), strict=True):
            self.acquires.setdefault(address, []).append(fence)
        self.launch.watch.clock.now += 1

    def check(self, x: Context, i: Instruction, races: GlobalRaces, part: Part) -> None:
        """One lane copies by the map in a part."""
        last = races.last_write(part, SIZE)
        if last is None:
            return
        writer, when = last
        mine = self._fences(x, "")[0]
        address = int(part.addresses[0])
        acquired = [fence for fence in self.acquires.get(address, []) if self._leads(x, fence, mine)]
        released = [fence for fence in self.releases.get(writer, []) if fence.time > when]
        lacks = ""
        if not any(fence.time > when for fence in acquired):
            lacks = ".acquire of it by who copies"
        elif not any(
            release.time < acquire.time and self._reach(release, acquire)
            for release in released
            for acquire in acquired
        ):
            lacks = ".release, of a scope that has both, between"
        if lacks:
            detail = "this kernel has written the tensor map, and there is no fence.proxy.tensormap::generic"
            every = np.ones(1, np.bool_)
            x.report(i, "proxy-fence", detail + lacks, every, part.addresses, "global")

    def _leads(self, x: Context, fence: Fence, mine: Fence) -> bool:
        """Whether a fence is the thread's own, or of a thread of its block and known to it."""
        if fence.thread == mine.thread:
            return True
        order = x.batch.order
        if order is None or fence.thread // self.launch.threads != mine.thread // self.launch.threads:
            return False
        pair = np.array([mine.place]), np.array([fence.place])
        return bool((order.knows(x.lanes.block, *pair) >= fence.time).all())

    def _reach(self, release: Fence, acquire: Fence) -> bool:
        """Whether the scopes of both fences have both threads."""
        blocks = [fence.thread // self.launch.threads for fence in (release, acquire)]
        if blocks[0] == blocks[1]:
            return True
        least = {release.scope, acquire.scope}
        if least <= set(WIDE):
            return True
        clusters = self.launch.clusters
        return "cta" not in least and bool(clusters.same(*(np.array([block]) for block in blocks))[0])
